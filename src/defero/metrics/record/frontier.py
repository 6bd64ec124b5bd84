"""What more or fewer questions would cost: the total cost by the share of cases that one expert is asked about."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray, frozen
from defero.core.results import MODEL
from defero.core.trials.trial import Trial
from defero.metrics.deferral import by_gain
from defero.metrics.statistics.intervals import number


@dataclass(frozen=True, eq=False)
class CostFrontier:
    """The total cost as ever more cases are asked about, those with the largest expected saving first.

    Attributes
    ----------
    rate : (m + 1,)
        0, 1/n, ..., m/n: the share of cases that one expert is asked about; m is n where everybody can be asked.
    total : (m + 1,)
        Fees and errors per case.

    Examples
    --------
    >>> frontier = CostFrontier(np.array([0.0, 0.5, 1.0]), np.array([2.0, 1.0, 1.5]))
    >>> frontier.at(0.5), frontier.at(1.0)
    (1.0, 1.5)
    """

    rate: FloatArray
    total: FloatArray

    def at(self, share: float) -> float:
        """Return the total at a share of cases; of a share that cannot be reached the last one."""
        count = round(share * (len(self.rate) - 1) / self.rate[-1]) if self.rate[-1] else 0
        return float(self.total[min(count, len(self.total) - 1)])

    def to_dict(self, *, steps: int = 10) -> list[dict[str, Any]]:
        """Return plain values for JSON at 0, 10, ..., 100 %; null where too few cases have somebody to ask."""
        reached = self.rate[-1] + 1e-9
        shares = [step / steps for step in range(steps + 1)]
        return [{"asked": one, "total": number(self.at(one)) if one <= reached else None} for one in shares]


def cost_frontier(trial: Trial) -> CostFrontier:
    """Return the frontier of a trial: one cumulative sum over its cases, sorted by expected gain.

    A case goes to the best expert who is proven and whose answer is recorded; the answer is final.
    """
    n_items, n_classes = len(trial), len(trial.classes)
    matrix = 1.0 - np.eye(n_classes) if trial.cost_matrix is None else trial.cost_matrix
    decision = trial.decision
    open_to = np.flatnonzero(decision.best_expert != MODEL)
    order = open_to[by_gain((decision.best_value - decision.model_value)[open_to])]
    whom, truth = decision.best_expert[order], trial.label_idx
    of_model = matrix[truth, trial.model_idx]
    of_expert = matrix[truth[order], trial.answer_idx[order, whom]]
    if trial.question_fees is not None:
        of_expert = of_expert + trial.question_fees[order, whom]
    total = of_model.sum() + np.concatenate([[0.0], np.cumsum(of_expert - of_model[order])])
    return CostFrontier(frozen(np.arange(len(order) + 1) / max(n_items, 1)), frozen(total / max(n_items, 1)))
