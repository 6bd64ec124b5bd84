"""Calibration of verdicts: how often the label is right that several answers led to, by how many were heard."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Within
from defero.core.errors import InputError
from defero.core.scores import logit, sigmoid

_STEPS = 50
_CLOSE = 1e-8


def fit_logistic(
    columns: FloatArray, right: FloatArray, weight: FloatArray | None = None, *, guess: FloatArray, strength: FloatArray
) -> FloatArray:
    """Return the weights w that minimise the log loss of sigmoid(columns @ w) plus strength (w - guess)^2 / 2.

    Parameters
    ----------
    columns : (n, p)
        A column of ones where there is an intercept.
    right : (n,)
        0 or 1.
    weight : (n,), optional
    guess, strength : (p,)
        Where the weights are without data, and how many units of information stand for that guess.

    Examples
    --------
    >>> fit_logistic(np.ones((4, 1)), np.array([1.0, 1.0, 1.0, 0.0]), guess=np.zeros(1), strength=np.full(1, 1e-9))
    array([1.0986...])
    """
    w = np.array(guess, dtype=np.float64)
    item_weight = np.ones(len(columns)) if weight is None else weight
    value = _value(columns, right, item_weight, w, guess, strength)
    for _ in range(_STEPS):
        p = sigmoid(columns @ w)
        slope = columns.T @ (item_weight * (p - right)) + strength * (w - guess)
        curvature = (columns * (item_weight * p * (1 - p))[:, None]).T @ columns + np.diag(strength)
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        while size > 1e-6:
            new = _value(columns, right, item_weight, w - size * step, guess, strength)
            if new <= value:
                break
            size /= 2
        w, value = w - size * step, min(new, value)
        if np.abs(size * step).max() < _CLOSE:
            break
    return w


def _value(
    columns: FloatArray, right: FloatArray, weight: FloatArray, w: FloatArray, guess: FloatArray, strength: FloatArray
) -> float:
    z = columns @ w
    return float(weight @ (np.logaddexp(0.0, z) - right * z) + 0.5 * strength @ (w - guess) ** 2)


MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that."""
_GUESS = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
_STRENGTH = np.array([5.0, 10.0, 10.0, 20.0, 10.0, 20.0])
"""How firmly the map stays the identity where few cases speak: in units of one certain coin toss each."""


@dataclass(frozen=True, eq=False)
class VerdictMap:
    """From the posterior of a label to how often such labels are right.

    logit P = a + b logit s, with other a and b where somebody was heard, and where two or more were: people who err
    on the same cases make a posterior of several answers too sure, and a case that was asked about is not like others.

    Attributes
    ----------
    weights : (6,)
        a and b; what is added to them with an answer; what is added with two or more.
    asks : bool
        Whether asking in this way paid on held-out cases; if not, nobody is asked.
    n_cases : int
        Held-out cases that it was fitted on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stated, n_heard = rng.uniform(0.5, 1.0, 5_000), rng.integers(0, 4, 5_000)
    >>> right = rng.random(5_000) < np.where(n_heard > 1, 0.7, stated)  # several together are no surer than 0.7
    >>> verdict = fit_verdicts(stated, right, n_heard)
    >>> verdict.apply(np.array([0.95, 0.95]), np.array([0, 3])).round(1).tolist()
    [0.9, 0.7]
    """

    weights: FloatArray
    asks: bool = True
    n_cases: Annotated[int, Within(0)] = 0

    def __post_init__(self) -> None:
        if np.shape(self.weights) != (6,) or not np.isfinite(self.weights).all():
            raise InputError(f"must be 6 finite numbers, got shape {np.shape(self.weights)}.", argument="weights")

    def apply(self, stated: FloatArray, n_heard: FloatArray) -> FloatArray:
        """Return P(the label is right), (n,), from its posterior and the number of answers heard, (n,) each."""
        return sigmoid(_columns(stated, n_heard) @ self.weights)


def fit_verdicts(
    stated: FloatArray, right: FloatArray, n_heard: FloatArray, gain: FloatArray | None = None
) -> VerdictMap:
    """Fit the map on held-out cases that no earlier stage has used.

    Parameters
    ----------
    stated : (n,)
        The posterior of each case's label.
    right : (n,) 0 or 1
    n_heard : (n,)
        How many answers were heard.
    gain : (n,), optional
        What asking saved against the model alone, fees included: it settles `asks`.
    """
    weights = fit_logistic(
        _columns(stated, n_heard), np.asarray(right, dtype=np.float64), guess=_GUESS, strength=_STRENGTH
    )
    asks = gain is None or gain_of_asking(gain).asks
    return VerdictMap(weights, asks, len(stated))


def _columns(stated: FloatArray, n_heard: FloatArray) -> FloatArray:
    log_odds = np.clip(logit(stated), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    some, several = (n_heard >= 1).astype(np.float64), (n_heard >= 2).astype(np.float64)
    return np.column_stack([np.ones(len(stated)), log_odds, some, some * log_odds, several, several * log_odds])


HARM = 1.0
"""Asking stops where it lost more than so many standard errors against the model on held-out cases."""
FEWEST_TO_STOP = 100
"""With fewer cases asking never stops: too few to tell."""


class Gain(NamedTuple):
    """What asking gained on held-out cases: the mean, its standard error, and how many cases that rests on."""

    mean: float
    standard_error: float
    n_cases: float

    @property
    def asks(self) -> bool:
        """Whether asking goes on: it did not lose beyond chance, or there are too few cases to tell."""
        return self.n_cases < FEWEST_TO_STOP or self.mean >= -HARM * self.standard_error


def gain_of_asking(gain: FloatArray, weight: FloatArray | None = None) -> Gain:
    """Return what asking gained over the model by the gains of held-out cases, (n,), and their weights.

    Examples
    --------
    >>> gain_of_asking(np.tile([1.0, -1.0], 60)).asks, gain_of_asking(np.tile([0.0, -1.0], 60)).asks
    (True, False)
    >>> gain_of_asking(np.full(50, -1.0)).asks  # too few to tell
    True
    """
    if not len(gain):
        return Gain(np.nan, np.nan, 0.0)
    own = np.ones(len(gain)) if weight is None else weight
    n_cases = float(own.sum() ** 2 / (own**2).sum())
    mean = float(np.average(gain, weights=own))
    error = float(np.sqrt(np.average((gain - mean) ** 2, weights=own) / max(n_cases - 1, 1)))
    return Gain(mean, error, n_cases)
