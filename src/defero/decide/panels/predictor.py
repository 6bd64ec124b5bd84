"""ExpertSetPredictor: whom to ask so that a promise about the right experts holds."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.checks.experts import Stratum
from defero.core.errors import InputError
from defero.core.targets import TARGETS
from defero.core.wording import join_names
from defero.decide.panels.base import ConformalSets


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

    def settings(self) -> dict[str, Any]:
        """Return everything that was fitted, in types that JSON knows; infinite thresholds as text.

        >>> few = ExpertSetPredictor(target="any-correct", alpha=0.5).fit([[0.25]], [[True]])
        >>> few.settings()["strata"]
        [{'stratum': None, 'threshold': 0.25, 'n_rows': 1}]
        """
        self._check_fitted()
        return {
            "target": self.target,
            "alpha": self.alpha,
            "n_experts": self.n_experts_,
            "partly_observed": self.partly_observed_,
            "strata": [
                {"stratum": name, "threshold": tau if np.isfinite(tau) else str(tau), "n_rows": self.n_rows_[name]}
                for name, tau in self.thresholds_.items()
            ],
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the predictor that `settings()` described.

        >>> few = ExpertSetPredictor(target="any-correct", alpha=0.5).fit([[0.25]], [[True]])
        >>> ExpertSetPredictor.from_settings(few.settings()).thresholds_
        {None: 0.25}
        """
        try:
            made = cls(target=settings["target"], alpha=settings["alpha"])
            rows: list[tuple[Stratum, float, int]] = [
                (one["stratum"], float(one["threshold"]), int(one["n_rows"])) for one in settings["strata"]
            ]
            made.n_experts_ = int(settings["n_experts"])
            made.partly_observed_ = bool(settings["partly_observed"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"must be what settings() returns, got something else: {error!r}.", argument="settings"
            ) from error
        made.thresholds_ = {stratum: tau for stratum, tau, _ in rows}
        made.n_rows_ = {stratum: n for stratum, _, n in rows}
        return made
