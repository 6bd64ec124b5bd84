"""Experts of a table: a shrunk head for each, own trees for those with many answers, weighed together."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from defero.calibration.sequences import fit_logistic
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import Scores, sigmoid
from defero.core.splits import sample_rows
from defero.estimators.boosting import Grove, boost, first_trees, predict_stages, size_for_answers
from defero.estimators.class_models import ClassModel
from defero.estimators.expert_heads import (
    HeadLesson,
    HeadPlan,
    HeadsRead,
    with_mean_one,
    with_shrunk_heads,
)
from defero.estimators.training_data import TrainingData
from defero.heads import HeadPrior
from defero.heads.class_heads import MOST_CLASSES
from defero.scorers.forest import Forest, join_forests
from defero.scorers.team import TeamScorer
from defero.scorers.trees import ExpertTrees

TEAM_ANSWERS = 100
"""The team's figures count like so many answers where something is fitted for one expert."""
_PRIOR_ODDS = 0.25
"""Odds that the second of two models is the better one, before any answer is seen."""
_LEAST_SHARE = 0.01
_STRENGTH = 5.0
_FEWEST = 50
"""Held-out answers below which heads and trees are not weighed against each other."""


def with_share(log_odds: FloatArray, other: FloatArray, data: TrainingData, fold: IntArray) -> tuple[FloatArray, float]:
    """Return the weighted mean of two models' log-odds, (n, J), and the share of the other one.

    The share of an item's log-odds is that of the other folds.
    """
    gain = answer_log_loss(log_odds, data) - answer_log_loss(other, data)
    gain *= with_mean_one(data.weight_of_answers())
    # Answers to one item have its class in common, so items are what varies.
    answered, item = np.unique(data.item_idx, return_inverse=True)
    by_item, fold_of_item = np.bincount(item, weights=gain).astype(np.float64), fold[answered]
    share = np.array([share_by_gain(by_item[fold_of_item != k]) for k in range(int(fold.max()) + 1)])[fold][:, None]
    return (1 - share) * log_odds + share * other, share_by_gain(by_item)


def share_by_gain(gain: FloatArray) -> float:
    """Return the weight of a second model by how much more likely it makes the answers to n held-out items, (n,).

    Its posterior probability with the prior odds `_PRIOR_ODDS`, averaged over how far the sum of the
    gains would vary with other answers (pseudo-BMA+, Yao et al. 2018, with a normal sum):
    sigmoid((sum + log odds) / sqrt(1 + pi s^2 / 8)), s^2 = n Var(gain). A weight below 0.01 is 0.

    >>> share_by_gain(np.zeros(100)), round(share_by_gain(np.full(100, 0.1)), 4), round(share_by_gain(np.zeros(0)), 2)
    (0.2, 0.9998, 0.2)
    """
    variance = len(gain) * float(gain.var()) if len(gain) else 0.0
    share = float(sigmoid((float(gain.sum()) + np.log(_PRIOR_ODDS)) / np.sqrt(1.0 + np.pi * variance / 8.0)))
    return share if share >= _LEAST_SHARE else 0.0


def answer_log_loss(log_odds: FloatArray, data: TrainingData) -> FloatArray:
    """Return the log loss of the log-odds (n, J) for each recorded answer, (m,)."""
    z = log_odds[data.item_idx, data.expert_idx]
    return np.logaddexp(0.0, np.where(data.right, -z, z))


def answers_of(data: TrainingData, used: BoolArray | None) -> list[IntArray]:
    """Return the positions of each expert's answers among the m, of those that are used."""
    given = data.by_expert()
    return given if used is None else [answers[used[answers]] for answers in given]


class StackWeights(NamedTuple):
    """Weights of a constant, the trees and the head in an expert's log-odds, all experts together.

    Attributes
    ----------
    with_trees : (3,)
        Of experts with trees.
    head_alone : (3,)
        Of the same experts, without their trees: the second weight is 0.
    without_trees : (2,)
        A constant and the head, of experts without trees.
    """

    with_trees: FloatArray
    head_alone: FloatArray
    without_trees: FloatArray


def fit_stack(head: FloatArray, trees: FloatArray, data: TrainingData, used: BoolArray | None = None) -> StackWeights:
    """Fit the weights by out-of-fold log-odds (n, J) of heads and trees; the trees' are nan where there are none.

    `used` (m,) says which answers they are fitted on; by default all.
    """
    h, t = head[data.item_idx, data.expert_idx], trees[data.item_idx, data.expert_idx]
    weight, right = data.weight_of_answers(), data.right.astype(np.float64)
    everybody = np.ones(len(h), dtype=np.bool_) if used is None else used
    both, lacking = everybody & ~np.isnan(t), everybody & np.isnan(t)

    def fit(rows: BoolArray, guess: list[float], strength: float) -> FloatArray:
        columns = np.column_stack(
            [np.ones(rows.sum()), t[rows], h[rows]] if len(guess) == 3 else [np.ones(rows.sum()), h[rows]]
        )
        if rows.sum() < _FEWEST:
            return np.array(guess)
        return fit_logistic(
            columns, right[rows], weight[rows], guess=np.array(guess), strength=np.full(len(guess), strength)
        )

    constant, slope = fit(both, [0.0, 1.0], 4 * _STRENGTH)
    return StackWeights(
        with_trees=fit(both, [0.0, 0.5, 0.5], _STRENGTH),
        head_alone=np.array([constant, 0.0, slope]),
        without_trees=fit(lacking, [0.0, 1.0], 4 * _STRENGTH),
    )


def held_out_sums(
    head: FloatArray, trees: FloatArray, data: TrainingData, expert_idx: IntArray, fold: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the log-odds of the experts with trees, (n, o), by weights that were fitted on the other folds.

    The first are those of heads alone, the second those of heads and trees. Weights that were fitted on all answers
    know how often each expert was right there. The luck of the luckiest expert would pass for skill, and the map of
    whoever is chosen could not correct it.
    """
    alone, both = (np.empty((len(fold), len(expert_idx))) for _ in range(2))
    for k in range(int(fold.max()) + 1):
        inside = fold == k
        rest = ~inside[data.item_idx]
        t, h = trees[np.ix_(inside, expert_idx)], head[np.ix_(inside, expert_idx)]
        of_team = fit_stack(head, trees, data, rest)
        b0, b1, b2 = own_weights(of_team.with_trees, head, trees, data, expert_idx, rest).T
        alone[inside] = of_team.head_alone[0] + of_team.head_alone[2] * h
        both[inside] = b0 + b1 * t + b2 * h
    return alone, both


def own_weights(
    of_team: FloatArray,
    head: FloatArray,
    trees: FloatArray,
    data: TrainingData,
    expert_idx: IntArray,
    used: BoolArray | None = None,
) -> FloatArray:
    """Return the weights of each expert with trees, (o, 3), shrunk toward those of the team.

    `used` (m,) says which answers they are fitted on; by default all. Experts without any get the team's.
    """
    weight, given = data.weight_of_answers(), answers_of(data, used)
    weights = np.tile(of_team, (len(expert_idx), 1))
    for place, j in enumerate(expert_idx):
        answers = given[j]
        if not weight[answers].any():
            continue
        rows = data.item_idx[answers]
        columns = np.column_stack([np.ones(len(rows)), trees[rows, j], head[rows, j]])
        p = sigmoid(columns @ of_team)
        information = ((weight[answers] * p * (1 - p)) @ columns**2) / weight[answers].sum()
        weights[place] = fit_logistic(
            columns,
            data.right[answers].astype(np.float64),
            weight[answers],
            guess=of_team,
            strength=TEAM_ANSWERS * information + 1e-9,
        )
    return weights


LEAST_ANSWERS = 150
"""Experts with fewer answers have no trees of their own."""
_MOST_HEAD_ANSWERS = 2_000
"""Answers of one expert that their head is learned from; their trees learn from all."""
_FEW_ANSWERS = 3_000
"""With fewer answers in all, heads that read the class probabilities alone are tried too."""
_STAGES = (1 / 12, 1 / 6, 1 / 3, 1 / 2, 3 / 4, 1.0)
"""Shares of an expert's trees to choose from; trees learn a little each, and the last ones learn noise."""
_MANY_ANSWERS = 4_000
"""Experts with so many answers keep all trees, unless there are few columns."""
_CLEARLY = 2.0
"""Standard errors by which heads that read more must be better than those that read less."""
_SIMPLE_FIRST: tuple[HeadsRead, ...] = ("nothing", "beliefs", "all")
_MANY_ANSWERS_READ: tuple[HeadsRead, ...] = ("nothing", "all")
"""What heads may read with many answers."""


@dataclass(frozen=True, eq=False)
class OwnTrees:
    """Trees of the experts with many answers: out-of-fold log-odds (n, J), nan without trees, and the trees."""

    log_odds: FloatArray
    forest: Forest | None
    expert_idx: IntArray


def grow_own_trees(data: TrainingData, grove: Grove, fold: IntArray) -> OwnTrees:
    """Boost trees for each expert with many answers, out of fold and on all of their answers."""
    weight = data.weight_of_answers()
    log_odds = np.full((len(fold), data.n_experts), np.nan)
    forests: list[Forest] = []
    expert_idx: list[int] = []
    held_out: list[FloatArray] = []
    for j, given in enumerate(data.by_expert()):
        answers = given[weight[given] > 0]
        if len(answers) < LEAST_ANSWERS:
            continue
        forests.append(_forest(data, grove, answers, len(answers)))
        expert_idx.append(j)
        stages = _STAGES if len(answers) < _MANY_ANSWERS or len(grove.bags) > 1 else (1.0,)
        held_out.append(np.empty((len(stages), len(fold))))
        for k in range(int(fold.max()) + 1):
            forest = _forest(data, grove, answers[fold[data.item_idx[answers]] != k], len(answers), verify=False)
            held_out[-1][:, fold == k] = predict_stages(forest, grove.matrix[fold == k], stages, n_bags=len(grove.bags))
    # Stages that are chosen by the very answers that they are judged by would look better than they are.
    for k in range(int(fold.max()) + 1):
        stages_of = _choose_stages(held_out, expert_idx, data, fold[data.item_idx] != k)
        for place, (j, stage) in enumerate(zip(expert_idx, stages_of, strict=True)):
            log_odds[fold == k, j] = held_out[place][stage, fold == k]
    for place, stage in enumerate(_choose_stages(held_out, expert_idx, data)):
        share = _STAGES[stage] if len(held_out[place]) > 1 else 1.0
        forests[place] = first_trees(forests[place], share, n_bags=len(grove.bags))
    return OwnTrees(log_odds, join_forests(forests) if forests else None, np.array(expert_idx, dtype=np.int64))


def _choose_stages(
    held_out: list[FloatArray], expert_idx: list[int], data: TrainingData, used: BoolArray | None = None
) -> list[int]:
    """Return the stage of the trees that each expert keeps, by the log loss of held-out answers.

    The mean log loss of all experts counts like `TEAM_ANSWERS` answers of the expert's own. `used` (m,) says which
    answers count; by default all.
    """
    weight, given = data.weight_of_answers(), answers_of(data, used)
    losses = []
    for stages, j in zip(held_out, expert_idx, strict=True):
        answers = given[j]
        z = stages[:, data.item_idx[answers]]
        losses.append(np.logaddexp(0.0, np.where(data.right[answers], -z, z)) @ weight[answers])
    several = [
        loss / weight[given[j]].sum()
        for loss, j in zip(losses, expert_idx, strict=True)
        if len(loss) > 1 and weight[given[j]].any()
    ]
    team = np.mean(several, axis=0) if several else 0.0
    return [int(np.argmin(loss + TEAM_ANSWERS * team)) if len(loss) > 1 else 0 for loss in losses]


def _forest(data: TrainingData, grove: Grove, answers: IntArray, n_answers: int, *, verify: bool = True) -> Forest:
    weighted = data.weighted or data.answer_weight is not None
    return boost(
        grove.matrix[data.item_idx[answers]],
        data.right[answers].astype(np.int64),
        data.weight_of_answers()[answers] if weighted else None,
        size_for_answers(n_answers),
        n_targets=2,
        n_categories=len(grove.columns.categories),
        bags=grove.bags,
        verify=verify,
    )


@dataclass(frozen=True, eq=False)
class PlainHeads:
    """Heads that read nothing but who it is: out-of-fold log-odds (n, J), from the answers (a,) that heads learn from.

    The population is None where each fold learns its own.
    """

    log_odds: FloatArray
    chosen: IntArray
    prior: HeadPrior | None


def plain_heads(classes: ClassModel, data: TrainingData, fold: IntArray) -> PlainHeads:
    """Fit the heads that are the same for every model of the classes. Pass any one of them."""
    chosen = _few_of_each(data)
    lesson = HeadLesson.of(classes.scorer, data, classes.class_proba, reads="nothing")
    prior = _population_of_many(lesson, chosen)
    return PlainHeads(lesson.log_odds(fold, chosen, prior), chosen, prior)


def stack_experts(
    classes: ClassModel,
    data: TrainingData,
    grove: Grove,
    own: OwnTrees | None,
    fold: IntArray,
    *,
    plain: PlainHeads,
    separate: bool = False,
) -> tuple[Callable[[], TeamScorer], Scores]:
    """Return what learns the team, and its scores of the training items by models that did not see them.

    The log-odds of heads and trees are combined by weights that are fitted on out-of-fold answers. The combination has
    a share by how much better it predicts them than heads alone, as trees of few answers are a poor guide. With
    `separate` the trees alone speak for the experts who have some. `plain` is what `plain_heads` returned.
    """
    chosen = plain.chosen
    heads = _held_out_heads(classes, data, fold, plain)
    head = heads.log_odds
    trees = np.full_like(head, np.nan) if own is None else own.log_odds
    weights = fit_stack(head, trees, data)
    forest, expert_idx = (None, np.zeros(0, np.int64)) if own is None else (own.forest, own.expert_idx)
    log_odds = weights.without_trees[0] + weights.without_trees[1] * head
    if separate:
        of_each = np.tile([0.0, 1.0, 0.0], (len(expert_idx), 1))
        log_odds[:, expert_idx] = trees[:, expert_idx]
    else:
        alone, both = head.copy(), head.copy()
        alone[:, expert_idx], both[:, expert_idx] = held_out_sums(head, trees, data, expert_idx, fold)
        shared, share = with_share(alone, both, data, fold)
        log_odds[:, expert_idx] = shared[:, expert_idx]
        of_each = share * own_weights(weights.with_trees, head, trees, data, expert_idx)
        of_each += (1 - share) * weights.head_alone
    stack = ExpertTrees(grove.columns, forest, expert_idx, of_each, weights.without_trees)
    held_out = Scores.from_probabilities(classes.class_proba, sigmoid(log_odds))

    def learn() -> TeamScorer:
        team = with_shrunk_heads(classes.scorer, data, classes.class_proba, chosen=chosen, plan=heads.plan)
        return replace(team, trees=stack)

    return learn, held_out


@dataclass(frozen=True, eq=False)
class _HeldOutHeads:
    """Out-of-fold log-odds (n, J) of heads, and what these heads are."""

    log_odds: FloatArray
    plan: HeadPlan


def _held_out_heads(classes: ClassModel, data: TrainingData, fold: IntArray, plain: PlainHeads) -> _HeldOutHeads:
    """Return the heads: simple ones, or those that read all features.

    Heads that read more must be better than simpler ones by more than two standard errors of the log loss. Heads given
    the class have a share by how much better they are: skill by class needs few answers, as the classes of past items
    are known.
    """
    best: _HeldOutHeads | None = None
    for reads in _SIMPLE_FIRST if len(plain.chosen) < _FEW_ANSWERS else _MANY_ANSWERS_READ:
        heads = _heads_that_read(reads, classes, data, fold, plain)
        if best is None or _clearly_better(heads.log_odds, best.log_odds, data):
            best = heads
    assert best is not None
    return best


def _heads_that_read(
    reads: HeadsRead, classes: ClassModel, data: TrainingData, fold: IntArray, plain: PlainHeads
) -> _HeldOutHeads:
    chosen = plain.chosen
    lesson = HeadLesson.of(classes.scorer, data, classes.class_proba, reads=reads)
    # Beside other features, class heads were no better on tables with many answers, and took most of the time.
    by_class = reads == "nothing" and 1 < data.n_classes <= MOST_CLASSES
    plan, log_odds = HeadPlan(reads, prior=plain.prior), plain.log_odds
    if reads != "nothing":
        plan = HeadPlan(reads, prior=_population_of_many(lesson, chosen))
        log_odds = lesson.log_odds(fold, chosen, plan.prior)
    elif by_class and len(chosen) >= _FEW_ANSWERS:
        plan = replace(plan, class_prior=lesson.class_population(chosen))
    if not by_class:
        return _HeldOutHeads(log_odds, plan)
    of_class = lesson.class_log_odds(fold, chosen, shared=plan.class_prior is not None)
    log_odds, share = with_share(log_odds, of_class, data, fold)
    return _HeldOutHeads(log_odds, replace(plan, class_share=share))


def _population_of_many(lesson: HeadLesson, chosen: IntArray) -> HeadPrior | None:
    """Return the population that all folds share where there are many answers, which is quick; None for few."""
    return lesson.population(chosen) if len(chosen) >= _FEW_ANSWERS else None


def _clearly_better(log_odds: FloatArray, simpler: FloatArray, data: TrainingData) -> bool:
    """Return whether log-odds (n, J) have a log loss that is lower by two standard errors than that of simpler ones."""
    difference = answer_log_loss(simpler, data) - answer_log_loss(log_odds, data)
    difference *= data.weight_of_answers()
    return bool(difference.mean() > _CLEARLY * difference.std() / np.sqrt(len(difference)))


def _few_of_each(data: TrainingData) -> IntArray:
    """Return which answers the heads learn from: at most 2,000 of each expert, drawn at random."""
    return np.sort(
        np.concatenate([answers[sample_rows(len(answers), _MOST_HEAD_ANSWERS)] for answers in data.by_expert()])
    )
