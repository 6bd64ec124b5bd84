"""A team on held-out cases: everything that a person asks of it, in one value."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks import FloatArray
from defero.core.trial import Trial
from defero.metrics.accuracy import recall_per_class
from defero.metrics.calibration import expected_calibration_error
from defero.metrics.panel import PanelRecord, panel_record
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


def team_record(trial: Trial) -> TeamRecord:
    """Judge a team's decisions on cases whose labels and recorded answers are known."""
    scores, decision, label_idx = trial.scores, trial.decision, trial.label_idx
    numbers = np.arange(len(trial.classes))
    team_right, model_right = trial.team_correct, trial.model_correct
    correct, observed = trial.expert_correct, trial.observed
    experts = []
    for j, name in enumerate(trial.expert_names):
        answered, asked = observed[:, j], decision.expert == j
        experts.append(
            ExpertRecord(
                name=name,
                alone=Share(int(correct[answered, j].sum()), int(answered.sum())),
                asked=Share(int(correct[asked, j].sum()), int(asked.sum())),
                calibration_error=expected_calibration_error(scores.expert_proba[answered, j], correct[answered, j]),
                promised=float(scores.expert_proba[asked, j].mean()) if asked.any() else math.nan,
            )
        )
    return TeamRecord(
        team=Share(int(team_right.sum()), len(trial)),
        model=Share(int(model_right.sum()), len(trial)),
        coverage=decision.coverage(),
        recorded=float(observed.sum() / len(trial)) if len(trial) else math.nan,
        experts=tuple(experts),
        classes=tuple(trial.classes.tolist()),
        class_counts=tuple(np.bincount(label_idx, minlength=len(trial.classes)).tolist()),
        team_recall=recall_per_class(label_idx, trial.said_idx, numbers),
        model_recall=recall_per_class(label_idx, scores.class_idx, numbers),
        # Calibration hides the softmax estimate's fault from its users, not from the judge.
        above_one=trial.uncalibrated.above_one(),
        only_team_right=int((team_right & ~model_right).sum()),
        only_model_right=int((model_right & ~team_right).sum()),
        panel=None if trial.panel is None else panel_record(trial),
    )
