"""Is every class found, and none less often than the model alone finds it?"""

from dataclasses import dataclass
from typing import Any

from defero.core.trial import Trial
from defero.metrics.record.share import Share, number
from defero.metrics.statistics.paired import holm, mcnemar


@dataclass(frozen=True)
class ClassRecall:
    """The cases that truly belong to one class: how many the team calls so, and how many the model alone.

    Attributes
    ----------
    label : object
        The class.
    team, model : Share
        Found, of all cases of the class.
    p_value : float
        McNemar's, on those cases: is one better at finding them?
    adjusted : float
        The same, adjusted for being one of several classes (Holm).
    """

    label: object
    team: Share
    model: Share
    p_value: float
    adjusted: float

    @property
    def lost(self) -> bool:
        """Does the team find the class less often than the model, beyond chance (5 %, over all classes)?"""
        return self.adjusted <= 0.05 and self.team.right < self.model.right

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        told: dict[str, Any] = {"class": self.label, "n": self.team.total}
        for name, found in (("team", self.team), ("model", self.model)):
            low, high = found.interval
            told |= {name: number(found.value), f"{name}_low": number(low), f"{name}_high": number(high)}
        return {**told, "p_value": self.p_value, "p_value_adjusted": self.adjusted}


def class_recalls(trial: Trial) -> tuple[ClassRecall, ...]:
    """Return the recall of each class of a trial, in the classes' order; a class without cases is not tested."""
    team_right, model_right = trial.team_correct, trial.model_correct
    members = [trial.label_idx == k for k in range(len(trial.classes))]
    p_values = [mcnemar(team_right[rows], model_right[rows]) for rows in members]
    seen = [k for k, rows in enumerate(members) if rows.any()]
    adjusted = [1.0] * len(members)
    for k, p_value in zip(seen, holm([p_values[k] for k in seen]).tolist(), strict=True):
        adjusted[k] = p_value
    return tuple(
        ClassRecall(
            label,
            team=Share(int(team_right[rows].sum()), int(rows.sum())),
            model=Share(int(model_right[rows].sum()), int(rows.sum())),
            p_value=p_values[k],
            adjusted=adjusted[k],
        )
        for k, (label, rows) in enumerate(zip(trial.classes.tolist(), members, strict=True))
    )
