"""Calibrator: `Scores` in, `Scores` out, in which the model and every expert are what they claim to be."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from defero.calibration.inputs import label_numbers
from defero.calibration.platt import PlattMaps, fit_platt
from defero.calibration.temperature import apply_temperature, fit_temperature
from defero.core.checks import true_or_false
from defero.core.errors import InputError
from defero.core.scores import Scores, sigmoid

HONEST_ITEMS = 10.0
"""How many items' worth of belief that the model is honest already."""


@dataclass(frozen=True)
class Calibrator:
    """A temperature for the model's classes, and a slope and an intercept for each expert.

    Attributes
    ----------
    temperature : float
        Class probabilities become softmax(log p / temperature).
    experts : PlattMaps
        How each expert's raw score becomes the probability that they are right.

    Examples
    --------
    Everybody claims 0.95 and is right in three of four cases:

    >>> import numpy as np
    >>> scores = Scores.from_probabilities([[0.95, 0.05]] * 400, [[0.95]] * 400)
    >>> right = np.arange(400) % 4 > 0
    >>> calibrator = Calibrator.fit(scores, np.where(right, 0, 1), right[:, None], np.ones((400, 1)))
    >>> honest = calibrator.apply(scores)
    >>> honest.model_proba[:1].round(2).tolist(), honest.expert_proba[:1].round(2).tolist()
    ([0.75], [[0.75]])
    """

    temperature: float
    experts: PlattMaps

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(f"temperature must be positive and finite, got {self.temperature}.")

    @classmethod
    def fit(cls, scores: Scores, label_idx: ArrayLike, correct: ArrayLike, observed: ArrayLike) -> "Calibrator":
        """Fit on cases that the model has not learned from.

        Parameters
        ----------
        scores : Scores of n items
        label_idx : (n,) int
            The class number of each label.
        correct, observed : (n, J) bool
            Was expert j right on item i; did they answer at all?
        """
        shape = scores.expert_raw.shape
        labels = label_numbers(label_idx, n_items=len(scores), n_classes=scores.n_classes)
        right, seen = true_or_false("correct", correct, shape=shape), true_or_false("observed", observed, shape=shape)
        return cls(
            experts=fit_platt(scores.expert_raw, right, seen, link=scores.link),
            temperature=fit_temperature(scores.class_proba, labels, prior=HONEST_ITEMS),
        )

    def apply(self, scores: Scores) -> Scores:
        """Return calibrated scores; no class and, within one expert, no item changes its rank.

        `model_proba` becomes the largest calibrated class probability (for one-vs-all too, where it was the largest
        sigmoid), so that the model and the experts are compared as calibrated probabilities. `expert_raw` becomes
        the calibrated log-odds, link "logit".
        """
        if scores.n_experts != self.experts.n_experts:
            raise InputError(
                f"scores must be of the {self.experts.n_experts} experts of fit, got {scores.n_experts} columns."
            )
        if scores.link != self.experts.link:
            raise InputError(
                f"scores must have the link {self.experts.link!r} of fit, got {scores.link!r}; "
                "pass the scores as the model gives them, not calibrated ones."
            )
        class_proba = apply_temperature(scores.class_proba, self.temperature)
        logits = self.experts.logits(scores.expert_raw)
        return Scores(class_proba, sigmoid(logits), class_proba.max(axis=1), logits, "logit")

    def settings(self) -> dict[str, Any]:
        """Return everything that was fitted, in types that JSON knows.

        >>> Calibrator(1.5, PlattMaps("logit", (0.5,), (0.0,), (0.5, 0.0))).settings()
        {'temperature': 1.5,
         'experts': {'method': 'platt', 'link': 'logit', 'slope': [0.5], 'intercept': [0.0], 'pooled': [0.5, 0.0]}}
        """
        return {"temperature": self.temperature, "experts": self.experts.settings()}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "Calibrator":
        """Return the calibrator that `settings()` described."""
        try:
            method = settings["experts"]["method"]
            if method != "platt":
                raise InputError(f"method must be 'platt', got {method!r}.")
            return cls(float(settings["temperature"]), PlattMaps.from_settings(settings["experts"]))
        except (LookupError, TypeError, ValueError) as error:
            raise InputError(f"settings must be what settings() returns, got something else: {error!r}.") from error
