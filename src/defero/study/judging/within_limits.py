"""The team on judged cases under capacity, a budget or a largest share of questions."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.results import Assignment
from defero.judge.intervals import Share
from defero.judge.record.figures import FigureTable, share_of
from defero.team.asking import assign_gains, gains_of
from defero.team.judge import Held

if TYPE_CHECKING:
    from defero.study.judging.evaluation import Evaluation


@dataclass(frozen=True, eq=False)
class LimitedTeam:
    """What the team does and costs if the judged cases are one batch under limits.

    Attributes
    ----------
    assignment : Assignment
        Who decides each case.
    label_idx : (n,)
        The labels that come of it.
    right : (n,) bool
    cost : (n,)
        What each case cost: the fee and the error.
    """

    assignment: Assignment
    label_idx: IntArray
    right: Any
    cost: FloatArray

    @property
    def share(self) -> Share:
        """The share of right labels, with its interval."""
        return Share(int(self.right.sum()), len(self.right))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        batch = self.assignment
        return {
            "team": self.share.to_dict(),
            "questions": float(batch.deferred.mean()),
            "cost": float(self.cost.mean()),
            "expected_cost": float(batch.expected_cost.mean()),
            "load": dict(zip(batch.expert_names, batch.load.tolist(), strict=True)),
            "prices": dict(zip(batch.expert_names, batch.prices.tolist(), strict=True)),
            "deferral_price": float(batch.deferral_price),
            "money_price": float(batch.money_price),
        }

    def text(self) -> str:
        """Return a table of the load, and what the limits cost."""
        batch = self.assignment
        rows = [["the model", str(int((~batch.deferred).sum()))]]
        rows += [[name, str(load)] for name, load in zip(batch.expert_names, batch.load.tolist(), strict=True)]
        return "\n".join(
            [
                f"Under the limits the team is right on {share_of(self.share)}, asks {batch.deferred.mean():.2f} "
                f"questions per case and costs {self.cost.mean():.4g} per case (expected: "
                f"{batch.expected_cost.mean():.4g}).",
                "",
                FigureTable(["who", "cases"], rows).text(),
                *batch.sentences(),
            ]
        )


def within_limits(judged: "Evaluation") -> LimitedTeam | None:
    """Assign the judged cases under limits, among experts who answered them; None where there are no limits."""
    team, trial, terms = judged.team, judged.trial, judged.terms
    if not terms.limited:
        return None
    features = team.features(judged.cases.features)
    there = replace(terms, available=judged.available)
    held = Held(features, trial.scores, trial.label_idx, trial.answer_idx, there)
    gains = gains_of(team, features, trial.scores, held.terms_present)
    batch = assign_gains(team, gains, terms)
    rows = np.arange(len(batch.expert))
    asked = np.maximum(batch.expert, 0)
    label_idx = np.where(batch.deferred, trial.answer_idx[rows, asked], gains.label_idx)
    fees = np.where(batch.deferred, held.fee[rows, asked], 0.0)
    cost = fees + terms.costs.of_answers(label_idx, trial.label_idx)
    return LimitedTeam(batch, label_idx, label_idx == trial.label_idx, cost)
