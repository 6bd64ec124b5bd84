"""Heads of the experts on top of a fitted model: shrunk toward the population, or ready for experts to be added."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
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
    lens, inputs = head_features(base, data, class_proba, reads=plan.reads)
    picked = np.arange(len(data.item_idx)) if chosen is None else chosen
    answers = data.item_idx[picked], data.expert_idx[picked], data.right[picked]
    weight = with_mean_one(data.weight_of_answers()[picked])
    groups = lens.groups(data.features, n_classes=data.n_classes)
    heads = fit_heads(inputs, *answers, n_experts=data.n_experts, weight=weight, groups=groups, prior=plan.prior)
    class_heads = None
    if data.n_classes > 1:
        class_heads = _class_heads(lens, inputs, class_proba, data, picked, plan=plan)
    order = np.arange(data.n_experts)
    return TeamScorer(base, lens, heads, 0, order, class_heads, class_share=plan.class_share)


def _class_heads(
    lens: Lens, inputs: FloatArray, class_proba: FloatArray, data: TrainingData, picked: IntArray, *, plan: HeadPlan
) -> ClassHeads:
    return fit_class_heads(
        inputs,
        class_proba,
        data.label_idx,
        data.item_idx[picked],
        data.expert_idx[picked],
        data.right[picked],
        n_experts=data.n_experts,
        answer_idx=data.triplets.codes[picked],
        weight=with_mean_one(data.weight_of_answers()[picked]),
        groups=lens.groups(data.features, n_classes=data.n_classes),
        # With very many classes the belief is all that tells of the class.
        reads_belief=plan.reads != "nothing" or data.n_classes > MOST_CLASSES,
        prior=plan.class_prior,
    )


def head_features(
    base: Scorer, data: TrainingData, class_proba: FloatArray, *, reads: HeadsRead = "all"
) -> tuple[Lens, FloatArray]:
    """Return the lens of the heads, and the features (n, f) that they read, from out-of-fold class_proba (n, K).

    `reads` is as in `HeadPlan`.
    """
    hidden = None if reads != "all" else hidden_units(base, data.features)
    n_hidden = 0 if hidden is None else hidden.shape[1]
    lens = Lens.fit(data.features, reads_classes=reads != "nothing", n_hidden=n_hidden, class_proba=class_proba)
    if reads != "all":
        lens = replace(lens, directions=np.zeros((lens.n_features, 0)))
    return lens, lens.transform(data.features, class_proba, hidden)


def population_of(lens: Lens, inputs: FloatArray, data: TrainingData, *, chosen: IntArray) -> HeadPrior:
    """Return the population of the experts, learned from at most 5,000 of the chosen answers."""
    picked = chosen[sample_rows(len(chosen), _ENOUGH_FOR_POPULATION)]
    return fit_prior(
        inputs,
        data.item_idx[picked],
        data.expert_idx[picked],
        data.right[picked],
        n_experts=data.n_experts,
        weight=with_mean_one(data.weight_of_answers()[picked]),
        groups=lens.groups(data.features, n_classes=data.n_classes),
    )


def class_population_of(
    lens: Lens,
    inputs: FloatArray,
    class_proba: FloatArray,
    data: TrainingData,
    *,
    chosen: IntArray,
    reads: HeadsRead,
) -> HeadPrior:
    """Return the population of the class heads, learned from at most 5,000 of the chosen answers."""
    picked = chosen[sample_rows(len(chosen), _ENOUGH_FOR_POPULATION)]
    return _class_heads(lens, inputs, class_proba, data, picked, plan=HeadPlan(reads)).heads.prior


def out_of_fold_log_odds(
    lens: Lens,
    inputs: FloatArray,
    data: TrainingData,
    fold: IntArray,
    *,
    chosen: IntArray,
    prior: HeadPrior | None = None,
) -> FloatArray:
    """Return each expert's log-odds of being right by heads that did not see the item, (n, J).

    Parameters
    ----------
    lens, inputs
        What `head_features` returned.
    data : TrainingData
    fold : (n,) int
    chosen : (a,) int
        Which of the m answers are used.
    prior : HeadPrior, optional
        The population of the experts; by default it is learned anew for each fold.
    """
    log_odds = np.empty((len(fold), data.n_experts))
    weight = data.weight_of_answers()
    groups = lens.groups(data.features, n_classes=data.n_classes)
    for k in range(int(fold.max()) + 1):
        rest = chosen[fold[data.item_idx[chosen]] != k]
        heads = fit_heads(
            inputs,
            data.item_idx[rest],
            data.expert_idx[rest],
            data.right[rest],
            n_experts=data.n_experts,
            weight=with_mean_one(weight[rest]),
            groups=groups,
            prior=prior,
        )
        log_odds[fold == k] = heads.log_odds(inputs[fold == k])
    return log_odds


def out_of_fold_class_log_odds(
    lens: Lens,
    inputs: FloatArray,
    class_proba: FloatArray,
    data: TrainingData,
    fold: IntArray,
    *,
    chosen: IntArray,
    plan: HeadPlan,
) -> FloatArray:
    """Return each expert's log-odds of being right by class heads that did not see the item, (n, J).

    Parameters are as in `out_of_fold_log_odds` and `with_shrunk_heads`.
    """
    log_odds = np.empty((len(fold), data.n_experts))
    for k in range(int(fold.max()) + 1):
        inside = fold == k
        rest = chosen[~inside[data.item_idx[chosen]]]
        prior = plan.class_prior
        if prior is not None:  # a population that knows the fold would make class heads look better than they are
            prior = class_population_of(lens, inputs, class_proba, data, chosen=rest, reads=plan.reads)
        heads = _class_heads(lens, inputs, class_proba, data, rest, plan=replace(plan, class_prior=prior))
        log_odds[inside] = heads.log_odds(inputs[inside], class_proba[inside])
    return log_odds


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
    prior = fit_prior(
        lens.transform(features, np.empty((len(items), 0)), None if hidden is None else hidden[items]),
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


def fold_of_items(data: TrainingData, *, rng: np.random.Generator, n_folds: int = FOLDS) -> IntArray:
    """Return the fold of each item, (n,): stratified by class, or by whole groups if there are at least two."""
    if data.groups is not None:
        groups, group_idx = np.unique(data.groups, return_inverse=True)
        if len(groups) > 1:
            return (rng.permutation(len(groups)) % n_folds)[group_idx]
    shuffled = rng.permutation(len(data.label_idx))
    by_class = shuffled[np.argsort(data.label_idx[shuffled], kind="stable")]
    fold = np.empty(len(shuffled), dtype=np.int64)
    fold[by_class] = np.arange(len(shuffled)) % n_folds
    return fold


def with_mean_one(weight: FloatArray) -> FloatArray:
    """Return weights with mean 1 over the answers with a positive weight."""
    total = float(weight.sum())
    return weight * (np.count_nonzero(weight) / total) if total > 0 else weight
