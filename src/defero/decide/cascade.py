"""Cascades: ask a cheap member, look at a judge's mark of its answer, and go on if that pays.

The rule of `look_ahead` for answers that are right or wrong: the state is P(right) of each member's answer
given the marks so far. One mark moves P(right) of the marked answer by Bayes' rule, and that of
the others by the covariance of the members' errors: where one member failed, the others are likelier to fail too.
Several marks count together, in no order.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.scores import columns_by_name
from defero.core.errors import InputError
from defero.core.law import EPS
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
        Expected score of the answer in the end, in money, less the prices that are still to be paid: below 0 where
        the first question costs more than its answer is worth. 0 where nobody can be asked.
    """

    ask: IntArray
    judged: BoolArray
    answer: IntArray
    p_right: FloatArray
    value: FloatArray


def moved(right: FloatArray, member: int, after: FloatArray, covariance: FloatArray) -> FloatArray:
    """Return P(right) of all members' answers, (n, J), once that of one member has become `after` (n,).

    The next steps are weighed with it; what is known after several marks is `heard_marks`.
    """
    pull = covariance[member] / max(covariance[member, member], 1e-12)
    change = np.clip(right + np.outer(after - right[:, member], pull), EPS, 1 - EPS)
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
    """Return P(right) (n, J) after marks (n, J), NaN where an answer has none.

    This is the best linear prediction from all marks at once. With the covariance C and h_j, the squared correlation of
    mark and truth, each marked answer has an unbiased reading of whether it is right, with variance C_jj / h_j. After
    one mark this is Bayes' rule for the marked answer, and without covariance for each of several.

    Examples
    --------
    >>> pairs = np.array([[0.2, 0.15], [0.15, 0.2]])
    >>> heard_marks(np.array([[0.6, 0.8]]), np.array([[1, 0]]), Marking(0.9, 0.8), pairs).round(3).tolist()
    [[0.634, 0.55]]
    """
    rows, informed = np.flatnonzero(np.isfinite(marks).any(axis=1)), marking.sensitivity + marking.specificity - 1
    if not (rows.size and informed):
        return right
    before, mark, own = np.clip(right[rows], EPS, 1 - EPS), marks[rows], np.maximum(np.diag(covariance), 1e-12)
    share = marking.share_right(before)
    known = np.where(np.isfinite(mark), informed**2 * before * (1 - before) / (share * (1 - share)), 0.0)
    known = np.minimum(known, 1 - 1e-9)  # a perfect judge of members who always err together: two equal equations
    root = np.sqrt(known)
    surprise = np.where(np.isfinite(mark), (mark - share) / informed, 0.0) * root
    joint = root[:, :, None] * covariance * root[:, None, :] + np.eye(len(own)) * (own * (1 - known))[:, :, None]
    weights = root * np.linalg.solve(joint, surprise[:, :, None])[:, :, 0]
    result = right.copy()
    result[rows] = np.clip(before + weights @ covariance, EPS, 1 - EPS)
    return result


def cascade_step(
    right: FloatArray,
    price: FloatArray,
    asked: BoolArray,
    can: BoolArray,
    *,
    marking: Marking,
    covariance: FloatArray,
    error_cost: float,
) -> CascadeStep:
    """Return the next step of each item, looking two questions ahead.

    Parameters
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
    n = len(right)
    state = _State(right, price, asked, can, marking, covariance, error_cost)
    stop, value = state.standing(), state.values(depth=2)
    flat = value.reshape(n, -1)
    top = flat.argmax(axis=1) if flat.shape[1] else np.zeros(n, dtype=np.int64)
    most = flat[np.arange(n), top] if flat.shape[1] else np.full(n, -np.inf)
    go, nobody = most > stop + 1e-12, ~asked.any(axis=1)
    best = np.where(asked, right, -np.inf)
    answer = np.where(nobody, NOBODY, best.argmax(axis=1) if flat.shape[1] else NOBODY)
    p_right = np.where(nobody, np.nan, best.max(axis=1, initial=-np.inf))
    worth = np.where(go, most, np.where(nobody, 0.0, stop))
    return CascadeStep(np.where(go, top // 2, NOBODY), go & (top % 2 == 1), answer, p_right, worth)


@dataclass(frozen=True, eq=False)
class _State:
    """What is known of n items; the fields are the arguments of `cascade_step`."""

    right: FloatArray
    price: FloatArray
    asked: BoolArray
    can: BoolArray
    marking: Marking
    covariance: FloatArray
    error_cost: float

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
