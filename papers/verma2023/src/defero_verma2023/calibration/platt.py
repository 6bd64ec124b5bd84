"""Platt scaling of each expert's score, every expert's fit drawn toward that of all experts together."""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from defero_verma2023.arrays import BoolArray, FloatArray
from defero_verma2023.calibration.log_odds import Link, Map, log_loss, log_odds

SPREADS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How far an expert's log slope and intercept may be expected to lie from the pooled ones; the answers choose."""
USUAL_SPREAD = 0.1
"""The spread expected before any answer is seen, give or take a factor of e."""
POOLED_SPREAD = 0.5
"""The same of the pooled fit around the identity."""
SHIFTS = (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.4, 1.8)
"""Where the search for the shift of link "log" begins."""
_ENOUGH_CELLS = 5_000  # for a shift, which is one number for all experts
_MAX_STEPS = 200
_SMALL_STEP, _LONGEST_STEP = 1e-10, 2.0


def fit_platt(raw: FloatArray, right: BoolArray, link: Link) -> Map:
    """Fit P(expert j is right) = sigmoid(a_j u + b_j), u = `log_odds(raw - shift, link)`, on answers (n, J) each.

    Expert j minimises, with the pooled (a, b),

        sum_i log loss(right_ij, sigmoid(a_j u_ij + b_j)) + ((log a_j - log a)^2 + (b_j - b)^2) / (2 tau^2);

    the pooled (a, b) minimise the same sum over all experts with the identity at its centre and 0.5 for tau, and so
    does the shift of link "log", which undoes estimates that are all too large by a factor: the softmax loss's fault.
    tau is the one of six under which the answers are most likely (empirical Bayes, by Laplace's method).

    >>> raw, right = np.array([[2.0]] * 3 + [[-2.0]]), np.array([[True], [True], [False], [False]])
    >>> fitted = fit_platt(raw.repeat(500, axis=0), right.repeat(500, axis=0), "logit")
    >>> expit(fitted(np.array([[2.0]]))).round(2).tolist()
    [[0.67]]
    """
    shift = _fit_shift(raw.ravel(), right.ravel()) if link == "log" else 0.0
    u = log_odds(raw - shift, link)
    pooled = _Answers(u.ravel(), right.ravel()).minimum()
    likely, each = -np.inf, np.empty((0, 2))
    for spread in SPREADS:
        experts = [_Answers(*column, pooled, spread) for column in zip(u.T, right.T, strict=True)]
        fitted = [one.minimum() for one in experts]
        evidence = sum(one.evidence(w) for one, w in zip(experts, fitted, strict=True))
        evidence -= np.log(spread / USUAL_SPREAD) ** 2 / 2
        if evidence > likely:
            likely, each = evidence, np.array(fitted)
    return lambda new: log_odds(new - shift, link) * np.exp(each[:, 0]) + each[:, 1]


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers (m,) of one expert or of all, and the (log a, b) toward which their fit is drawn."""

    u: FloatArray
    right: BoolArray
    centre: FloatArray | float = 0.0
    spread: float = POOLED_SPREAD

    def minimum(self) -> FloatArray:
        """Return the (log a, b) of the least loss: scoring steps, each halved until the loss falls."""
        w = np.zeros(2) + self.centre
        for _ in range(_MAX_STEPS):
            loss, (slope, bend) = self.loss(w), self.slopes(w)
            step = -np.linalg.solve(bend, slope)
            # Where all answers are certain the second derivatives vanish, and the step would leap.
            step /= max(np.abs(step).max() / _LONGEST_STEP, 1.0)
            # 1e-12: near the minimum a sum of thousands of logarithms no longer shows that it falls.
            while self.loss(w + step) > loss + 1e-12 * (1 + loss):
                step /= 2
            w = w + step
            if np.abs(step).max() < _SMALL_STEP:
                break
        return w

    def loss(self, w: FloatArray) -> float:
        """Return the penalised log loss."""
        away = w - self.centre
        return float(log_loss(np.exp(w[0]) * self.u + w[1], self.right).sum() + away @ away / (2 * self.spread**2))

    def slopes(self, w: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of the loss, (2,), and its expected second derivatives, (2, 2): positive definite."""
        by_log_slope = np.exp(w[0]) * self.u
        proba, design = expit(by_log_slope + w[1]), np.stack([by_log_slope, np.ones(len(self.u))])
        gradient = design @ (proba - self.right) + (w - self.centre) / self.spread**2
        return gradient, (design * proba * (1 - proba)) @ design.T + np.eye(2) / self.spread**2

    def evidence(self, w: FloatArray) -> float:
        """Return the log marginal likelihood at the minimum, the penalty a normal prior."""
        return float(-self.loss(w) - 2 * np.log(self.spread) - np.linalg.slogdet(self.slopes(w)[1])[1] / 2)


def _fit_shift(raw: FloatArray, right: BoolArray) -> float:
    """Return the shift of the best pooled fit of answers (m,): from a grid's best, half steps either side."""
    if len(raw) > _ENOUGH_CELLS:  # some at random: tables come in an order
        some = np.random.default_rng(0).choice(len(raw), _ENOUGH_CELLS, replace=False)
        raw, right = raw[some], right[some]

    def loss(shift: float) -> float:
        pool = _Answers(log_odds(raw - shift, "log"), right)
        return pool.loss(pool.minimum()) + shift**2 / (2 * POOLED_SPREAD**2)

    best = min(SHIFTS, key=loss)
    for step in (0.1, 0.05, 0.025):
        best = min((best, best - step, best + step), key=loss)
    return best
