"""HeldOutAccuracy: how often the model and each expert are right, whatever the case; it bounds unusual cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.scores import Scores, logit

PRIOR_ANSWERS = 10.0
"""Weight of the average expert in an expert's accuracy, as a number of answers."""
MOST_MIXED = 1.0 - 1e-6
"""Share of equal class probabilities that is mixed in at most: the model's label stays the largest."""


@dataclass(frozen=True)
class HeldOutAccuracy:
    """How often the model and each expert are right on held-out cases.

    Attributes
    ----------
    model : float
        (right + 1) / (n + 2), which is never 1.
    newcomer : float
        The same for the answers of all experts together.
    experts : J numbers
        Each with ten answers of the average expert added.

    Examples
    --------
    >>> scores = Scores.from_probabilities([[1.0, 0.0], [1.0, 0.0]], [[0.99], [0.2]])
    >>> accuracy = HeldOutAccuracy(model=0.75, newcomer=0.8, experts=(0.8,))
    >>> bounded = accuracy.bound(scores, np.array([True, False]))
    >>> bounded.class_proba.tolist(), bounded.expert_proba.round(3).tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [[0.8], [0.2]])
    """

    model: float
    newcomer: float
    experts: tuple[float, ...]

    @classmethod
    def fit(cls, scores: Scores, label_idx: IntArray, correct: BoolArray, observed: BoolArray) -> "HeldOutAccuracy":
        """Count on held-out cases: labels (n,), and which experts were right and answered at all, (n, J)."""
        right, answers = (correct & observed).sum(axis=0), observed.sum(axis=0)
        average = _succession(right.sum(), answers.sum())
        experts = (right + PRIOR_ANSWERS * average) / (answers + PRIOR_ANSWERS)
        model = _succession((scores.class_idx == label_idx).sum(), len(label_idx))
        return cls(model, average, tuple(experts.tolist()))

    def bound(self, scores: Scores, rows: BoolArray) -> Scores:
        """Return scores in which nobody is surer of these rows (n,) than they are right on average.

        The model's classes are mixed with equal shares until the largest is at most its accuracy; no class changes its
        rank. Scores are calibrated ones, of link "logit".
        """
        if not rows.any():
            return scores
        largest, share = scores.class_proba.max(axis=1), 1.0 / scores.n_classes
        most = max(self.model, share)
        above = rows & (largest > most)
        mix = np.where(above, (largest - most) / np.where(above, largest - share, 1.0), 0.0)
        mix = np.minimum(mix, MOST_MIXED)
        class_proba = scores.class_proba * (1.0 - mix)[:, None] + (mix * share)[:, None]
        experts = np.minimum(scores.expert_proba, self.experts)
        lower = rows[:, None] & (experts < scores.expert_proba)
        return Scores.computed(
            class_proba,
            np.where(rows, np.minimum(scores.model_proba, most), scores.model_proba),
            np.where(lower, logit(experts), scores.expert_raw),
            scores.link,
            expert_proba=np.where(lower, experts, scores.expert_proba),
        )

    def take(self, experts: Sequence[int]) -> "HeldOutAccuracy":
        """Return the accuracy of some experts, in this order."""
        return HeldOutAccuracy(self.model, self.newcomer, tuple(self.experts[j] for j in experts))

    def with_newcomer(self) -> "HeldOutAccuracy":
        """Return the accuracy with one more expert at the end, who is like the average one."""
        return HeldOutAccuracy(self.model, self.newcomer, (*self.experts, self.newcomer))

    def settings(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"model": self.model, "newcomer": self.newcomer, "experts": list(self.experts)}

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "HeldOutAccuracy":
        """Return what `settings()` described."""
        experts = tuple(float(one) for one in settings["experts"])
        return cls(float(settings["model"]), float(settings["newcomer"]), experts)


def _succession(right: float, total: float) -> float:
    """Return the mean of a share of which so much was seen, by Laplace's rule: 1/2 where nothing was."""
    return float((right + 1) / (total + 2))
