"""Calibrator: from `Scores` to calibrated `Scores`, of the model and of every expert."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.calibration.choice import (
    FEWEST_ANSWERS,
    FEWEST_LABELS,
    NewcomersMap,
    choose_maps,
    with_newcomer,
)
from defero.calibration.isotonic import fit_isotonic
from defero.calibration.maps import AnyMaps, ExpertMaps, Method, Untouched
from defero.calibration.platt import fit_platt
from defero.calibration.temperature import (
    apply_temperature,
    choose_temperature,
    fit_temperature,
    largest_class_pays,
)
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, index_numbers, one_of, true_or_false
from defero.core.codec import Share, Within
from defero.core.errors import InputError
from defero.core.scores import Link, Scores, logit, row_max
from defero.core.wording import join_names

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
_FITS = {"auto": choose_maps, "platt": fit_platt, "isotonic": fit_isotonic}

_WORDS = {
    "platt": "Platt's map for {}",
    "isotonic": "isotonic steps for {}",
    "none": "{} not corrected",
}


@dataclass(frozen=True)
class Calibrator:
    """A temperature for the model's classes, and a map for each expert.

    Attributes
    ----------
    temperature : float
        Class probabilities become softmax(log p / temperature).
    experts : ExpertMaps
        How each expert's raw score becomes the probability that they are right; `experts.methods` names the methods.
    n_labels : int, optional
        How many items it was fitted on.
    n_answers : J ints, optional
        How many answers of each expert.
    keeps_model : bool
        Leave `model_proba` as it is, instead of the largest calibrated class probability. These differ for
        one-vs-all, where it is the largest sigmoid.
    accuracy : HeldOutAccuracy, optional
        How often the model and the experts were right there: nobody is surer than that of an unusual case.

    Examples
    --------
    Everybody claims 0.95 and is right in three of four cases:

    >>> import numpy as np
    >>> scores = Scores.from_probabilities([[0.95, 0.05]] * 400, [[0.95]] * 400)
    >>> right = np.arange(400) % 4 > 0
    >>> calibrator = Calibrator.fit(scores, np.where(right, 0, 1), right[:, None], np.ones((400, 1)))
    >>> calibrated = calibrator.apply(scores)
    >>> calibrated.model_proba[:1].round(2).tolist(), calibrated.expert_proba[:1].round(2).tolist()
    ([0.75], [[0.75]])
    >>> for sentence in calibrator.describe(["ann"]):
    ...     print(sentence)
    Looked at 400 cases. The model: its class probabilities get temperature 2.62 (it claimed too much).
    Experts: Platt's map for ann; 400 answers.
    """

    temperature: float
    experts: AnyMaps
    n_labels: int | None = None
    n_answers: tuple[Annotated[int, Within(0)], ...] | None = None
    keeps_model: bool = False
    accuracy: HeldOutAccuracy | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise InputError(f"must be positive and finite, got {self.temperature}.", argument="temperature")
        if self.n_answers is not None and len(self.n_answers) != self.experts.n_experts:
            raise InputError(
                f"must be {self.experts.n_experts} numbers, got {len(self.n_answers)}.", argument="n_answers"
            )
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
        method : "auto", "platt", "isotonic" or "none"
            For the experts. "auto" changes only what is miscalibrated (see `choose_maps`), of the model too. "platt"
            and "isotonic" also give the classes a temperature; "none" changes nothing.
        """
        one_of("method", method, get_args(Method))
        shape = scores.expert_raw.shape
        labels = index_numbers("label_idx", label_idx, below=scores.n_classes, n_items=len(scores))
        right, answered = (
            true_or_false("correct", correct, shape=shape),
            true_or_false("observed", observed, shape=shape),
        )
        fit_classes = {"auto": choose_temperature, "none": _one}.get(method, fit_temperature)
        temperature = fit_classes(scores.class_proba, labels, prior=PRIOR_ITEMS)
        return cls(
            experts=_fit_experts(scores.expert_raw, right, answered, link=scores.link, method=method),
            temperature=temperature,
            keeps_model=method == "none"
            or (method == "auto" and temperature == 1.0 and not largest_class_pays(scores, labels)),
            n_labels=len(labels),
            n_answers=tuple(answered.sum(axis=0).tolist()),
            accuracy=HeldOutAccuracy.fit(scores, labels, right, answered),
        )

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
        chosen = tuple(experts)
        counts = None if self.n_answers is None else tuple(self.n_answers[j] for j in chosen)
        accuracy = None if self.accuracy is None else self.accuracy.take(chosen)
        return replace(self, experts=self.experts.take(chosen), n_answers=counts, accuracy=accuracy)

    def with_newcomer(self, newcomer: NewcomersMap = "typical") -> "Calibrator":
        """Return the calibrator with one more expert at the end, of whom no held-out answer is known.

        >>> from defero.calibration.platt import PlattMaps
        >>> calibrator = Calibrator(1.5, PlattMaps("logit", (0.5,), (1.0,), (0.8, 0.1)), 30, (30,))
        >>> calibrator.with_newcomer().experts.slope, calibrator.with_newcomer("identity").experts.methods
        ((0.5, 0.8), ('platt', 'none'))
        """
        counts = None if self.n_answers is None else (*self.n_answers, 0)
        accuracy = None if self.accuracy is None else self.accuracy.with_newcomer()
        return replace(self, experts=with_newcomer(self.experts, newcomer), n_answers=counts, accuracy=accuracy)

    def describe(self, expert_names: ArrayLike | None = None) -> list[str]:
        """Return sentences on what was done to the model and to the experts; without names experts are numbered."""
        given = range(self.experts.n_experts) if expert_names is None else np.asarray(expert_names).tolist()
        names = [f"expert {one}" if isinstance(one, int) else str(one) for one in given]
        if len(names) != self.experts.n_experts:
            raise InputError(f"must be {self.experts.n_experts} names, got {len(names)}.", argument="expert_names")
        return calibration_sentences(
            self.temperature, self.experts.methods, names, n_labels=self.n_labels, n_answers=self.n_answers
        )

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


def _fit_experts(
    expert_raw: FloatArray, correct: BoolArray, observed: BoolArray, *, link: Link, method: Method
) -> ExpertMaps:
    """Return the maps of a method; the identity where nobody answered anything."""
    if method == "none" or (method != "platt" and not observed.any()):
        return Untouched(link, expert_raw.shape[1])
    return _FITS[method](expert_raw, correct, observed, link=link)


def _one(class_proba: FloatArray, label_idx: ArrayLike, *, prior: float) -> float:
    return 1.0


def calibration_sentences(
    temperature: float,
    methods: Sequence[str],
    expert_names: Sequence[str],
    *,
    n_labels: int | None,
    n_answers: Sequence[int] | None,
) -> list[str]:
    """Return one sentence on the model and, with experts, one on them.

    Parameters
    ----------
    temperature : float
    methods, expert_names : J each
    n_labels : int, optional
    n_answers : J ints, optional

    >>> calibration_sentences(1.0, ["platt", "none"], ["ann", "bob"], n_labels=90, n_answers=[90, 40])
    ['Looked at 90 cases. The model: not corrected.',
     "Experts: Platt's map for ann; bob not corrected; 40 to 90 answers each."]
    >>> calibration_sentences(1.0, ["none"], ["ann"], n_labels=9, n_answers=[5])
    ['Looked at 9 cases, too few to judge by. The model: not corrected.',
     'Experts: ann not corrected, as there are too few answers to judge by; 5 answers.']
    """
    begin = "" if n_labels is None else f"Looked at {n_labels} cases. "
    if n_labels is not None and n_labels < FEWEST_LABELS and temperature == 1:
        begin = f"Looked at {n_labels} cases, too few to judge by. "
    why = "it claimed too much" if temperature > 1 else "it claimed too little"
    model = (
        "not corrected" if temperature == 1 else f"its class probabilities get temperature {temperature:.2f} ({why})"
    )
    sentences = [f"{begin}The model: {model}."]
    if expert_names:
        parts = [_part(method, methods, expert_names) for method in _WORDS if method in methods]
        if n_answers is not None:
            if sum(n_answers) < FEWEST_ANSWERS and set(methods) == {"none"}:
                parts[-1] += ", as there are too few answers to judge by"
            parts.append(_range(n_answers))
        sentences.append(f"Experts: {'; '.join(parts)}.")
    return sentences


def _part(method: str, methods: Sequence[str], expert_names: Sequence[str]) -> str:
    who = [name for name, one in zip(expert_names, methods, strict=True) if one == method]
    if len(who) == len(methods) > 1:
        return _WORDS[method].format(f"all {len(who)}")
    return _WORDS[method].format(join_names(who))


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    if low == high:
        return f"{low} answers each" if len(counts) > 1 else f"{low} answers"
    return f"{low} to {high} answers each"
