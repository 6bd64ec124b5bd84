"""Cascades: ask a cheap member, look at a judge's mark of its answer, and go on if that pays.

The rule of `look_ahead` for answers that are right or wrong: the state is P(right) of each member's answer
given the marks so far. A mark moves P(right) of the marked answer by Bayes' rule, and that of
the others by the covariance of the members' errors: where one member failed, the others are likelier to fail too.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.scores import columns_by_name
from defero.core.errors import InputError
from defero.core.results import MODEL as NOBODY


@dataclass(frozen=True)
class Marking:
    """How good a judge's marks are, and what one costs.

    Attributes
    ----------
    sensitivity, specificity : float
        P(marked right | right) and P(marked wrong | wrong).
    price : float
    """

    sensitivity: float
    specificity: float
    price: float = 0.0

    @classmethod
    def of(cls, judge: Any, price: float) -> "Marking":
        """Return the marking of a judge, anything with `sensitivity` and `specificity`, at a price."""
        if not (hasattr(judge, "sensitivity") and hasattr(judge, "specificity")):
            raise InputError(
                f"must have a sensitivity and a specificity, such as Judge(0.9, 0.8), got {judge!r}.", argument="judge"
            )
        if not 0 <= price < np.inf:
            raise InputError(f"must be a finite number of at least 0, got {price}.", argument="judge_price")
        return cls(float(judge.sensitivity), float(judge.specificity), float(price))

    def share_right(self, right: FloatArray) -> FloatArray:
        """Return P(marked right) of answers that are right with these probabilities."""
        return self.sensitivity * right + (1 - self.specificity) * (1 - right)

    def after(self, right: FloatArray, mark: int) -> FloatArray:
        """Return P(right) after a mark of 1 or 0."""
        hit = (self.sensitivity if mark else 1 - self.sensitivity) * right
        miss = (1 - self.specificity if mark else self.specificity) * (1 - right)
        total = hit + miss
        return np.divide(hit, total, out=np.asarray(right, dtype=np.float64).copy(), where=total > 0)


class CascadeStep(NamedTuple):
    """What to do next with each of n items.

    Attributes
    ----------
    ask : (n,) int
        The member to ask, -1: stop.
    judged : (n,) bool
        Whether to have that answer judged.
    answer : (n,) int
        Whose answer stands if nobody else is asked; -1 where nobody was asked.
    p_right : (n,)
        Expected score of that answer; nan where there is none.
    value : (n,)
        Expected score of the answer in the end, in money, less the prices that are still to be paid.
    """

    ask: IntArray
    judged: BoolArray
    answer: IntArray
    p_right: FloatArray
    value: FloatArray


def moved(right: FloatArray, member: int, after: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return P(right) of all members' answers, (n, J), once that of one member has become `after` (n,)."""
    pull = covariance[member] / max(covariance[member, member], 1e-12)
    change = np.clip(right + np.outer(after - right[:, member], pull), 0.0, 1.0)
    change[:, member] = after
    return change


def check_marks(
    marks: Any, asked: Any, shape: tuple[int, ...], expert_names: tuple[str, ...]
) -> tuple[FloatArray, BoolArray]:
    """Return the marks (n, J), NaN where there is none, and who has answered, (n, J); both may come by name."""
    marks = columns_by_name("marks", marks, expert_names, shape, default=np.nan)
    asked = columns_by_name("asked", asked, expert_names, shape, default=False)
    marked = np.full(shape, np.nan) if marks is None else np.asarray(marks, dtype=np.float64)
    if marked.shape != shape or not np.isin(marked[np.isfinite(marked)], (0, 1)).all():
        raise InputError(f"must be 0, 1 or NaN of shape {shape}.", argument="marks")
    answered = np.isfinite(marked) if asked is None else np.asarray(asked)
    if answered.shape != shape or not np.isin(answered, (0, 1)).all():
        raise InputError(f"must be True or False of shape {shape}.", argument="asked")
    if (np.isfinite(marked) & ~answered.astype(np.bool_)).any():
        raise InputError("must be True wherever there is a mark: only answers are judged.", argument="asked")
    return marked, answered.astype(np.bool_)


def heard_marks(right: FloatArray, marks: FloatArray, marking: Marking, covariance: FloatArray) -> FloatArray:
    """Return P(right) (n, J) after marks (n, J), NaN where an answer has none."""
    for j in range(right.shape[1]):
        for mark in (0, 1):
            rows = np.flatnonzero(marks[:, j] == mark)
            if rows.size:
                right = right.copy()
                right[rows] = moved(right[rows], j, marking.after(right[rows, j], mark), covariance)
    return right


@dataclass(frozen=True, eq=False)
class Cascade:
    """What is known of n items, about which members are asked one after the other.

    Attributes
    ----------
    right, price : (n, J)
        P(right) of each member's answer given all marks so far, and what it costs to ask them.
    asked, can : (n, J) bool
        Whose answer there is; who can be asked.
    marking : Marking
    covariance : (J, J)
        Of the members' scores around their expectations.
    error_cost : float
        Money that a point of quality is worth.
    """

    right: FloatArray
    price: FloatArray
    asked: BoolArray
    can: BoolArray
    marking: Marking
    covariance: FloatArray
    error_cost: float

    def step(self) -> CascadeStep:
        """Return the next step of each item, looking two questions ahead."""
        n, asked = len(self.right), self.asked
        stop, flat = self.standing(), self.values(depth=2).reshape(n, -1)
        top = flat.argmax(axis=1) if flat.shape[1] else np.zeros(n, dtype=np.int64)
        most = flat[np.arange(n), top] if flat.shape[1] else np.full(n, -np.inf)
        go, nobody = most > stop + 1e-12, ~asked.any(axis=1)
        best = np.where(asked, self.right, -np.inf)
        answer = np.where(nobody, NOBODY, best.argmax(axis=1) if flat.shape[1] else NOBODY)
        p_right = np.where(nobody, np.nan, best.max(axis=1, initial=-np.inf))
        worth = np.maximum(np.where(go, most, stop), 0.0)
        return CascadeStep(np.where(go, top // 2, NOBODY), go & (top % 2 == 1), answer, p_right, worth)

    def standing(self) -> FloatArray:
        """Return what the best answer so far is worth, (n,); -inf where there is none."""
        best: FloatArray = np.where(self.asked, self.right, -np.inf).max(axis=1, initial=-np.inf)
        return np.multiply(self.error_cost, best, out=np.full(len(best), -np.inf), where=np.isfinite(best))

    def worth(self, *, depth: int) -> FloatArray:
        """Return the value of stopping, or of at most so many more questions if that is more, (n,)."""
        stop = self.standing()
        return np.maximum(stop, self.values(depth=depth).max(axis=(1, 2), initial=-np.inf)) if depth else stop

    def values(self, *, depth: int) -> FloatArray:
        """Return the value of asking each member next, not judged and judged, (n, J, 2); -inf where it cannot be."""
        value = np.full((*self.right.shape, 2), -np.inf)
        for j in range(self.right.shape[1]):
            rows = np.flatnonzero(self.can[:, j] & ~self.asked[:, j])
            if not rows.size:
                continue
            own = self.right[rows, j]
            heard = self.asked[rows].copy()
            heard[:, j] = True
            here = replace(self, right=self.right[rows], price=self.price[rows], asked=heard, can=self.can[rows])
            share = self.marking.share_right(own)
            judged = np.zeros(len(rows))
            for mark, chance in ((0, 1 - share), (1, share)):
                then = moved(here.right, j, self.marking.after(own, mark), self.covariance)
                judged += chance * replace(here, right=then).worth(depth=depth - 1)
            value[rows, j, 0] = here.standing() - self.price[rows, j]
            value[rows, j, 1] = judged - self.price[rows, j] - self.marking.price
        return value
