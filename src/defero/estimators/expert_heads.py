"""Experts' heads on top of a fitted model: drawn to the population where answers are few, ready for newcomers else."""

from collections.abc import Callable
from typing import Literal, get_args

import numpy as np

from defero.core.checks import FloatArray, IntArray
from defero.core.errors import InputError
from defero.estimators.lesson import Lesson
from defero.heads import Heads, Lens, fit_class_heads, fit_heads, fit_prior
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer, hidden_units

HeadsOption = Literal["auto", "shrunk", "separate"]
FEW_ANSWERS = 200
"""With fewer answers than this from half of the experts, "auto" draws the heads to the population."""
FOLDS = 5
STRENGTHS = (1.0, 4.0, 16.0, 64.0, 256.0, 1_024.0)
"""Ridge penalties of a linear model of the classes that are tried, in units of 1 / n."""
_ENOUGH_FOR_POPULATION = 5_000


def check_heads(heads: object) -> None:
    """Raise unless this is one of the options."""
    if heads not in get_args(HeadsOption):
        raise InputError(f"heads must be one of {', '.join(get_args(HeadsOption))}, got {heads!r}.")


def answers_are_few(lesson: Lesson) -> bool:
    """Say whether at least half of the experts who answered anything gave fewer than 200 answers."""
    counts = lesson.answers.per_expert()
    given = counts[counts > 0]
    return len(given) > 0 and 2 * int((given < FEW_ANSWERS).sum()) >= len(given)


def with_shrunk_heads(base: Scorer, lesson: Lesson, class_proba: FloatArray) -> TeamScorer:
    """Return a team of a model that knows classes alone and a head for each expert, drawn to the population.

    Parameters
    ----------
    base : Scorer with J = 0
    lesson : Lesson
    class_proba : (n, K)
        P(y = k | x) of each item, by models that did not learn from it: see `out_of_fold`.
    """
    hidden = hidden_units(base, lesson.features)
    n_hidden = 0 if hidden is None else hidden.shape[1]
    lens = Lens.fit(lesson.features, reads_classes=True, n_hidden=n_hidden, class_proba=class_proba)
    seen = lens.transform(lesson.features, class_proba, hidden)
    answers = lesson.item_idx, lesson.expert_idx, lesson.right
    weight = _of_mean_one(lesson.weight_of_answers())
    groups = lens.groups(lesson.features, n_classes=lesson.n_classes)
    heads = fit_heads(seen, *answers, n_experts=lesson.n_experts, weight=weight, groups=groups)
    told = None
    if lesson.n_classes > 1:
        told = fit_class_heads(
            seen,
            class_proba,
            lesson.label_idx,
            *answers,
            n_experts=lesson.n_experts,
            answer_idx=lesson.triplets.codes,
            weight=weight,
            groups=groups,
        )
    return TeamScorer(base, lens, heads, n_own=0, order=np.arange(lesson.n_experts), class_heads=told)


def with_population(base: Scorer, lesson: Lesson) -> TeamScorer:
    """Return a team in which the base knows each expert itself, and newcomers find the population that they come from.

    The population is learned from at most 5,000 answers. It does not look at the class posterior, which on the items
    of the lesson is surer than elsewhere.
    """
    hidden = hidden_units(base, lesson.features)
    lens = Lens.fit(lesson.features, reads_classes=False, n_hidden=0 if hidden is None else hidden.shape[1])
    some = _spread_evenly(len(lesson.item_idx), _ENOUGH_FOR_POPULATION)
    items, place = np.unique(lesson.item_idx[some], return_inverse=True)
    features = lesson.features[items]
    prior = fit_prior(
        lens.transform(features, np.empty((len(items), 0)), None if hidden is None else hidden[items]),
        place,
        lesson.expert_idx[some],
        lesson.right[some],
        n_experts=lesson.n_experts,
        weight=_of_mean_one(lesson.weight_of_answers()[some]),
        groups=lens.groups(features, n_classes=lesson.n_classes),
    )
    return TeamScorer(base, lens, Heads.none(prior), n_own=lesson.n_experts, order=np.arange(lesson.n_experts))


def out_of_fold(lesson: Lesson, fit: Callable[[Lesson], Callable[[FloatArray], FloatArray]]) -> FloatArray:
    """Return P(y = k | x) of each item, (n, K), by a model that was fitted on other items.

    Parameters
    ----------
    lesson : Lesson
    fit : callable
        From the lesson of some items, without experts, to what gives (m, K) for (m, d) features.
    """
    fold = deal(lesson, rng=np.random.default_rng(0))  # the same for every seed: a linear fit does not depend on one
    proba = np.empty((len(lesson.label_idx), lesson.n_classes))
    for out in range(int(fold.max()) + 1):
        inside = fold == out
        if not lesson.weight[~inside].any():  # one item, or one that counts: nothing is known of it from others
            proba[inside] = 1.0 / lesson.n_classes
            continue
        proba[inside] = fit(lesson.without_experts(np.flatnonzero(~inside)))(lesson.features[inside])
    return proba


def weighted_log_loss(class_proba: FloatArray, lesson: Lesson) -> float:
    """Return the summed log loss of P(y = k | x), (n, K), each item counting by its weight."""
    right = class_proba[np.arange(len(class_proba)), lesson.label_idx]
    return float(lesson.weight @ -np.log(np.maximum(right, np.finfo(np.float64).tiny)))


def deal(lesson: Lesson, *, rng: np.random.Generator) -> IntArray:
    """Return the fold of each item, (n,), from 0 on: the classes evenly dealt, or whole groups where there are two."""
    if lesson.groups is not None:
        here, group = np.unique(lesson.groups, return_inverse=True)
        if len(here) > 1:
            return (rng.permutation(len(here)) % FOLDS)[group]
    shuffled = rng.permutation(len(lesson.label_idx))
    by_class = shuffled[np.argsort(lesson.label_idx[shuffled], kind="stable")]
    fold = np.empty(len(shuffled), dtype=np.int64)
    fold[by_class] = np.arange(len(shuffled)) % FOLDS
    return fold


def _spread_evenly(m: int, most: int) -> IntArray:
    """Return at most so many of m places, evenly over all of them."""
    return np.arange(m) if m <= most else np.linspace(0, m - 1, most).astype(np.int64)


def _of_mean_one(weight: FloatArray) -> FloatArray:
    """Return weights with mean 1 over the answers that count at all: one of weight 0 is as good as not given."""
    total = float(weight.sum())
    return weight * (np.count_nonzero(weight) / total) if total > 0 else weight
