"""The penalised logistic fit of a slope and an intercept per column, and how well a penalty explains the columns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import sigmoid

_MAX_STEPS = 200
_LONGEST_STEP = 2.0
EXACT, ROUGH = 1e-10, 1e-4
"""How short a last step is: of what is kept, and of what is only compared (the loss is then within 1e-7 or so)."""


@dataclass(frozen=True, eq=False)
class Columns:
    """J logistic regressions side by side, each shrunk toward one centre.

    Column j minimises over (log a, b), on its observed items,

        sum_i log loss(correct_ij, sigmoid(a u_ij + b)) + ((log a - c_0)^2 + (b - c_1)^2) / (2 spread^2).

    Attributes
    ----------
    u, correct : (m,) each
        The observed cells, column after column: of 200 experts a case has the answers of five.
    counts : (J,) int
        How many cells each column has.
    centre : (2,)
    spread : float
    """

    u: FloatArray
    correct: BoolArray
    counts: IntArray
    centre: FloatArray
    spread: float

    @classmethod
    def of(
        cls, u: FloatArray, correct: BoolArray, observed: BoolArray, *, centre: FloatArray, spread: float
    ) -> "Columns":
        """Take the observed cells of (n, J) arrays."""
        column, row = np.nonzero(observed.T)
        return cls(u[row, column], correct[row, column], observed.sum(axis=0), centre, spread)

    def minimum(self, start: FloatArray | None = None, *, small_step: float = EXACT) -> FloatArray:
        """Return (log a, b) of each column, (J, 2): scoring steps, each halved until the loss falls.

        Parameters
        ----------
        start : (J, 2), optional
            The centre by default.
        small_step : float
            Stop at a step as short as this.
        """
        fitted = np.tile(self.centre, (len(self.counts), 1)) if start is None else start
        loss = self.loss(fitted)
        for _ in range(_MAX_STEPS):
            step, slope = self._step(fitted)
            if np.abs(step).max(initial=0.0) < small_step:
                break
            size = np.ones(len(fitted))
            for _ in range(60):
                new_loss = self.loss(fitted + size[:, None] * step)
                # 1e-12: near the minimum a sum of thousands of logarithms no longer shows that it falls.
                worse = new_loss > loss + 1e-4 * size * slope + 1e-12 * (1 + loss)
                if not worse.any():
                    break
                size[worse] /= 2
            fitted, loss = fitted + size[:, None] * step, new_loss
        return fitted

    def loss(self, fitted: FloatArray) -> FloatArray:
        """Return the penalised log loss of each column, (J,)."""
        logits = self._spread_out(np.exp(fitted[:, 0])) * self.u + self._spread_out(fitted[:, 1])
        each = np.logaddexp(0.0, np.where(self.correct, -logits, logits))
        return self._summed(each) + ((fitted - self.centre) ** 2).sum(axis=1) / (2 * self.spread**2)

    def evidence(self, fitted: FloatArray) -> float:
        """Return the log marginal likelihood of all columns at their minimum, by Laplace's method.

        The penalty is a normal prior with standard deviation `spread`. How likely the answers are under it, whatever
        the slopes and intercepts, is -loss - log(spread^2) - log(det H) / 2, summed over the columns, with H the
        expected second derivatives: an average over experts, which a spread too narrow or too wide makes smaller.
        """
        _, (h_aa, h_ab, h_bb) = self._derivatives(fitted)
        each = -self.loss(fitted) - 2 * np.log(self.spread) - np.log(h_aa * h_bb - h_ab**2) / 2
        return float(each.sum())

    def _step(self, fitted: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return each column's Newton step (J, 2) and the slope of the loss along it (J,)."""
        gradient, (h_aa, h_ab, h_bb) = self._derivatives(fitted)
        g_a, g_b = gradient.T
        step = np.stack([h_ab * g_b - h_bb * g_a, h_ab * g_a - h_aa * g_b], axis=1) / (h_aa * h_bb - h_ab**2)[:, None]
        # Where all answers are certain the second derivatives vanish, and the step would leap.
        step /= np.maximum(np.abs(step).max(axis=1, keepdims=True) / _LONGEST_STEP, 1.0)
        return step, (gradient * step).sum(axis=1)

    def _derivatives(self, fitted: FloatArray) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """Return the gradient (J, 2) and the three second derivatives (J,).

        The second derivatives are the expected ones (Fisher's): positive definite wherever the search stands, while
        the loss is not convex in log a.
        """
        by_log_slope = self._spread_out(np.exp(fitted[:, 0])) * self.u
        proba = sigmoid(by_log_slope + self._spread_out(fitted[:, 1]))
        gap, bend = proba - self.correct, proba * (1 - proba)
        pull = 1 / self.spread**2
        cells = np.stack([gap * by_log_slope, gap, bend * by_log_slope**2, bend * by_log_slope, bend])
        g_a, g_b, h_aa, h_ab, h_bb = self._summed(cells)
        gradient = np.stack([g_a, g_b], axis=1) + (fitted - self.centre) * pull
        return gradient, (h_aa + pull, h_ab, h_bb + pull)

    def _spread_out(self, columns: FloatArray) -> FloatArray:
        """Give each cell its column's number, (m,)."""
        return np.repeat(columns, self.counts)

    def _summed(self, cells: FloatArray) -> FloatArray:
        """Return the sum over each column's cells, (..., J), of cells (..., m)."""
        not_empty, starts = self._starts
        total = np.zeros((*cells.shape[:-1], len(self.counts)))
        if len(starts):
            total[..., not_empty] = np.add.reduceat(cells, starts, axis=-1)
        return total

    @cached_property
    def _starts(self) -> tuple[BoolArray, IntArray]:
        """Return which columns have cells, (J,), and where their cells start."""
        not_empty = self.counts > 0
        return not_empty, (np.cumsum(self.counts) - self.counts)[not_empty]
