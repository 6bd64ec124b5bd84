"""Calibrator: from `Scores` to calibrated `Scores`, of the model and of every expert, by held-out cases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, index_numbers, one_of, set_numbers, true_or_false
from defero.core.codec import Share, Within
from defero.core.errors import InputError
from defero.core.scores import Link, Scores, logit, row_max
from defero.core.wording import count_of
from defero.learn.logistic import apply_temperature, expert_shifts, fit_logistic, fit_temperature

Method = Literal["auto", "none"]
PRIOR_ANSWERS = 10.0
"""Weight of the average expert in an expert's accuracy, as a number of answers."""
MOST_MIXED = 1.0 - 1e-6
"""Share of equal class probabilities that is mixed in at most: the model's label stays the largest."""
PRIOR_ITEMS = 10.0
"""Weight of the prior belief that the model is calibrated, as a number of items."""
MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that where they are mapped."""
_GUESS, _STRENGTH = np.array([0.0, 1.0]), np.array([10.0, 20.0])
"""How firmly the line stays the identity where few answers speak: in units of one certain coin toss each."""


@dataclass(frozen=True, eq=False)
class Calibrator:
    """A temperature for the model's classes, a line for all experts with a shift of each, and everybody's accuracy.

    Nobody is surer of an unusual case than they are right on average.

    Attributes
    ----------
    temperature : float
        Class probabilities become softmax(log p / temperature).
    link : "logit" or "log"
        Of the experts' raw scores.
    line : (2,)
        a and b of logit P(right) = a + b logit p + u_j.
    shift : (J,)
        u_j, shrunk toward 0.
    model_accuracy : float
        How often the model is right on held-out cases, (right + 1) / (n + 2), which is never 1.
    newcomer_accuracy : float
        The same for the answers of all experts together.
    accuracy : (J,)
        Each expert's, with ten answers of the average expert added.
    n_labels, n_answers : int
        How many items it was fitted on, and how many answers.
    keeps_model : bool
        Leave `model_proba` as it is, instead of the largest calibrated class probability. These differ for
        one-vs-all, where it is the largest sigmoid.

    Examples
    --------
    Everybody claims 0.95 and is right in three of four cases:

    >>> scores = Scores.from_probabilities([[0.95, 0.05]] * 400, [[0.95]] * 400)
    >>> right = np.arange(400) % 4 > 0
    >>> calibrator = Calibrator.fit(scores, np.where(right, 0, 1), right[:, None], np.ones((400, 1)))
    >>> calibrated = calibrator.apply(scores)
    >>> calibrated.model_proba[:1].round(2).tolist(), calibrated.expert_proba[:1].round(2).tolist()
    ([0.75], [[0.76]])
    >>> for sentence in calibrator.describe():
    ...     print(sentence)
    Looked at 400 cases. The model: its class probabilities get temperature 2.62 (it claimed too much).
    Experts: one map for all and a shift of each, by 400 answers.
    """

    temperature: float
    link: Link
    line: FloatArray
    shift: FloatArray
    model_accuracy: Share
    newcomer_accuracy: Share
    accuracy: Annotated[FloatArray, Within(0, 1)]
    n_labels: Annotated[int, Within(0)]
    n_answers: Annotated[int, Within(0)]
    keeps_model: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(f"must be positive and finite, got {self.temperature}.", argument="temperature")
        set_numbers(self, line=(2,), shift=("J",), accuracy=self.shift.shape)

    @classmethod
    def fit(
        cls, scores: Scores, label_idx: ArrayLike, correct: ArrayLike, observed: ArrayLike, *, method: Method = "auto"
    ) -> "Calibrator":
        """Fit on cases that the model has not learned from.

        Parameters
        ----------
        scores : Scores of n items
        label_idx : (n,) int
            The class number of each label.
        correct, observed : (n, J) bool
            Was expert j right on item i; did they answer at all?
        method : "auto" or "none"
            "none" changes nothing.
        """
        one_of("method", method, get_args(Method))
        if scores.link == "weight":
            raise InputError("a mixture of experts' weights are no probabilities and cannot be calibrated.")
        shape = scores.expert_raw.shape
        labels = index_numbers("label_idx", label_idx, below=scores.n_classes, n_items=len(scores))
        right = true_or_false("correct", correct, shape=shape)
        answered = true_or_false("observed", observed, shape=shape)
        n_right, n_answers = (right & answered).sum(axis=0), answered.sum(axis=0)
        average = _succession(n_right.sum(), n_answers.sum())
        accuracy = (n_right + PRIOR_ANSWERS * average) / (n_answers + PRIOR_ANSWERS)
        of_model = _succession((scores.class_idx == labels).sum(), len(labels))
        temperature, line, shift = 1.0, _GUESS, np.zeros(scores.n_experts)
        if method == "auto":
            temperature = fit_temperature(scores.class_proba, labels, prior=PRIOR_ITEMS)
            line, shift = fit_experts(scores.expert_raw, right, answered, link=scores.link)
        n_all, keeps = int(n_answers.sum()), method == "none"
        return cls(temperature, scores.link, line, shift, of_model, average, accuracy, len(labels), n_all, keeps)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.shift)

    @property
    def changes_experts(self) -> bool:
        """Whether anything is changed in the experts' scores."""
        return bool((self.line != _GUESS).any() or self.shift.any())

    def apply(self, scores: Scores) -> Scores:
        """Return calibrated scores. No class and, within one expert, no item changes its rank.

        `model_proba` becomes the largest calibrated class probability (for one-vs-all too, where it was the largest
        sigmoid), so that the model and the experts are compared as calibrated probabilities; it stays where the model
        is left alone (`keeps_model`). `expert_raw` becomes the calibrated log-odds, link "logit".
        """
        if scores.n_experts != self.n_experts:
            raise InputError(
                f"must be of the {self.n_experts} experts of fit, got {scores.n_experts} columns.", argument="scores"
            )
        if scores.link != self.link:
            raise InputError(
                f"must have the link {self.link!r} of fit, got {scores.link!r}; "
                "pass the scores as the model gives them, not calibrated ones.",
                argument="scores",
            )
        class_proba = scores.class_proba
        if self.temperature != 1.0:
            class_proba = apply_temperature(class_proba, self.temperature)
        model_proba = scores.model_proba if self.keeps_model else row_max(class_proba)
        return Scores.computed(class_proba, model_proba, self.expert_log_odds(scores.expert_raw), "logit")

    def expert_log_odds(self, raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds that each expert is right, (n, J), from raw scores."""
        log_odds = _log_odds(raw, self.link)
        if not self.changes_experts:
            return log_odds
        return self.line[0] + self.line[1] * np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS) + self.shift

    def bound(self, scores: Scores, rows: BoolArray) -> Scores:
        """Return scores in which nobody is surer of these rows (n,) than they are right on average.

        The model's classes are mixed with equal shares until the largest is at most its accuracy; no class changes its
        rank. Scores are calibrated ones, of link "logit".
        """
        if not rows.any():
            return scores
        largest, share = scores.class_proba.max(axis=1), 1.0 / scores.n_classes
        most = max(self.model_accuracy, share)
        above = rows & (largest > most)
        mix = np.where(above, (largest - most) / np.where(above, largest - share, 1.0), 0.0)
        mix = np.minimum(mix, MOST_MIXED)
        class_proba = scores.class_proba * (1.0 - mix)[:, None] + (mix * share)[:, None]
        experts = np.minimum(scores.expert_proba, self.accuracy)
        lower = rows[:, None] & (experts < scores.expert_proba)
        return Scores.computed(
            class_proba,
            np.where(rows, np.minimum(scores.model_proba, most), scores.model_proba),
            np.where(lower, logit(experts), scores.expert_raw),
            scores.link,
            expert_proba=np.where(lower, experts, scores.expert_proba),
        )

    def take(self, experts: Sequence[int]) -> "Calibrator":
        """Return the calibrator of some experts, in this order; the model's part is as it was."""
        return replace(self, shift=self.shift[list(experts)], accuracy=self.accuracy[list(experts)])

    def with_newcomer(self) -> "Calibrator":
        """Return the calibrator with one more expert at the end, who is shifted by nothing and right on average."""
        return replace(
            self, shift=np.append(self.shift, 0.0), accuracy=np.append(self.accuracy, self.newcomer_accuracy)
        )

    def describe(self) -> list[str]:
        """Return sentences on what was done to the model and to the experts."""
        why = "it claimed too much" if self.temperature > 1 else "it claimed too little"
        model = f"its class probabilities get temperature {self.temperature:.2f} ({why})"
        done = "not corrected" if self.temperature == 1 else model
        sentences = [f"Looked at {count_of(self.n_labels, 'case')}. The model: {done}."]
        if self.n_experts:
            one_map = "one map for all and a shift of each" if self.changes_experts else "not corrected"
            sentences.append(f"Experts: {one_map}, by {count_of(self.n_answers, 'answer')}.")
        return sentences


def fit_experts(
    raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link
) -> tuple[FloatArray, FloatArray]:
    """Return the line (2,) and the shifts (J,), by raw scores, was expert j right, did they answer; (n, J) each."""
    rows, experts = np.nonzero(observed)
    if not len(rows):
        return _GUESS, np.zeros(raw.shape[1])
    z = np.clip(_log_odds(raw[rows, experts], link), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    columns, right = np.column_stack([np.ones(len(z)), z]), correct[rows, experts].astype(np.float64)
    line = fit_logistic(columns, right, guess=_GUESS, strength=_STRENGTH)
    line[1] = max(line[1], 0.0)  # no item changes its rank
    return line, expert_shifts(columns @ line, right, np.ones(len(z)), experts, raw.shape[1])


def _log_odds(raw: FloatArray, link: Link) -> FloatArray:
    """Return the log-odds that raw scores stand for."""
    return raw if link == "logit" else logit(np.exp(np.minimum(raw, 0.0)))


def _succession(right: float, total: float) -> float:
    """Return the mean of a share of which so much was seen, by Laplace's rule: 1/2 where nothing was."""
    return float((right + 1) / (total + 2))
