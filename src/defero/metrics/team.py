"""A team on held-out cases: everything that a person asks of it, in one value."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks import FloatArray, IntArray
from defero.core.labels import MISSING
from defero.core.results import Decision
from defero.core.scores import Scores
from defero.metrics.accuracy import recall_per_class, system_labels
from defero.metrics.calibration import expected_calibration_error
from defero.metrics.deferral import expert_usage
from defero.metrics.panel import PanelRecord
from defero.metrics.share import Share, number


@dataclass(frozen=True)
class ExpertRecord:
    """One expert: how good on all they answered, how often asked and how good then, how honest the estimate."""

    name: str
    alone: Share
    asked: Share
    calibration_error: float
    promised: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "name": self.name,
            "alone": self.alone.to_dict(),
            "asked": self.asked.to_dict(),
            "promised_when_asked": number(self.promised),
            "calibration_error": number(self.calibration_error),
        }


@dataclass(frozen=True)
class TeamRecord:
    """The team beside the model alone and each expert.

    On recorded data only an expert whose answer is recorded can be asked: `recorded` is how many answers an item has
    on average.
    """

    team: Share
    model: Share
    coverage: float
    recorded: float
    experts: tuple[ExpertRecord, ...]
    classes: tuple[object, ...]
    class_counts: tuple[int, ...]
    team_recall: FloatArray
    model_recall: FloatArray
    above_one: float
    only_team_right: int
    only_model_right: int
    panel: PanelRecord | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "items": self.team.total,
            "team": self.team.to_dict(),
            "model": self.model.to_dict(),
            "only_team_right": self.only_team_right,
            "only_model_right": self.only_model_right,
            "coverage": number(self.coverage),
            "recorded_answers_per_item": number(self.recorded),
            "experts": [expert.to_dict() for expert in self.experts],
            "recall": [
                {"class": label, "n": count, "team": number(team), "model": number(model)}
                for label, count, team, model in zip(
                    self.classes, self.class_counts, self.team_recall, self.model_recall, strict=True
                )
            ],
            "estimates_above_one": number(self.above_one),
            "panel": None if self.panel is None else self.panel.to_dict(),
        }


def team_record(
    scores: Scores, decision: Decision, label_idx: IntArray, answer_idx: IntArray, *, classes: NDArray[Any]
) -> TeamRecord:
    """Judge decisions on cases whose labels and recorded answers are known.

    Parameters
    ----------
    scores : Scores of n items
    decision : Decision
        Made among the experts whose answer is recorded.
    label_idx : (n,) class numbers
    answer_idx : (n, J) class numbers, -1 where missing
    classes : (K,)
    """
    numbers = np.arange(len(classes))
    said = system_labels(decision.expert, scores.class_idx, answer_idx)
    team_right, model_right = said == label_idx, scores.class_idx == label_idx
    correct, observed = answer_idx == label_idx[:, None], answer_idx != MISSING
    usage = expert_usage(decision.expert, answer_idx, label_idx, len(decision.expert_names))
    experts = []
    for j, name in enumerate(decision.expert_names):
        answered, asked = observed[:, j], decision.expert == j
        experts.append(
            ExpertRecord(
                name=name,
                alone=Share(int(correct[answered, j].sum()), int(answered.sum())),
                asked=Share(int(correct[asked, j].sum()), int(usage.load[j])),
                calibration_error=expected_calibration_error(scores.expert_proba[answered, j], correct[answered, j]),
                promised=float(scores.expert_proba[asked, j].mean()) if asked.any() else math.nan,
            )
        )
    return TeamRecord(
        team=Share(int(team_right.sum()), len(label_idx)),
        model=Share(int(model_right.sum()), len(label_idx)),
        coverage=decision.coverage(),
        recorded=float(observed.sum() / len(label_idx)) if len(label_idx) else math.nan,
        experts=tuple(experts),
        classes=tuple(classes.tolist()),
        class_counts=tuple(np.bincount(label_idx, minlength=len(classes)).tolist()),
        team_recall=recall_per_class(label_idx, said, numbers),
        model_recall=recall_per_class(label_idx, scores.class_idx, numbers),
        above_one=scores.above_one(),
        only_team_right=int((team_right & ~model_right).sum()),
        only_model_right=int((model_right & ~team_right).sum()),
    )
