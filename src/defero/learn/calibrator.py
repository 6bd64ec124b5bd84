"""Calibrator: from `Scores` to calibrated `Scores`, of the model and of every expert, by held-out cases."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, frozen, index_numbers, one_of, true_or_false
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


@dataclass(frozen=True)
class HeldOutAccuracy:
    """How often the model and each expert are right on held-out cases.

    Attributes
    ----------
    model : float
        (right + 1) / (n + 2), which is never 1.
    newcomer : float
        The same for the answers of all experts together.
    experts : J numbers
        Each with ten answers of the average expert added.

    Examples
    --------
    >>> scores = Scores.from_probabilities([[1.0, 0.0], [1.0, 0.0]], [[0.99], [0.2]])
    >>> accuracy = HeldOutAccuracy(model=0.75, newcomer=0.8, experts=(0.8,))
    >>> bounded = accuracy.bound(scores, np.array([True, False]))
    >>> bounded.class_proba.tolist(), bounded.expert_proba.round(3).tolist()
    ([[0.75, 0.25], [1.0, 0.0]], [[0.8], [0.2]])
    """

    model: Share
    newcomer: Share
    experts: tuple[Share, ...]

    @classmethod
    def fit(cls, scores: Scores, label_idx: IntArray, correct: BoolArray, observed: BoolArray) -> "HeldOutAccuracy":
        """Count on held-out cases: labels (n,), and which experts were right and answered at all, (n, J)."""
        right, answers = (correct & observed).sum(axis=0), observed.sum(axis=0)
        average = _succession(right.sum(), answers.sum())
        experts = (right + PRIOR_ANSWERS * average) / (answers + PRIOR_ANSWERS)
        model = _succession((scores.class_idx == label_idx).sum(), len(label_idx))
        return cls(model, average, tuple(experts.tolist()))

    def bound(self, scores: Scores, rows: BoolArray) -> Scores:
        """Return scores in which nobody is surer of these rows (n,) than they are right on average.

        The model's classes are mixed with equal shares until the largest is at most its accuracy; no class changes its
        rank. Scores are calibrated ones, of link "logit".
        """
        if not rows.any():
            return scores
        largest, share = scores.class_proba.max(axis=1), 1.0 / scores.n_classes
        most = max(self.model, share)
        above = rows & (largest > most)
        mix = np.where(above, (largest - most) / np.where(above, largest - share, 1.0), 0.0)
        mix = np.minimum(mix, MOST_MIXED)
        class_proba = scores.class_proba * (1.0 - mix)[:, None] + (mix * share)[:, None]
        experts = np.minimum(scores.expert_proba, self.experts)
        lower = rows[:, None] & (experts < scores.expert_proba)
        return Scores.computed(
            class_proba,
            np.where(rows, np.minimum(scores.model_proba, most), scores.model_proba),
            np.where(lower, logit(experts), scores.expert_raw),
            scores.link,
            expert_proba=np.where(lower, experts, scores.expert_proba),
        )

    def take(self, experts: Sequence[int]) -> "HeldOutAccuracy":
        """Return the accuracy of some experts, in this order."""
        return HeldOutAccuracy(self.model, self.newcomer, tuple(self.experts[j] for j in experts))

    def with_newcomer(self) -> "HeldOutAccuracy":
        """Return the accuracy with one more expert at the end, who is like the average one."""
        return HeldOutAccuracy(self.model, self.newcomer, (*self.experts, self.newcomer))


def _succession(right: float, total: float) -> float:
    """Return the mean of a share of which so much was seen, by Laplace's rule: 1/2 where nothing was."""
    return float((right + 1) / (total + 2))


PRIOR_ITEMS = 10.0
"""Weight of the prior belief that the model is calibrated, as a number of items."""
MOST_LOG_ODDS = 7.0
"""Probabilities beyond 0.999 are taken as that where they are mapped."""
_GUESS, _STRENGTH = np.array([0.0, 1.0]), np.array([10.0, 20.0])
"""How firmly the map stays the identity where few answers speak: in units of one certain coin toss each."""


@dataclass(frozen=True, eq=False)
class ExpertMap:
    """From each expert's raw score to the log-odds that they are right: one line for all, and each one's shift.

    Attributes
    ----------
    link : "logit" or "log"
        Of the raw scores.
    line : (2,)
        a and b of logit P = a + b logit p + u_j.
    shift : (J,)
        u_j, shrunk toward 0.

    Examples
    --------
    >>> ExpertMap.identity("logit", 1).logits(np.array([[2.0]])).tolist()
    [[2.0]]
    """

    link: Link
    line: FloatArray
    shift: FloatArray

    def __post_init__(self) -> None:
        if self.line.shape != (2,) or self.shift.ndim != 1:
            raise InputError("must be two numbers, and shift one for each expert.", argument="line")
        object.__setattr__(self, "line", frozen(self.line))
        object.__setattr__(self, "shift", frozen(self.shift))

    @classmethod
    def identity(cls, link: Link, n_experts: int) -> "ExpertMap":
        """Return the map that changes nothing."""
        return cls(link, _GUESS, np.zeros(n_experts))

    @classmethod
    def fit(cls, raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link) -> "ExpertMap":
        """Fit on recorded answers: raw scores, was expert j right, did they answer; (n, J) each."""
        rows, experts = np.nonzero(observed)
        if not len(rows):
            return cls.identity(link, raw.shape[1])
        z = np.clip(_log_odds(raw[rows, experts], link), -MOST_LOG_ODDS, MOST_LOG_ODDS)
        columns, right = np.column_stack([np.ones(len(z)), z]), correct[rows, experts].astype(np.float64)
        line = fit_logistic(columns, right, guess=_GUESS, strength=_STRENGTH)
        line[1] = max(line[1], 0.0)  # no item changes its rank
        shift = expert_shifts(columns @ line, right, np.ones(len(z)), experts, raw.shape[1])
        return cls(link, line, shift)

    @property
    def n_experts(self) -> int:
        """J."""
        return len(self.shift)

    @property
    def changes(self) -> bool:
        """Whether anything is changed."""
        return bool((self.line != _GUESS).any() or self.shift.any())

    def logits(self, raw: FloatArray) -> FloatArray:
        """Return the calibrated log-odds, (n, J)."""
        log_odds = _log_odds(raw, self.link)
        if not self.changes:
            return log_odds
        return self.line[0] + self.line[1] * np.clip(log_odds, -MOST_LOG_ODDS, MOST_LOG_ODDS) + self.shift

    def take(self, experts: Sequence[int]) -> "ExpertMap":
        """Return the map of some experts, in this order."""
        return replace(self, shift=self.shift[list(experts)])

    def with_newcomer(self) -> "ExpertMap":
        """Return the map with one more expert at the end, who is shifted by nothing."""
        return replace(self, shift=np.append(self.shift, 0.0))


def _log_odds(raw: FloatArray, link: Link) -> FloatArray:
    """Return the log-odds that raw scores stand for."""
    return raw if link == "logit" else logit(np.exp(np.minimum(raw, 0.0)))


@dataclass(frozen=True)
class Calibrator:
    """A temperature for the model's classes, and a map for the experts.

    Attributes
    ----------
    temperature : float
        Class probabilities become softmax(log p / temperature).
    experts : ExpertMap
    n_labels : int, optional
        How many items it was fitted on.
    n_answers : int, optional
        How many answers.
    keeps_model : bool
        Leave `model_proba` as it is, instead of the largest calibrated class probability. These differ for
        one-vs-all, where it is the largest sigmoid.
    accuracy : HeldOutAccuracy, optional
        How often the model and the experts were right there: nobody is surer than that of an unusual case.

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
    experts: ExpertMap
    n_labels: int | None = None
    n_answers: Annotated[int, Within(0)] | None = None
    keeps_model: bool = False
    accuracy: HeldOutAccuracy | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(f"must be positive and finite, got {self.temperature}.", argument="temperature")
        if self.accuracy is not None and len(self.accuracy.experts) != self.experts.n_experts:
            raise InputError(
                f"must be of {self.experts.n_experts} experts, got {len(self.accuracy.experts)}.", argument="accuracy"
            )

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
        n_answers, accuracy = int(answered.sum()), HeldOutAccuracy.fit(scores, labels, right, answered)
        if method == "none":
            return cls(
                1.0, ExpertMap.identity(scores.link, scores.n_experts), len(labels), n_answers, True, accuracy=accuracy
            )
        temperature = fit_temperature(scores.class_proba, labels, prior=PRIOR_ITEMS)
        experts = ExpertMap.fit(scores.expert_raw, right, answered, link=scores.link)
        return cls(temperature, experts, len(labels), n_answers, accuracy=accuracy)

    def apply(self, scores: Scores) -> Scores:
        """Return calibrated scores. No class and, within one expert, no item changes its rank.

        `model_proba` becomes the largest calibrated class probability (for one-vs-all too, where it was the largest
        sigmoid), so that the model and the experts are compared as calibrated probabilities; it stays where the model
        is left alone (`keeps_model`). `expert_raw` becomes the calibrated log-odds, link "logit".
        """
        self._check(scores)
        class_proba = scores.class_proba
        if self.temperature != 1.0:
            class_proba = apply_temperature(class_proba, self.temperature)
        logits = self.experts.logits(scores.expert_raw)
        model_proba = scores.model_proba if self.keeps_model else row_max(class_proba)
        return Scores.computed(class_proba, model_proba, logits, "logit")

    def take(self, experts: Sequence[int]) -> "Calibrator":
        """Return the calibrator of some experts, in this order; the model's part is as it was."""
        accuracy = None if self.accuracy is None else self.accuracy.take(tuple(experts))
        return replace(self, experts=self.experts.take(experts), accuracy=accuracy)

    def with_newcomer(self) -> "Calibrator":
        """Return the calibrator with one more expert at the end, of whom no held-out answer is known."""
        accuracy = None if self.accuracy is None else self.accuracy.with_newcomer()
        return replace(self, experts=self.experts.with_newcomer(), accuracy=accuracy)

    def describe(self) -> list[str]:
        """Return sentences on what was done to the model and to the experts."""
        begin = "" if self.n_labels is None else f"Looked at {count_of(self.n_labels, 'case')}. "
        why = "it claimed too much" if self.temperature > 1 else "it claimed too little"
        model = f"its class probabilities get temperature {self.temperature:.2f} ({why})"
        sentences = [f"{begin}The model: {'not corrected' if self.temperature == 1 else model}."]
        if self.experts.n_experts:
            by = "" if self.n_answers is None else f", by {count_of(self.n_answers, 'answer')}"
            one_map = "one map for all and a shift of each" if self.experts.changes else "not corrected"
            sentences.append(f"Experts: {one_map}{by}.")
        return sentences

    def _check(self, scores: Scores) -> None:
        if scores.n_experts != self.experts.n_experts:
            raise InputError(
                f"must be of the {self.experts.n_experts} experts of fit, got {scores.n_experts} columns.",
                argument="scores",
            )
        if scores.link != self.experts.link:
            raise InputError(
                f"must have the link {self.experts.link!r} of fit, got {scores.link!r}; "
                "pass the scores as the model gives them, not calibrated ones.",
                argument="scores",
            )
