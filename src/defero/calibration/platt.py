"""Platt scaling of each expert's score, every expert's fit drawn towards that of all experts together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from defero.calibration.maps import checked_link, log_odds
from defero.calibration.scoring import ROUGH, Columns
from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import InputError
from defero.core.scores import Link

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
    method: ClassVar[str] = "platt"

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
        return (self.method,) * self.n_experts

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

    def settings(self) -> dict[str, Any]:
        """Return what model.json keeps."""
        return {
            "method": self.method,
            "link": self.link,
            "slope": list(self.slope),
            "intercept": list(self.intercept),
            "pooled": list(self.pooled),
            "shift": self.shift,
            "spread": self.spread,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> "PlattMaps":
        """Return the maps that `settings()` described."""
        slope, intercept, pooled = (
            tuple(float(one) for one in settings[key]) for key in ("slope", "intercept", "pooled")
        )
        shift, spread = float(settings["shift"]), float(settings["spread"])
        return cls(settings["link"], slope, intercept, (pooled[0], pooled[1]), shift, spread)


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
