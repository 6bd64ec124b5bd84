"""Conformal sets: the thresholds behind them, and what all predictors share: one calibration per stratum, filling."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, names, probabilities, true_or_false
from defero.core.checks.experts import Stratum, stratum_names
from defero.core.checks.options import share
from defero.core.errors import Argument, InputError, Message
from defero.core.results import ExpertSets
from defero.core.targets import Target
from defero.core.wording import join_names

SLACK = 1e-9
"""How far a rank or a sum may pass its border by rounding alone: 100 * (1 - 0.95) is 5.000000000000004."""


def conformal_quantile(scores: ArrayLike, *, alpha: float) -> float:
    """Return a threshold that a fresh exchangeable score stays under with probability at least 1 - alpha.

    It is the ceil((n + 1)(1 - alpha))-th smallest of the n scores; the n + 1 counts the fresh one, whose rank
    among all is uniform. Scores without ties stay under it with probability at most 1 - alpha + 1 / (n + 1).

    Parameters
    ----------
    scores : (n,)
        Without NaN.
    alpha : float
        In (0, 1).

    Returns
    -------
    float
        +inf, which excludes nothing, when n < 1 / alpha - 1.

    Examples
    --------
    >>> conformal_quantile(np.arange(9.0), alpha=0.1)
    8.0
    >>> conformal_quantile(np.arange(8.0), alpha=0.1)
    inf
    """
    check_alpha(alpha)
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1:
        raise InputError(f"must have one axis (n,), one score per item, got shape {array.shape}.", argument="scores")
    if np.isnan(array).any():
        raise InputError(f"must be numbers, got NaN for item {int(np.argmax(np.isnan(array)))}.", argument="scores")
    rank = max(1, math.ceil((len(array) + 1) * (1 - alpha) - SLACK))
    return float(np.partition(array, rank - 1)[rank - 1]) if rank <= len(array) else math.inf


def check_alpha(alpha: float) -> float:
    """Return alpha, or say what it must be."""
    return share("alpha", alpha, example="for 90% coverage pass 0.1")


def rows_needed(alpha: float) -> int:
    """Return the fewest calibration rows with which a set may leave anybody out: ceil(1 / alpha) - 1.

    >>> rows_needed(0.1), rows_needed(0.05), rows_needed(0.3)
    (9, 19, 3)
    """
    return math.ceil((1 - SLACK) / alpha) - 1


def all_correct_threshold(expert_proba: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that, with probability at least 1 - alpha, every right expert is in the set.

    The set holds them all where the lowest score among them, min over right j of s_j, is at least tau.

    >>> all_correct_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.6
    """
    lowest = np.where(right, expert_proba, np.inf).min(axis=1, initial=np.inf)
    return -conformal_quantile(-lowest[right.any(axis=1)], alpha=alpha)


def any_correct_threshold(expert_proba: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that, with probability at least 1 - alpha, at least one right expert is in the set.

    The set holds one where the highest score among them, max over right j of s_j, is at least tau.

    >>> any_correct_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.8
    """
    highest = np.where(right, expert_proba, -np.inf).max(axis=1, initial=-np.inf)
    return -conformal_quantile(-highest[right.any(axis=1)], alpha=alpha)


def missed_share_threshold(scores: FloatArray, right: BoolArray, *, alpha: float) -> float:
    """Return tau so that the expected share of right experts outside the set is at most alpha.

    Conformal risk control (Angelopoulos et al. 2022) with the loss L_i = |right experts of i below tau| / |right
    experts of i|, which is at most 1: the largest tau with (sum_i L_i + 1) / (n + 1) <= alpha. Only the scores of
    right experts can be that tau, so one sort of them finds it exactly; there is no grid.

    >>> missed_share_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.4)
    0.6
    >>> missed_share_threshold(np.array([[0.9, 0.2], [0.8, 0.6]]), np.array([[True, False], [True, True]]), alpha=0.5)
    0.8
    """
    n_right = right.sum(axis=1)
    n_right = n_right[n_right > 0]
    budget = alpha * (len(n_right) + 1) - 1 + SLACK
    if budget < 0:
        return -math.inf
    values, shares = scores[right], np.repeat(1 / n_right, n_right)
    # Each pair weighs at least 1 / max(n_right), so this many of the lowest pass the budget: no need to sort the rest.
    enough = math.floor(budget * n_right.max()) + 2
    if enough < len(values):
        low = np.argpartition(values, enough - 1)[:enough]
        values, shares = values[low], shares[low]
    order = np.argsort(values)
    # The pair whose share passes the budget must stay in. Pairs tied with it stay in too, so ties need no care.
    first_over = int(np.searchsorted(np.cumsum(shares[order]), budget, side="right"))
    return float(values[order[first_over]]) if first_over < len(order) else math.inf


def _share_found(inside: BoolArray, right: BoolArray) -> FloatArray:
    return (inside & right).sum(axis=1) / right.sum(axis=1)


ANY_CORRECT = Target(
    threshold=any_correct_threshold,
    judge=lambda inside, right: (_share_found(inside, right) > 0).astype(np.float64),
    promise="with probability at least {level:g} at least one {expert} who is right is in the set",
    broken="hold a right expert less often",
    of_panel="the panel has such an expert with probability at least {level:g}",
)
ALL_CORRECT = Target(
    threshold=all_correct_threshold,
    judge=lambda inside, right: (_share_found(inside, right) == 1).astype(np.float64),
    promise="with probability at least {level:g} every {expert} who is right is in the set",
    broken="hold every right expert less often",
    of_panel="the panel has every such expert with probability at least {level:g}",
)
MISSED_SHARE = Target(
    threshold=missed_share_threshold,
    judge=lambda inside, right: 1 - _share_found(inside, right),
    promise="the expected share of the right {expert}s who are left out of the set is at most {level:g}",
    broken="miss more of the right experts",
    at_most=True,
    of_panel="the panel leaves out a share of at most {level:g} of such experts on average",
)


Cut = TypeVar("Cut")
"""What calibration finds for one stratum, and all that its sets depend on."""


class ConformalSets(ABC, Generic[Cut]):
    """Calibrate on recorded answers, then say whom to ask. Subclasses say how one stratum is cut.

    Attributes
    ----------
    thresholds_ : dict
        What was found for each stratum; its only key is None where `fit` had no strata.
    n_rows_ : dict
        For each stratum, the calibration rows on which an observed expert was right: the n of the promise.
    n_experts_ : int
        J.
    partly_observed_ : bool
        Were answers missing in calibration? The promise is then for the observed experts.
    """

    thresholds_: dict[Stratum, Cut]
    n_rows_: dict[Stratum, int]
    n_experts_: int
    partly_observed_: bool

    def __init__(self, alpha: float) -> None:
        self.alpha = check_alpha(alpha)

    @abstractmethod
    def _calibrate(self, expert_proba: FloatArray, right: BoolArray) -> Cut:
        """Find one stratum's cut from its rows with a right expert."""

    @abstractmethod
    def _inside(self, expert_proba: FloatArray, cut: Cut) -> BoolArray:
        """Return who is in the raw sets, (n, J)."""

    def fit(
        self,
        expert_proba: ArrayLike,
        correct: ArrayLike,
        observed: ArrayLike | None = None,
        strata: ArrayLike | None = None,
    ) -> Self:
        """Calibrate on items that neither the model nor its calibration has seen.

        Parameters
        ----------
        expert_proba : (n, J)
            P(expert j is right on item i).
        correct : (n, J) bool
            Was expert j right on item i?
        observed : (n, J) bool, optional
            Did expert j answer item i? By default everybody did.
        strata : (n,), optional
            The promise then holds inside each stratum, e.g. each site or each predicted class.

        Returns
        -------
        The predictor itself. A stratum with fewer than ceil(1 / alpha) - 1 rows on which an observed expert was right
        gets full sets, and a UserWarning says so.
        """
        scores = probabilities("expert_proba", expert_proba)
        right = true_or_false("correct", correct, shape=scores.shape)
        if observed is not None:
            right = right & true_or_false("observed", observed, shape=scores.shape)
        rows_of = (
            {None: slice(None)} if strata is None else _rows_per_stratum(stratum_names(strata, n_items=len(scores)))
        )
        thresholds, n_rows = {}, {}
        for stratum, rows in rows_of.items():
            usable = right[rows].any(axis=1)
            n_rows[stratum] = int(usable.sum())
            thresholds[stratum] = self._calibrate(scores[rows][usable], right[rows][usable])
        self.thresholds_, self.n_rows_, self.n_experts_ = thresholds, n_rows, scores.shape[1]
        self.partly_observed_ = observed is not None and not np.asarray(observed).all()
        self._warn_of_full_sets()
        return self

    def predict(
        self,
        expert_proba: ArrayLike,
        strata: ArrayLike | None = None,
        fill_empty: bool = True,
        *,
        available: ArrayLike | None = None,
        expert_names: Iterable[str] | None = None,
    ) -> ExpertSets:
        """Return whom to ask for each item.

        Parameters
        ----------
        expert_proba : (n, J)
            P(expert j is right on item i), made as the ones that `fit` saw.
        strata : (n,), needed where `fit` had strata
            A stratum that `fit` did not see gets full sets, and a UserWarning names it.
        fill_empty : bool
            Add the top expert (the first of several) to an empty set. Adding never breaks the promise.
        available : (J,) or (n, J) bool, optional
            Who can be asked; the others are left out. **The promise is void** for items where somebody is absent.
        expert_names : J names, optional
            By default `expert_0`, `expert_1`, ...
        """
        self._check_fitted()
        scores = probabilities("expert_proba", expert_proba)
        n_items, n_experts = scores.shape
        if n_experts != self.n_experts_:
            raise InputError(
                f"must have {self.n_experts_} columns like the one given to fit, got {n_experts}.",
                argument="expert_proba",
            )
        mask = self._raw_sets(scores, strata)
        if available is not None:
            askable = availability(available, n_items=n_items, n_experts=n_experts)
            mask, scores = mask & askable, np.where(askable, scores, -np.inf)
        filled = np.zeros(n_items, dtype=np.bool_)
        if fill_empty and n_experts:
            empty = np.flatnonzero(~mask.any(axis=1))
            top = np.argmax(scores[empty], axis=1)
            someone = scores[empty, top] > -np.inf
            mask[empty[someone], top[someone]] = True
            filled[empty[someone]] = True
        mask.flags.writeable = filled.flags.writeable = False  # ours alone: no copy is needed to freeze them
        return ExpertSets(mask, names("expert_names", expert_names, count=n_experts), filled)

    def _raw_sets(self, scores: FloatArray, strata: ArrayLike | None) -> BoolArray:
        if (strata is None) != (None in self.thresholds_):
            given_to, missing = ("predict", "fit") if strata is not None else ("fit", "predict")
            raise InputError(
                f"were given to {given_to} but not to {missing}; give them to both or to neither.", argument="strata"
            )
        if strata is None:
            return self._inside(scores, self.thresholds_[None])
        mask = np.ones(scores.shape, dtype=np.bool_)
        unseen = []
        for stratum, rows in _rows_per_stratum(stratum_names(strata, n_items=len(scores))).items():
            if stratum in self.thresholds_:
                mask[rows] = self._inside(scores[rows], self.thresholds_[stratum])
            else:
                unseen.append(stratum)
        if unseen:
            warnings.warn(
                f"strata {join_names(unseen)} did not occur in calibration: their items get the full set of experts.",
                UserWarning,
                stacklevel=3,
            )
        return mask

    def _warn_of_full_sets(self) -> None:
        needed = rows_needed(self.alpha)
        few = [f"{n}{in_stratum(stratum)}" for stratum, n in self.n_rows_.items() if n < needed]
        if few:
            warnings.warn(
                Message(
                    Argument("alpha", self.alpha),
                    f" needs {needed} calibration rows on which an observed expert was right, got {join_names(few)}: "
                    "full sets there. Use more rows or a larger ",
                    Argument("alpha"),
                    ".",
                ),
                UserWarning,
                stacklevel=3,
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "thresholds_"):
            raise InputError(
                f"This {type(self).__name__} is not calibrated yet: call fit(expert_proba, correct) first."
            )


def in_stratum(stratum: Stratum) -> str:
    """Write a stratum for a sentence; nothing where there are no strata.

    >>> in_stratum("north"), in_stratum(None)
    (' in stratum north', '')
    """
    return "" if stratum is None else f" in stratum {stratum}"


def _rows_per_stratum(stratum_of_row: list[Stratum]) -> dict[Stratum, IntArray]:
    codes = {stratum: code for code, stratum in enumerate(dict.fromkeys(stratum_of_row))}
    code = np.array([codes[stratum] for stratum in stratum_of_row], dtype=np.int64)
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(codes)))
    return dict(zip(codes, np.split(order, ends[:-1]), strict=True)) if codes else {}
