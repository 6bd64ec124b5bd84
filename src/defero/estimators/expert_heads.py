"""Heads of the experts on top of a fitted model: shrunk toward the population, or ready for experts to be added."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.order import in_order_of_appearance
from defero.core.splits import sample_rows
from defero.estimators.training_data import TrainingData
from defero.heads import ClassHeads, HeadPrior, Heads, Lens, fit_class_heads, fit_heads, fit_prior
from defero.heads.class_heads import MOST_CLASSES
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer, hidden_units

HeadsOption = Literal["auto", "shrunk", "separate"]
HeadsRead = Literal["all", "beliefs", "nothing"]
FEW_ANSWERS = 200
"""If at least half of the experts gave fewer answers, "auto" shrinks the heads."""
FOLDS = 5
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0)
"""Candidate ridge penalties of a linear model of the classes, in units of 1 / n."""
_ENOUGH_FOR_POPULATION = 5_000


def check_heads(heads: object) -> None:
    """Raise unless this is a valid `heads`."""
    if heads not in get_args(HeadsOption):
        raise InputError(f"must be one of {', '.join(get_args(HeadsOption))}, got {heads!r}.", argument="heads")


def answers_are_few(data: TrainingData) -> bool:
    """Return whether at least half of the experts with answers gave fewer than 200."""
    counts = data.answers.per_expert()
    positive = counts[counts > 0]
    return len(positive) > 0 and 2 * int((positive < FEW_ANSWERS).sum()) >= len(positive)


@dataclass(frozen=True, eq=False)
class HeadPlan:
    """What heads read, and what is known of them before they are fitted.

    Attributes
    ----------
    reads : "all", "beliefs" or "nothing"
        What the heads read: all features, the class probabilities alone, or nothing but who it is. Class heads read the
        class beside it.
    prior, class_prior : HeadPrior, optional
        The populations of the heads and of the class heads; by default they are learned from the answers.
    class_share : float
        As in `TeamScorer`.
    """

    reads: HeadsRead = "all"
    prior: HeadPrior | None = None
    class_prior: HeadPrior | None = None
    class_share: float = 0.0


_READ_ALL = HeadPlan()


@dataclass(frozen=True, eq=False)
class HeadLesson:
    """What the heads of a team are fitted on.

    Attributes
    ----------
    data : TrainingData
    class_proba : (n, K)
        Out-of-fold P(y = k | x): see `out_of_fold`.
    lens : Lens
    inputs : (n, f)
        The features that the heads read.
    reads : "all", "beliefs" or "nothing"
        As in `HeadPlan`.
    """

    data: TrainingData
    class_proba: FloatArray
    lens: Lens
    inputs: FloatArray
    reads: HeadsRead = "all"

    @classmethod
    def of(cls, base: Scorer, data: TrainingData, class_proba: FloatArray, *, reads: HeadsRead = "all") -> "HeadLesson":
        """Make the features for a model of the classes, with J = 0."""
        hidden = None if reads != "all" else hidden_units(base, data.features)
        n_hidden = 0 if hidden is None else hidden.shape[1]
        lens = Lens.fit(data.features, reads_classes=reads != "nothing", n_hidden=n_hidden, class_proba=class_proba)
        if reads != "all":
            lens = replace(lens, directions=np.zeros((lens.n_features, 0)))
        return cls(data, class_proba, lens, lens.transform(data.features, class_proba, hidden), reads)

    @cached_property
    def _groups(self) -> Any:
        return self.lens.groups(self.data.features, n_classes=self.data.n_classes)

    def _answers(self, picked: IntArray) -> tuple[tuple[IntArray, IntArray, BoolArray], dict[str, Any]]:
        """Return item, expert and right of the picked answers, and what the fits need to know beside them."""
        data = self.data
        weight = with_mean_one(data.weight_of_answers()[picked])
        options = {"n_experts": data.n_experts, "weight": weight, "groups": self._groups}
        return (data.item_idx[picked], data.expert_idx[picked], data.right[picked]), options

    def heads(self, picked: IntArray, prior: HeadPrior | None) -> Heads:
        """Fit heads to the picked of the m answers; without a population they learn their own."""
        answers, options = self._answers(picked)
        return fit_heads(self.inputs, *answers, prior=prior, **options)

    def class_heads(self, picked: IntArray, prior: HeadPrior | None) -> ClassHeads:
        """Fit heads that read the class beside the features."""
        answers, options = self._answers(picked)
        return fit_class_heads(
            self.inputs,
            self.class_proba,
            self.data.label_idx,
            *answers,
            answer_idx=self.data.triplets.codes[picked],
            # With very many classes the belief is all that tells of the class.
            reads_belief=self.reads != "nothing" or self.data.n_classes > MOST_CLASSES,
            prior=prior,
            **options,
        )

    def population(self, chosen: IntArray) -> HeadPrior:
        """Return the population of the experts, learned from at most 5,000 of the chosen answers."""
        answers, options = self._answers(chosen[sample_rows(len(chosen), _ENOUGH_FOR_POPULATION)])
        return fit_prior(self.inputs, *answers, **options)

    def class_population(self, chosen: IntArray) -> HeadPrior:
        """Return the population of the class heads, learned from at most 5,000 of the chosen answers."""
        return self.class_heads(chosen[sample_rows(len(chosen), _ENOUGH_FOR_POPULATION)], None).heads.prior

    def log_odds(self, fold: IntArray, chosen: IntArray, prior: HeadPrior | None) -> FloatArray:
        """Return each expert's log-odds of being right by heads that did not see the item, (n, J).

        Parameters
        ----------
        fold : (n,) int
        chosen : (a,) int
            Which of the m answers are used.
        prior : HeadPrior, optional
            The population of the experts; by default it is learned anew for each fold.
        """
        log_odds = np.empty((len(fold), self.data.n_experts))
        for inside, rest in self._folds(fold, chosen):
            log_odds[inside] = self.heads(rest, prior).log_odds(self.inputs[inside])
        return log_odds

    def class_log_odds(self, fold: IntArray, chosen: IntArray, *, shared: bool) -> FloatArray:
        """Return the same by class heads; `shared`: all heads of a fold share one population of some answers."""
        log_odds = np.empty((len(fold), self.data.n_experts))
        for inside, rest in self._folds(fold, chosen):
            # A population that knows the fold would make class heads look better than they are.
            heads = self.class_heads(rest, self.class_population(rest) if shared else None)
            log_odds[inside] = heads.log_odds(self.inputs[inside], self.class_proba[inside])
        return log_odds

    def _folds(self, fold: IntArray, chosen: IntArray) -> Iterator[tuple[BoolArray, IntArray]]:
        for k in range(int(fold.max()) + 1):
            inside = fold == k
            yield inside, chosen[~inside[self.data.item_idx[chosen]]]


def with_shrunk_heads(
    base: Scorer,
    data: TrainingData,
    class_proba: FloatArray,
    *,
    chosen: IntArray | None = None,
    plan: HeadPlan = _READ_ALL,
) -> TeamScorer:
    """Return a team of a model of the classes and a head for each expert, shrunk toward the population.

    Parameters
    ----------
    base : Scorer with J = 0
    data : TrainingData
    class_proba : (n, K)
        Out-of-fold P(y = k | x): see `out_of_fold`.
    chosen : (a,) int, optional
        Which of the m answers are used; all by default.
    plan : HeadPlan
        By default the heads read everything.
    """
    lesson = HeadLesson.of(base, data, class_proba, reads=plan.reads)
    picked = np.arange(len(data.item_idx)) if chosen is None else chosen
    heads = lesson.heads(picked, plan.prior)
    class_heads = lesson.class_heads(picked, plan.class_prior) if data.n_classes > 1 else None
    order = np.arange(data.n_experts)
    return TeamScorer(base, lesson.lens, heads, 0, order, class_heads, class_share=plan.class_share)


def with_population(base: Scorer, data: TrainingData) -> TeamScorer:
    """Return a team with the base's outputs for its experts, and a population for experts who are added later.

    The population is learned from at most 5,000 answers. It does not use the class probabilities, which are too
    confident on the training items.
    """
    hidden = hidden_units(base, data.features)
    lens = Lens.fit(data.features, reads_classes=False, n_hidden=0 if hidden is None else hidden.shape[1])
    chosen = sample_rows(len(data.item_idx), _ENOUGH_FOR_POPULATION)
    items, place = np.unique(data.item_idx[chosen], return_inverse=True)
    features = data.features[items]
    inputs = lens.transform(features, np.empty((len(items), 0)), None if hidden is None else hidden[items])
    return team_with_population(base, data, chosen, lens=lens, place=place, inputs=inputs, features=features)


def team_with_population(
    base: Scorer,
    data: TrainingData,
    chosen: IntArray,
    *,
    lens: Lens,
    place: IntArray,
    inputs: FloatArray,
    features: FloatArray,
) -> TeamScorer:
    """Return a team with the base's outputs, and the population of the chosen answers (a,).

    Their items are rows `place` (a,) of the features (m, d) that the lens was made for and of its `inputs` (m, f).
    """
    prior = fit_prior(
        inputs,
        place,
        data.expert_idx[chosen],
        data.right[chosen],
        n_experts=data.n_experts,
        weight=with_mean_one(data.weight_of_answers()[chosen]),
        groups=lens.groups(features, n_classes=data.n_classes),
    )
    return TeamScorer(base, lens, Heads.none(prior), n_own=data.n_experts, order=np.arange(data.n_experts))


def out_of_fold(
    data: TrainingData,
    fit: Callable[[TrainingData], Callable[[FloatArray], FloatArray]],
    *,
    fold: IntArray | None = None,
) -> FloatArray:
    """Return out-of-fold P(y = k | x) of each item, (n, K).

    Parameters
    ----------
    data : TrainingData
    fit : callable
        Takes the data of some items without experts; returns a function from (m, d) features to (m, K).
    fold : (n,) int, optional
        By default five folds, whatever the seed: a linear fit does not depend on it.
    """
    fold = fold_of_items(data, rng=np.random.default_rng(0)) if fold is None else fold
    proba = np.empty((len(data.label_idx), data.n_classes))
    for k in range(int(fold.max()) + 1):
        inside = fold == k
        if not data.weight[~inside].any():  # all weight is in this fold
            proba[inside] = 1.0 / data.n_classes
            continue
        proba[inside] = fit(data.without_experts(np.flatnonzero(~inside)))(data.features[inside])
    return proba


def weighted_log_loss(class_proba: FloatArray, data: TrainingData) -> float:
    """Return the weighted sum of the log loss of P(y = k | x), (n, K)."""
    right = class_proba[np.arange(len(class_proba)), data.label_idx]
    return float(data.weight @ -np.log(np.maximum(right, np.finfo(np.float64).tiny)))


def best_strength(unseen: Callable[[float], FloatArray], data: TrainingData) -> tuple[float, FloatArray]:
    """Return the ridge penalty with the least log loss, from weak to strong until it rises, and its P(y = k | x).

    `unseen` takes a penalty, and returns out-of-fold P(y = k | x) of each item, (n, K).
    """
    best: tuple[float, float, FloatArray] | None = None
    for strength in STRENGTHS:
        proba = unseen(strength)
        value = weighted_log_loss(proba, data)
        if best is not None and value > best[0]:
            break
        best = value, strength, proba
    assert best is not None
    return best[1:]


def fold_of_items(data: TrainingData, *, rng: np.random.Generator, n_folds: int = FOLDS) -> IntArray:
    """Return the fold of each item, (n,): stratified by class, or by whole groups if there are at least two."""
    if data.groups is not None:
        groups, group_idx = np.unique(data.groups, return_inverse=True)
        if len(groups) > 1:
            return (rng.permutation(len(groups)) % n_folds)[group_idx]
    shuffled = rng.permutation(len(data.label_idx))
    by_class = shuffled[np.argsort(in_order_of_appearance(data.label_idx[shuffled]), kind="stable")]
    fold = np.empty(len(shuffled), dtype=np.int64)
    fold[by_class] = np.arange(len(shuffled)) % n_folds
    return fold


def with_mean_one(weight: FloatArray) -> FloatArray:
    """Return weights with mean 1 over the answers with a positive weight."""
    total = float(weight.sum())
    return weight * (np.count_nonzero(weight) / total) if total > 0 else weight


def standards(features: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted mean and standard deviation of each column; 1 for constant columns."""
    center = np.average(features, axis=0, weights=weight)
    spread = np.sqrt(np.average((features - center) ** 2, axis=0, weights=weight))
    # Relative to the mean: rounding errors of a constant column must not become its scale.
    constant = spread <= 1e-12 * np.maximum(1.0, np.abs(center))
    return center, np.where(constant, 1.0, spread)
