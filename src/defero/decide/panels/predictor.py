"""ExpertSetPredictor: whom to ask so that a promise about the right experts holds."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, names, probabilities, true_or_false
from defero.core.codec import AnyFloat, Count, Share, Within
from defero.core.errors import Argument, InputError, Message
from defero.core.labels import Stratum, stratum_names
from defero.core.registry import TARGETS
from defero.core.results import ExpertSets
from defero.core.wording import join_names
from defero.decide.panels.thresholds import check_alpha, rows_needed

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
                    f"{Argument('alpha', self.alpha)} needs {needed} calibration rows on which an observed expert "
                    f"was right, got {join_names(few)}: full sets there. Use more rows or a larger "
                    f"{Argument('alpha')}."
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


class ExpertSetPredictor(ConformalSets[float]):
    """Sets {j: P(expert j is right) >= tau} that keep a promise on new items, whatever the quality of the scores.

    Parameters
    ----------
    target : "all-correct", "missed-share", "any-correct", or a name that was registered in `TARGETS`
        What is promised, for items that some expert gets right:
        every right expert is in the set, with probability at least 1 - alpha;
        the expected share of right experts left out is at most alpha;
        at least one right expert is in the set, with probability at least 1 - alpha.
    alpha : float
        In (0, 1).

    Notes
    -----
    The calibration items and the new ones must be exchangeable. A rule that selects them (say, the items that a
    model defers) must be fixed before calibration and must look at each item alone. Where answers were missing
    in calibration the promise is for the experts who would have been observed, not for all.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> proba = rng.random((500, 3))
    >>> correct = rng.random((500, 3)) < proba
    >>> sets = ExpertSetPredictor(target="any-correct", alpha=0.1).fit(proba[:400], correct[:400])
    >>> round(sets.thresholds_[None], 2)
    0.46
    >>> sets.predict([[0.9, 0.5, 0.1], [0.3, 0.2, 0.1]]).mask.tolist()
    [[True, True, False], [True, False, False]]
    """

    def __init__(self, *, target: str, alpha: float) -> None:
        super().__init__(alpha)
        TARGETS.find(target)
        self.target = target

    def __repr__(self) -> str:
        return f"ExpertSetPredictor(target={self.target!r}, alpha={self.alpha:g})"

    def _calibrate(self, expert_proba: FloatArray, right: BoolArray) -> float:
        return TARGETS.find(self.target).threshold(expert_proba, right, alpha=self.alpha)

    def _inside(self, expert_proba: FloatArray, cut: float) -> BoolArray:
        return expert_proba >= cut

    def promise(self) -> str:
        """Say in one sentence what is promised, and to whom.

        >>> ExpertSetPredictor(target="any-correct", alpha=0.1).fit(np.ones((9, 2)), np.ones((9, 2))).promise()
        'For new items like the 9 it was calibrated on, which some expert gets right: with probability at least 0.9
        at least one expert who is right is in the set.'
        """
        self._check_fitted()
        expert = "observed expert" if self.partly_observed_ else "expert"
        target = TARGETS.find(self.target)
        what = target.promise.format(level=target.level(self.alpha), expert=expert)
        n_rows = sum(self.n_rows_.values())
        inside = "" if None in self.n_rows_ else f", inside each of the strata {join_names(self.n_rows_)}"
        whom = "some observed expert" if self.partly_observed_ else "some expert"
        return f"For new items like the {n_rows} it was calibrated on, which {whom} gets right{inside}: {what}."

    def to_saved(self) -> "SavedPredictor":
        """Return everything that was fitted.

        >>> few = ExpertSetPredictor(target="any-correct", alpha=0.5).fit([[0.25]], [[True]])
        >>> few.to_saved().strata
        (CalibratedStratum(name=None, threshold=0.25, n_rows=1),)
        """
        self._check_fitted()
        strata = tuple(CalibratedStratum(one, tau, self.n_rows_[one]) for one, tau in self.thresholds_.items())
        return SavedPredictor(self.target, self.alpha, self.n_experts_, self.partly_observed_, strata)

    @classmethod
    def from_saved(cls, saved: "SavedPredictor") -> Self:
        """Return the predictor that `to_saved` described."""
        made = cls(target=saved.target, alpha=saved.alpha)
        made.n_experts_, made.partly_observed_ = saved.n_experts, saved.partly_observed
        made.thresholds_ = {one.name: one.threshold for one in saved.strata}
        made.n_rows_ = {one.name: one.n_rows for one in saved.strata}
        return made


@dataclass(frozen=True)
class CalibratedStratum:
    """What was found for one stratum; its name is None where there are no strata."""

    name: Stratum
    threshold: AnyFloat
    n_rows: Annotated[int, Within(0)]


@dataclass(frozen=True)
class SavedPredictor:
    """What a model folder keeps of a predictor."""

    target: str
    alpha: Share
    n_experts: Count
    partly_observed: bool
    strata: tuple[CalibratedStratum, ...]
