"""Platt scaling of each expert's score, every expert's fit drawn towards that of all experts together."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from defero.calibration.maps import MAPS, checked_link, log_odds
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.scores import Link, sigmoid

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


EXPERT_SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""tau: how far an expert's log slope and intercept may be expected to lie from the pooled ones; the answers choose."""
USUAL_SPREAD = 0.1
"""The tau expected before any answer is seen, give or take a factor of e."""
POOLED_SPREAD = 0.5
"""The same of the pooled fit around the identity: a few dozen answers move it half of the way that hundreds would."""
SHIFTS = (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 1.8)
"""Where the search for the shift of link "log" begins."""
_ENOUGH_CELLS = 5_000  # for a shift, which is one number for all experts


@dataclass(frozen=True)
class PlattMaps:
    """P(expert j is right) = sigmoid(slope_j u + intercept_j), with u = `log_odds(raw - shift, link)` and slope_j > 0.

    Slope 1, intercept 0 and shift 0 are the identity: sigmoid(raw) for link "logit", min(1, exp(raw)) for link "log"
    (within 0.02 below it, see `log_odds`). The shift undoes estimates that are all too large by a factor of
    exp(shift), the softmax loss's fault: no slope and intercept can, as where the estimate passes 1 is part of u.

    Attributes
    ----------
    link : "logit" or "log"
        What the raw scores are that these maps take.
    slope, intercept : J numbers each
    pooled : (slope, intercept)
        Of all experts together: what an expert gets who has given no answers.
    shift : float
        The same for all experts; 0 for link "logit", where an intercept says as much.
    spread : float
        The tau that the answers have chosen.
    """

    link: Link
    slope: tuple[float, ...]
    intercept: tuple[float, ...]
    pooled: tuple[float, float]
    shift: float = 0.0
    spread: float = USUAL_SPREAD
    kind: ClassVar[str] = "platt"

    def __post_init__(self) -> None:
        numbers = np.array([*self.slope, *self.intercept, *self.pooled, self.shift, self.spread])
        if len(self.slope) != len(self.intercept) or len(self.pooled) != 2 or not np.isfinite(numbers).all():
            raise InputError("slope, intercept and pooled must be J, J and 2 finite numbers.")
        if min([*self.slope, self.pooled[0]]) <= 0:
            raise InputError(f"must be positive for each expert, got {list(self.slope)}.", argument="slope")
        checked_link(self.link)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.slope)

    @property
    def methods(self) -> tuple[str, ...]:
        """Platt's, J times."""
        return (self.kind,) * self.n_experts

    def take(self, experts: tuple[int, ...]) -> "PlattMaps":
        """Return the maps of some experts."""
        slope, intercept = (tuple(one[j] for j in experts) for one in (self.slope, self.intercept))
        return replace(self, slope=slope, intercept=intercept)

    def with_newcomer(self) -> "PlattMaps":
        """Return the maps with the pooled one for one more expert.

        >>> PlattMaps("logit", (0.5,), (1.0,), (0.8, 0.1)).with_newcomer().slope
        (0.5, 0.8)
        """
        slope, intercept = self.pooled
        return replace(self, slope=(*self.slope, slope), intercept=(*self.intercept, intercept))

    def logits(self, expert_raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J).

        >>> PlattMaps("logit", (0.5,), (1.0,), (1.0, 0.0)).logits(np.array([[4.0]])).tolist()
        [[3.0]]
        """
        return log_odds(expert_raw - self.shift, self.link) * np.array(self.slope) + np.array(self.intercept)


MAPS.register(PlattMaps.kind, PlattMaps)


def fit_platt(expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> PlattMaps:
    """Fit slope a_j > 0 and intercept b_j of each expert on the answers that were observed.

    Expert j minimises, over their observed items, with the pooled (a, b),

        sum_i log loss(correct_ij, sigmoid(a_j u_ij + b_j)) + ((log a_j - log a)^2 + (b_j - b)^2) / (2 tau^2);

    the pooled (a, b), and the shift inside u for link "log", minimise the same sum over all experts with the identity
    at its centre and 0.5 for tau. An expert with few answers keeps near the pooled fit, one with none has it, one with
    hundreds has their own. How much experts differ is seen from the answers: tau is the one of 0.05, 0.1, 0.2, 0.4,
    0.8 and 1.6 under which they are most likely (empirical Bayes, by Laplace's method).

    Parameters
    ----------
    expert_raw : (n, J)
        Raw scores, as in `Scores`.
    correct, observed : (n, J) bool
        Was expert j right on item i; did they answer at all?
    link : "logit" or "log"

    Examples
    --------
    >>> from defero.core.scores import sigmoid
    >>> raw = np.array([[2.0], [2.0], [2.0], [-2.0]] * 500)
    >>> right = np.array([[True], [True], [False], [False]] * 500)
    >>> maps = fit_platt(raw, right, np.ones_like(right), link="logit")
    >>> sigmoid(maps.logits(np.array([[2.0]]))).round(2).tolist()
    [[0.67]]
    """
    checked_link(link)
    shift = _fit_shift(expert_raw[observed], correct[observed]) if link == "log" else 0.0
    u = log_odds(expert_raw - shift, link)
    pooled = _all_as_one(u[observed], correct[observed]).minimum()[0]
    spread, each = _fit_each(u, correct, observed, pooled)
    return PlattMaps(
        link,
        slope=tuple(np.exp(each[:, 0]).tolist()),
        intercept=tuple(each[:, 1].tolist()),
        pooled=(float(np.exp(pooled[0])), float(pooled[1])),
        shift=shift,
        spread=spread,
    )


def _all_as_one(u: FloatArray, correct: BoolArray) -> Columns:
    """Return observed cells, (m,) each, as one column, shrunk toward the identity."""
    return Columns(u, correct, np.array([len(u)]), np.zeros(2), POOLED_SPREAD)


def _fit_each(u: FloatArray, correct: BoolArray, observed: BoolArray, pooled: FloatArray) -> tuple[float, FloatArray]:
    """Return the spread under which the answers are most likely, and each expert's (log a, b) with it."""
    start = np.tile(pooled, (u.shape[1], 1))
    likely: dict[float, float] = {}
    cells = Columns.of(u, correct, observed, centre=pooled, spread=USUAL_SPREAD)
    for spread in EXPERT_SPREADS if observed.any() else ():
        columns = replace(cells, spread=spread)
        start = columns.minimum(start, small_step=ROUGH)
        likely[spread] = columns.evidence(start) - math.log(spread / USUAL_SPREAD) ** 2 / 2
    best = max(likely, key=likely.__getitem__, default=USUAL_SPREAD)
    return best, replace(cells, spread=best).minimum()


def _fit_shift(raw: FloatArray, correct: BoolArray) -> float:
    """Return the shift of the best pooled fit of observed cells, (m,) each: from a grid's best, half steps either side.

    The loss has more than one minimum in the shift, and a grid is not lost in the wrong one.
    """
    if not len(raw):
        return 0.0
    if len(raw) > _ENOUGH_CELLS:  # some at random: tables come in an order
        some = np.random.default_rng(0).choice(len(raw), _ENOUGH_CELLS, replace=False)
        raw, correct = raw[some], correct[some]
    losses: dict[float, float] = {}
    start = np.zeros((1, 2))

    def loss(shift: float) -> float:
        nonlocal start
        if shift not in losses:
            pool = _all_as_one(log_odds(raw - shift, "log"), correct)
            start = pool.minimum(start, small_step=ROUGH)
            losses[shift] = float(pool.loss(start)[0]) + shift**2 / (2 * POOLED_SPREAD**2)
        return losses[shift]

    best = min(SHIFTS, key=loss)
    for step in (0.1, 0.05, 0.025):
        best = min((best, best - step, best + step), key=loss)
    return best
