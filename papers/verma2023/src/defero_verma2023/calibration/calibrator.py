"""Calibrator: from `Scores` to calibrated `Scores`, of the model and of every expert, by held-out items."""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logit

from defero import Scores
from defero.learn.logistic import apply_temperature, fit_temperature
from defero_verma2023.arrays import BoolArray, FloatArray, IntArray
from defero_verma2023.calibration.isotonic import fit_isotonic
from defero_verma2023.calibration.log_odds import Link, Map, compressed, log_loss, untouched
from defero_verma2023.calibration.platt import fit_platt

FOLDS = 5
FEWEST = 20
"""With fewer items nothing is changed."""
MANY = 1_000
"""Isotonic steps are considered from so many answers of each expert on."""
PRIOR_ITEMS = 10.0
"""Weight of the prior belief that the model is calibrated, as a number of items."""
WORTHWHILE, SURE = 0.001, 0.5
"""A change must lower the log loss by so much per answer, and by so many standard errors."""
OF_ALL = 30.0
"""How many answers' worth of all experts' variance is added to an expert's own, which a few answers hardly show."""
_SUREST = 1e12
_MOST_LOG_ODDS = 745.0


@dataclass(frozen=True, eq=False)
class Calibrator:
    """A temperature for the model's classes, and a map for the experts.

    Attributes
    ----------
    temperature : float
        Class probabilities become softmax(log p / temperature).
    keeps_model : bool
        Leave `model_proba` as it is, instead of the largest calibrated class probability. These differ for
        one-vs-all, where it is the largest sigmoid.
    experts : Map

    Examples
    --------
    Everybody claims 0.95 and is right in three of four cases:

    >>> scores = Scores.from_probabilities([[0.95, 0.05]] * 400, [[0.95]] * 400)
    >>> right = np.arange(400) % 4 > 0
    >>> calibrated = Calibrator.fit(scores, np.where(right, 0, 1), right[:, None]).apply(scores)
    >>> calibrated.model_proba[:1].round(2).tolist(), calibrated.expert_proba[:1].round(2).tolist()
    ([0.75], [[0.75]])
    """

    temperature: float
    keeps_model: bool
    experts: Map

    @classmethod
    def fit(cls, scores: Scores, labels: IntArray, expert_correct: BoolArray) -> "Calibrator":
        """Fit on items that the model has not learned from: their labels (n,), and who was right, (n, J)."""
        assert scores.link != "share"  # of teams without classes
        if len(labels) < FEWEST:
            return cls(1.0, True, partial(untouched, link=scores.link))
        temperature = _choose_temperature(scores.class_proba, labels)
        keeps_model = temperature == 1.0 and not _largest_class_pays(scores, labels)
        return cls(temperature, keeps_model, _choose_maps(scores.expert_raw, expert_correct, scores.link))

    def apply(self, scores: Scores) -> Scores:
        """Return calibrated scores of link "logit". No class and, within one expert, no item changes its rank."""
        class_proba = scores.class_proba
        if self.temperature != 1.0:
            class_proba = apply_temperature(class_proba, self.temperature)
        model_proba = scores.model_proba if self.keeps_model else class_proba.max(axis=1)
        return Scores.computed(class_proba, model_proba, self.experts(scores.expert_raw), "logit")


def _folds(n_items: int) -> IntArray:
    return np.random.default_rng(0).permutation(n_items) % FOLDS


def _pays(gain: FloatArray | float, error: FloatArray | float) -> BoolArray:
    return (np.asarray(gain) > SURE * np.asarray(error)) & (np.asarray(gain) > WORTHWHILE)


def _pays_on_average(gain: FloatArray) -> bool:
    """Return whether a change pays that gained so much on each item, (n,)."""
    return bool(_pays(gain.mean(), gain.std() / math.sqrt(len(gain))))


def _choose_temperature(class_proba: FloatArray, labels: IntArray) -> float:
    """Return the temperature with the least log loss; 1 where items that the fit did not see speak for no change."""
    gain, fold = np.empty(len(labels)), _folds(len(labels))
    for k in range(FOLDS):
        out = fold == k
        temperature = fit_temperature(class_proba[~out], labels[~out], prior=PRIOR_ITEMS)
        new, old = (np.log(apply_temperature(class_proba[out], one)) for one in (temperature, 1.0))
        gain[out] = np.take_along_axis(new - old, labels[out, None], axis=1)[:, 0]
    return fit_temperature(class_proba, labels, prior=PRIOR_ITEMS) if _pays_on_average(gain) else 1.0


def _largest_class_pays(scores: Scores, labels: IntArray) -> bool:
    """Return whether the largest class probability tells better than `model_proba` how likely the model is right."""
    right, largest = scores.class_idx == labels, scores.class_proba.max(axis=1)
    own_loss, loss = (
        log_loss(compressed(np.clip(logit(proba), -_MOST_LOG_ODDS, _MOST_LOG_ODDS)), right)
        for proba in (scores.model_proba, largest)
    )
    return _pays_on_average(own_loss - loss)


def _choose_maps(raw: FloatArray, right: BoolArray, link: Link) -> Map:
    """Give each expert a map by answers (n, J) that its fit did not see: none, Platt's, or isotonic steps.

    An expert's gain in log loss is shrunk toward the mean gain of all experts, the more the fewer the answers are and
    the less the experts differ (a random-effects mean). Where a change does not pay, the simpler map is kept.
    """
    n_items, n_experts = raw.shape
    if not n_experts:
        return partial(untouched, link=link)
    fits = (fit_platt, fit_isotonic) if n_items >= MANY else (fit_platt,)
    # Compressed: one wrong answer at log-odds of 1e4 is no measure of the others.
    least = log_loss(compressed(untouched(raw, link)), right)
    chosen, fold = np.zeros(n_experts, dtype=np.int64), _folds(n_items)
    for number, fit in enumerate(fits, start=1):
        loss = np.empty(raw.shape)
        for k in range(FOLDS):
            out = fold == k
            loss[out] = log_loss(fit(raw[~out], right[~out], link)(raw[out]), right[out])
        better = _experts_who_gain(least - loss)
        chosen, least = np.where(better, number, chosen), np.where(better, loss, least)
    maps = [fit(raw, right, link) for fit in fits]
    return lambda new: np.choose(chosen, [untouched(new, link), *(one(new) for one in maps)])


def _experts_who_gain(gain: FloatArray) -> BoolArray:
    """Return for whom a change pays, (J,), from what it gains on each answer, (n, J)."""
    n_items, own = len(gain), gain.mean(axis=0)
    squares = ((gain - own) ** 2).sum(axis=0)
    within = (squares + OF_ALL * squares.mean() / n_items) / (n_items + OF_ALL)
    with np.errstate(divide="ignore"):
        sure = np.minimum(n_items / within, _SUREST)  # 1 / standard error^2
    of_all, error_of_all, between = _mean_of_all(own, sure)
    # Answers to one item are not independent: of ten clones there is one.
    by_item = np.linalg.norm((gain - own) @ sure) / (n_items * sure.sum())
    trust = between * sure / (between * sure + 1)
    error = trust / np.sqrt(sure) + (1 - trust) * max(error_of_all, float(by_item))
    return _pays(trust * own + (1 - trust) * of_all, error)


def _mean_of_all(own: FloatArray, sure: FloatArray) -> tuple[float, float, float]:
    """Return the mean of the experts' true gains, its standard error, and how much they vary (a variance).

    The variance is what the experts' means differ by beyond chance (DerSimonian and Laird's moment estimate).
    """
    beyond = float((sure * (own - np.average(own, weights=sure)) ** 2).sum()) - (len(own) - 1)
    room = float(sure.sum() - (sure**2).sum() / sure.sum())
    between = max(beyond / room, 0.0) if room > 0 else 0.0
    weight = 1 / (1 / sure + between)
    return float(np.average(own, weights=weight)), float(1 / np.sqrt(weight.sum())), between
