"""What all set predictors share: one calibration per group, the full set where nothing is known, filling."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from defero.conformal.quantile import check_alpha, rows_needed
from defero.core.checks import BoolArray, FloatArray, IntArray, availability, names, probabilities, true_or_false
from defero.core.errors import InputError
from defero.core.expert_checks import Group, group_names
from defero.core.results import ExpertSets
from defero.core.wording import join_names

Cut = TypeVar("Cut")
"""What calibration finds for one group, and all that its sets depend on."""


class ConformalSets(ABC, Generic[Cut]):
    """Calibrate on recorded answers, then say whom to ask. Subclasses say how one group is cut.

    Attributes
    ----------
    thresholds_ : dict
        What was found for each group; its only key is None where `fit` had no groups.
    n_rows_ : dict
        For each group, the calibration rows on which an observed expert was right: the n of the promise.
    n_experts_ : int
        J.
    partly_observed_ : bool
        Were answers missing in calibration? The promise is then for the observed experts.
    """

    thresholds_: dict[Group, Cut]
    n_rows_: dict[Group, int]
    n_experts_: int
    partly_observed_: bool

    def __init__(self, alpha: float) -> None:
        self.alpha = check_alpha(alpha)

    @abstractmethod
    def _calibrate(self, expert_proba: FloatArray, right: BoolArray) -> Cut:
        """Find one group's cut from its rows with a right expert."""

    @abstractmethod
    def _inside(self, expert_proba: FloatArray, cut: Cut) -> BoolArray:
        """Return who is in the raw sets, (n, J)."""

    def fit(
        self,
        expert_proba: ArrayLike,
        correct: ArrayLike,
        observed: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Calibrate on items that neither the model nor its calibration has seen.

        Parameters
        ----------
        expert_proba : (n, J)
            P(expert j is right on item i).
        correct : (n, J) bool
            Was expert j right on item i?
        observed : (n, J) bool, optional
            Did expert j answer item i? Everybody did, where nothing is said.
        groups : (n,), optional
            The promise then holds inside each group, e.g. each site or each predicted class.

        Returns
        -------
        The predictor itself. A group with fewer than ceil(1 / alpha) - 1 rows on which an observed expert was right
        gets full sets, and a UserWarning says so.
        """
        scores = probabilities("expert_proba", expert_proba)
        right = true_or_false("correct", correct, shape=scores.shape)
        if observed is not None:
            right = right & true_or_false("observed", observed, shape=scores.shape)
        found = {None: slice(None)} if groups is None else _rows_per_group(group_names(groups, n_items=len(scores)))
        thresholds, n_rows = {}, {}
        for group, rows in found.items():
            usable = right[rows].any(axis=1)
            n_rows[group] = int(usable.sum())
            thresholds[group] = self._calibrate(scores[rows][usable], right[rows][usable])
        self.thresholds_, self.n_rows_, self.n_experts_ = thresholds, n_rows, scores.shape[1]
        self.partly_observed_ = observed is not None and not np.asarray(observed).all()
        self._warn_of_full_sets()
        return self

    def predict(
        self,
        expert_proba: ArrayLike,
        groups: ArrayLike | None = None,
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
        groups : (n,), needed where `fit` had groups
            A group that `fit` did not see gets full sets, and a UserWarning names it.
        fill_empty : bool
            Add the top expert (the first of several) to an empty set. Adding never breaks the promise.
        available : (J,) or (n, J) bool, optional
            Who can be asked; the others are left out. **The promise is void** for items where somebody is absent.
        expert_names : J names, optional
            `expert_0`, `expert_1`, ... where nothing is said.
        """
        self._check_fitted()
        scores = probabilities("expert_proba", expert_proba)
        n_items, n_experts = scores.shape
        if n_experts != self.n_experts_:
            raise InputError(
                f"expert_proba must have {self.n_experts_} columns like the one given to fit, got {n_experts}."
            )
        mask = self._raw_sets(scores, groups)
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

    def _raw_sets(self, scores: FloatArray, groups: ArrayLike | None) -> BoolArray:
        if (groups is None) != (None in self.thresholds_):
            there, missing = ("predict", "fit") if groups is not None else ("fit", "predict")
            raise InputError(f"groups were given to {there} but not to {missing}; give them to both or to neither.")
        if groups is None:
            return self._inside(scores, self.thresholds_[None])
        mask = np.ones(scores.shape, dtype=np.bool_)
        unseen = []
        for group, rows in _rows_per_group(group_names(groups, n_items=len(scores))).items():
            if group in self.thresholds_:
                mask[rows] = self._inside(scores[rows], self.thresholds_[group])
            else:
                unseen.append(group)
        if unseen:
            warnings.warn(
                f"groups {join_names(unseen)} did not occur in calibration: their items get the full set of experts.",
                UserWarning,
                stacklevel=3,
            )
        return mask

    def _warn_of_full_sets(self) -> None:
        needed = rows_needed(self.alpha)
        few = [f"{n}{in_group(group)}" for group, n in self.n_rows_.items() if n < needed]
        if few:
            warnings.warn(
                f"alpha={self.alpha:g} needs {needed} calibration rows on which an observed expert was right, "
                f"got {join_names(few)}: full sets there. Give more rows or a larger alpha.",
                UserWarning,
                stacklevel=3,
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "thresholds_"):
            raise InputError(
                f"This {type(self).__name__} is not calibrated yet: call fit(expert_proba, correct) first."
            )


def in_group(group: Group) -> str:
    """Write a group for a sentence; nothing where there are no groups.

    >>> in_group("north"), in_group(None)
    (' in group north', '')
    """
    return "" if group is None else f" in group {group}"


def _rows_per_group(found: list[Group]) -> dict[Group, IntArray]:
    codes = {group: code for code, group in enumerate(dict.fromkeys(found))}
    code = np.array([codes[group] for group in found], dtype=np.int64)
    order = np.argsort(code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=len(codes)))
    return dict(zip(codes, np.split(order, ends[:-1]), strict=True)) if codes else {}
