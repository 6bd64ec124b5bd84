"""Calibration after selection: how often the expert who looks best is right, and whether asking pays at all.

The best of several noisy estimates is too high. On held-out items let j* be the expert with the largest probability s
among all J, and q the probability that the model is right. Where j* answered,

    logit P(j* is right) = a + b logit s + c logit q

is fitted and applied to every expert. It is the same for all, so that it never changes who looks best: a shift of each
expert, learned from the few items on which they were chosen, would choose a second time by the same noise.
"""

from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, set_numbers
from defero.core.codec import AnyFloat, Within
from defero.core.scores import Scores, logit, sigmoid
from defero.learn.calibrator import Calibrator, Method
from defero.learn.logistic import Gain, fit_logistic, gain_of_asking

MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that."""
GUESS = np.array([0.0, 1.0, 0.0])
STRENGTH = np.array([10.0, 20.0, 40.0])
"""How firmly the map stays the identity where few items speak: in units of one certain coin toss each."""
_FOLDS = 5
FEWEST_ITEMS = 30
"""With fewer held-out answers of chosen experts nothing is changed."""
ENOUGH_ITEMS = 300
"""Up to so many items are filled up by other experts' answers."""


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of items that they were not learned from, and what was true of these items.

    Attributes
    ----------
    scores : Scores of n items
    label_idx : (n,) int
    correct, observed : (n, J) bool
        Was expert j right on item i; did they answer at all?
    fold : (n,) int, optional
        Folds of the items, if the scores come from cross-validation.
    weight : (n,), optional
        How much each item counts; 1 by default.
    several : Gain, optional
        What all recorded answers together gained over the model's labels, in accuracy.
    """

    scores: Scores
    label_idx: IntArray
    correct: BoolArray
    observed: BoolArray
    fold: IntArray | None = None
    weight: FloatArray | None = None
    several: Gain | None = None

    @property
    def model_right(self) -> BoolArray:
        """(n,): whether the model is right."""
        return self.scores.class_idx == self.label_idx

    def of_experts(self, experts: IntArray) -> "HeldOut":
        """Return the same items with the experts in another order."""
        scores = self.scores
        scores = replace(scores, expert_proba=scores.expert_proba[:, experts], expert_raw=scores.expert_raw[:, experts])
        return replace(self, scores=scores, correct=self.correct[:, experts], observed=self.observed[:, experts])


@dataclass(frozen=True, eq=False)
class SelectionMap:
    """From P(expert j is right) to the same for the expert who is chosen.

    Attributes
    ----------
    weights : (3,)
        a, b, c.
    asks : bool
        Whether asking paid on held-out items; if not, the model decides everything.
    n_items : int
        Held-out items on which the chosen expert had answered; items that fill up count by their weight.
    gain, gain_se : float
        Team minus model in accuracy on them, and its standard error.
    asks_several : bool
        Whether asking several experts paid there; if not, nobody is asked one after the other either.

    Examples
    --------
    >>> identity = SelectionMap(np.array([0.0, 1.0, 0.0]), True, 0, np.nan, np.nan)
    >>> scores = Scores.from_probabilities([[0.9, 0.1]], [[0.8]])
    >>> identity.apply(scores).round(6).tolist()
    [[0.8]]
    """

    weights: FloatArray
    asks: bool
    n_items: Annotated[int, Within(0)]
    gain: AnyFloat
    gain_se: AnyFloat
    asks_several: bool = True

    def __post_init__(self) -> None:
        set_numbers(self, weights=(3,))

    def apply(self, scores: Scores) -> FloatArray:
        """Return P(expert j is right, should they be chosen), (n, J)."""
        return sigmoid(self.log_odds(scores))

    def log_odds(self, scores: Scores) -> FloatArray:
        """Return the log-odds that expert j is right, should they be chosen, (n, J)."""
        a, b, c = self.weights
        claimed = scores.expert_raw if scores.link == "logit" else logit(scores.expert_proba)
        log_odds = np.clip(claimed, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        log_odds *= b
        log_odds += (a + c * _log_odds(scores.model_proba))[:, None]
        return log_odds


def fit_selection(held_out: HeldOut) -> SelectionMap:
    """Fit the map on held-out items; the gain of asking is judged for each fold by a map of the other folds.

    The expert who looks best is sought among all, as a new item will be routed: the best of the few who answered would
    hide the selection bias. Only where that expert rarely answered, the best of those who did fills up to 300 items.
    """
    scores = held_out.scores
    n = len(scores)
    chosen = _chosen(held_out)
    used = chosen.weight > 0
    n_items = int(used.sum())
    several = held_out.several is None or held_out.several.asks
    if n_items < FEWEST_ITEMS:
        return SelectionMap(GUESS, True, n_items, np.nan, np.nan, asks_several=several)
    fold = (np.arange(n) % _FOLDS if held_out.fold is None else held_out.fold)[used]
    right = held_out.correct[np.arange(n), chosen.expert][used].astype(np.float64)
    columns = np.column_stack(
        [
            np.ones(n_items),
            _log_odds(scores.expert_proba[np.arange(n), chosen.expert][used]),
            _log_odds(scores.model_proba[used]),
        ]
    )
    weight = chosen.weight[used]
    weights = _fit_map(columns, right, weight)
    gain = np.zeros(n_items)
    for k in np.unique(fold):
        inside, rest = fold == k, fold != k
        others = _fit_map(columns[rest], right[rest], weight[rest])
        asked = sigmoid(columns[inside] @ others) >= scores.model_proba[used][inside]
        gain[inside] = np.where(asked, right[inside] - held_out.model_right[used][inside], 0.0)
    asking = gain_of_asking(gain, weight)
    return SelectionMap(weights, asking.asks, round(asking.n_cases), asking.mean, asking.standard_error, several)


def _fit_map(columns: FloatArray, right: FloatArray, weight: FloatArray) -> FloatArray:
    """Return a, b, c; b is at least 0, as the map must not prefer whoever looks worse."""
    weights = fit_logistic(columns, right, weight, guess=GUESS, strength=STRENGTH)
    if weights[1] >= 0:
        return weights
    a, c = fit_logistic(columns[:, [0, 2]], right, weight, guess=GUESS[[0, 2]], strength=STRENGTH[[0, 2]])
    return np.array([a, 0.0, c])


class _Chosen(NamedTuple):
    """Whom each item's map is fitted on, (n,), and how much the item counts, (n,)."""

    expert: IntArray
    weight: FloatArray


def _chosen(held_out: HeldOut) -> _Chosen:
    proba, observed = held_out.scores.expert_proba, held_out.observed
    n, n_experts = proba.shape
    if not n or not n_experts:
        return _Chosen(np.zeros(n, dtype=np.int64), np.zeros(n))
    top = proba.argmax(axis=1)
    of_those_who_answered = np.where(observed, proba, -1.0).argmax(axis=1)
    top_answered, any_answered = observed[np.arange(n), top], observed.any(axis=1)
    n_top, n_others = int(top_answered.sum()), int((any_answered & ~top_answered).sum())
    filling = min(1.0, max(ENOUGH_ITEMS - n_top, 0) / max(n_others, 1))
    weight = np.where(top_answered, 1.0, np.where(any_answered, filling, 0.0))
    return _Chosen(of_those_who_answered, weight if held_out.weight is None else weight * held_out.weight)


def _log_odds(proba: FloatArray) -> FloatArray:
    return np.clip(logit(proba), -MOST_LOG_ODDS, MOST_LOG_ODDS)


def selection_after(
    rows: HeldOut, training: HeldOut | None, calibrator: Calibrator, *, method: Method
) -> SelectionMap | None:
    """Return the map for calibrated scores; None for weights, which are no probabilities.

    Parameters
    ----------
    rows : HeldOut
        Uncalibrated scores of the rows that the calibrator was fitted on.
    training : HeldOut, optional
        Uncalibrated out-of-fold scores of the training rows, which are many more.
    calibrator : Calibrator
    method : str
        Of the calibrator.
    """
    if rows.scores.link == "weight":
        return None
    if training is not None:
        return fit_selection(replace(training, scores=calibrator.apply(training.scores)))
    return fit_selection(_cross_fitted(rows, method))


def _cross_fitted(rows: HeldOut, method: Method) -> HeldOut:
    """Return the rows with scores that the other folds calibrated: rows that calibrated hide the selection bias."""
    n = len(rows.label_idx)
    fold = np.arange(n) % min(_FOLDS, max(n, 1))
    parts, order = [], []
    for k in np.unique(fold):
        inside, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(rest) == 0:
            continue
        calibrator = Calibrator.fit(
            rows.scores.take(rest), rows.label_idx[rest], rows.correct[rest], rows.observed[rest], method=method
        )
        parts.append(calibrator.apply(rows.scores.take(inside)))
        order.append(inside)
    if not parts:
        return rows
    place = np.argsort(np.concatenate(order))
    return replace(rows, scores=Scores.concatenated(parts).take(place), fold=fold)
