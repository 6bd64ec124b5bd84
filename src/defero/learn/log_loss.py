"""The log loss of each expert's head on that expert's answers, and its slopes."""

from dataclasses import dataclass

import numpy as np

from defero.core.answers import group_by_expert
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import sigmoid

_MOST_PADDED = 4_000_000
"""Numbers in the features of padded answers."""
_MOST_EMPTY = 4.0
"""How many cells may be padded for one answer."""


@dataclass(frozen=True, eq=False)
class ExpertLogLoss:
    """Log loss of J heads on m answers, each expert's together.

    No (n, J) array is made, and the items' features are looked up when they are needed: memory grows with the answers.

    Attributes
    ----------
    phi : (n, d)
        Scaled features of the items, the constant first.
    item_idx, right, weight : (m,)
        The item of each answer, 1.0 or 0.0, and how much the answer counts.
    starts : (J + 1,)
        Expert j's answers are those from starts[j] up to starts[j + 1].
    """

    phi: FloatArray
    item_idx: IntArray
    right: FloatArray
    weight: FloatArray
    starts: IntArray

    @classmethod
    def of(
        cls,
        phi: FloatArray,
        item_idx: IntArray,
        expert_idx: IntArray,
        correct: BoolArray,
        *,
        n_experts: int,
        weight: FloatArray,
    ) -> "ExpertLogLoss":
        """Group answers that come in any order; an expert's own keep theirs."""
        order, starts = group_by_expert(expert_idx, n_experts)
        return cls(phi, item_idx[order], correct[order].astype(np.float64), weight[order], starts)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.starts) - 1

    @property
    def counts(self) -> IntArray:
        """How many answers each expert gave, (J,)."""
        return np.diff(self.starts)

    def loss(self, heads: FloatArray, experts: IntArray) -> FloatArray:
        """Return the summed log loss of some experts' heads (a, d) on their own answers, (a,)."""
        losses = np.empty(len(experts))
        for place, j in enumerate(experts):
            one = slice(self.starts[j], self.starts[j + 1])
            logits = self.phi[self.item_idx[one]] @ heads[place]
            losses[place] = self.weight[one] @ np.logaddexp(0.0, logits * (1.0 - 2.0 * self.right[one]))
        return losses

    def slopes(self, heads: FloatArray, experts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the first (a, d) and second (a, d, d) derivatives of that loss."""
        gradient = np.empty(heads.shape)
        second = np.empty((*heads.shape, heads.shape[1]))
        for place, j in enumerate(experts):
            one = slice(self.starts[j], self.starts[j + 1])
            rows, weight = self.phi[self.item_idx[one]], self.weight[one]
            proba = sigmoid(rows @ heads[place])
            gradient[place] = (weight * (proba - self.right[one])) @ rows
            second[place] = rows.T @ ((weight * proba * (1.0 - proba))[:, None] * rows)
        return gradient, second

    def tilts(self, heads: FloatArray, halves: FloatArray, experts: IntArray) -> FloatArray:
        """Return how skew some experts' posteriors are, sum_i l_3(z_i) (phi_i' C phi_i) phi_i / 2, (a, d).

        C = half half' is the covariance (halves: (a, d, d)) and l_3 = p (1 - p) (1 - 2 p) the third derivative of the
        log loss. The posterior's mean is its mode minus C times this, to third order; it is also the derivative of
        log det(C^-1) / 2 by the head. It is held to what moves the mean by one standard deviation: past that, as of
        somebody always right whom nothing holds, a third order says nothing.
        """
        tilts = np.empty(heads.shape)
        for place, j in enumerate(experts):
            one = slice(self.starts[j], self.starts[j + 1])
            rows = self.phi[self.item_idx[one]]
            proba = sigmoid(rows @ heads[place])
            variance = ((rows @ halves[place]) ** 2).sum(axis=1)
            tilt = (self.weight[one] * proba * (1.0 - proba) * (0.5 - proba) * variance) @ rows
            tilts[place] = tilt / max(1.0, float(np.linalg.norm(tilt @ halves[place])))
        return tilts

    def padded(self) -> "LogLoss":
        """Return the same loss, quicker where many experts have about as many answers, and else itself.

        The sums may differ in the last bit, and then depend on who else has answered.
        """
        width = int(self.counts.max(initial=0))
        n_cells = self.n_experts * width
        if n_cells > _MOST_EMPTY * len(self.right) or n_cells * self.phi.shape[1] > _MOST_PADDED:
            return self
        cell = np.flatnonzero(np.arange(width) < self.counts[:, None])

        def spread(values: FloatArray) -> FloatArray:
            padded = np.zeros((n_cells, *values.shape[1:]))
            padded[cell] = values
            return padded.reshape(self.n_experts, width, *values.shape[1:])

        return _PaddedLogLoss(spread(self.phi[self.item_idx]), spread(self.right), spread(self.weight))


@dataclass(frozen=True, eq=False)
class _PaddedLogLoss:
    """The log loss of heads of experts whose answers fill up to w cells each: features (J, w, d), the others (J, w).

    Cells without an answer have no weight.
    """

    rows: FloatArray
    right: FloatArray
    weight: FloatArray

    def loss(self, heads: FloatArray, experts: IntArray) -> FloatArray:
        """Return the summed log loss, (a,)."""
        rows, right, weight = self._of(experts)
        losses = np.logaddexp(0.0, _logits(rows, heads) * (1.0 - 2.0 * right))
        return np.asarray((weight * losses).sum(axis=1))

    def slopes(self, heads: FloatArray, experts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return its first (a, d) and second (a, d, d) derivatives."""
        rows, right, weight = self._of(experts)
        proba = sigmoid(_logits(rows, heads))
        second = np.swapaxes(rows, 1, 2) @ ((weight * proba * (1.0 - proba))[:, :, None] * rows)
        return _weighed(weight * (proba - right), rows), second

    def tilts(self, heads: FloatArray, halves: FloatArray, experts: IntArray) -> FloatArray:
        """Return how skew the posteriors are, (a, d)."""
        rows, _, weight = self._of(experts)
        proba = sigmoid(_logits(rows, heads))
        variance = ((rows @ halves) ** 2).sum(axis=2)
        tilts = _weighed(weight * proba * (1.0 - proba) * (0.5 - proba) * variance, rows)
        sizes = np.linalg.norm(_weighed(tilts, halves), axis=1)
        return np.asarray(tilts / np.maximum(1.0, sizes)[:, None])

    def _of(self, experts: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        if len(experts) == len(self.rows) and (experts[1:] > experts[:-1]).all():
            return self.rows, self.right, self.weight
        return self.rows[experts], self.right[experts], self.weight[experts]


LogLoss = ExpertLogLoss | _PaddedLogLoss
"""The log loss of heads and its derivatives, of some experts at a time."""


def _logits(rows: FloatArray, heads: FloatArray) -> FloatArray:
    """Return (a, w) from (a, w, d) and (a, d)."""
    return np.asarray((rows @ heads[:, :, None])[:, :, 0])


def _weighed(weight: FloatArray, rows: FloatArray) -> FloatArray:
    """Return the weighted sums of rows (a, w, d) by weight (a, w), (a, d)."""
    return np.asarray((weight[:, None, :] @ rows)[:, 0])
