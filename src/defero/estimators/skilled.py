"""Learn the team of a table: the classes, everybody's skill by class, and the law of their answers."""

from dataclasses import dataclass, replace

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.labels import MISSING
from defero.core.law import Law
from defero.core.order import in_order_of_appearance
from defero.core.scores import Scores
from defero.core.splits import sample_rows
from defero.estimators.training_data import TrainingData
from defero.learn.boost import Bins
from defero.learn.classes import TreeColumns, Trees, oblique
from defero.learn.fit_classes import Labelled, fit_classes
from defero.learn.fit_skill import SkillAnswers, grow_expert_trees
from defero.learn.heads import Heads
from defero.learn.law import KnownAnswers, find_copies, fit_law, gain_of_several
from defero.learn.scorer import SkillScorer, hidden_units
from defero.learn.selection import HeldOut
from defero.learn.skill import Directions, Skill
from defero.scorers import Scorer

MOST_ITEMS = 100_000
"""So many items, drawn at random, are learned from."""
_ENOUGH_HELD_OUT = 50_000
_AT_ONCE = 2_000_000
FEW_ANSWERS = 60_000
"""Up to so many answers, all folds are held out; of more, one."""


@dataclass(frozen=True, eq=False)
class SkilledTeam:
    """A scorer, the law of the answers, and what was said of training items by models that did not see them.

    Attributes
    ----------
    scorer : Scorer
    law : Law
    net : str
        What the classes are learned by.
    n_items, n_all : int
        How many items were learned from, and how many there are.
    rows : (r,) int
        Which training items are held out below.
    held_out : HeldOut
    """

    scorer: Scorer
    law: Law
    net: str
    n_items: int
    n_all: int
    rows: IntArray
    held_out: HeldOut

    def sentence(self) -> str:
        """Say what the classes were learned by."""
        sampled = ""
        if self.n_items < self.n_all:
            sampled = f" Learned from {self.n_items:,} of {self.n_all:,} cases, drawn at random."
        return f"Model of the classes: {self.net}.{sampled}"


def learn_table(data: TrainingData) -> SkilledTeam:
    """Learn the classes and the experts of a table."""
    n_all = len(data.label_idx)
    rows = sample_rows(n_all, MOST_ITEMS)
    part = (data if len(rows) == n_all else data.take(rows)).with_mean_weight()
    fold = fold_of_items(part, rng=np.random.default_rng(0), n_folds=n_folds(len(rows), len(part.item_idx)))
    columns = TreeColumns.of(part.features.shape[1]) if part.columns is None else part.columns
    columns = oblique(columns, part.features)
    bins = Bins(columns.of_matrix(part.features), len(columns.categories)) if columns.n_columns else None
    labelled = Labelled(part.features, part.label_idx, part.weight, part.n_classes, part.summed)
    classes, class_proba = fit_classes(labelled, columns, bins, fold)
    learned = with_skill(classes, class_proba, part, fold, columns=columns, bins=bins)
    return replace(learned, net=classes.net, n_all=n_all, rows=rows[learned.rows])


def with_skill(
    base: Scorer,
    class_proba: FloatArray,
    data: TrainingData,
    fold: IntArray,
    *,
    columns: TreeColumns | None = None,
    bins: Bins | None = None,
) -> SkilledTeam:
    """Learn everybody's skill and the law of their answers, beside a model of the classes.

    Parameters
    ----------
    base : Scorer with J = 0
    class_proba : (n, K)
        P(y = k | x) by models that did not see the item.
    data : TrainingData
    fold : (n,) int
    columns, bins : TreeColumns, Bins, optional
        What trees look at; without them none are grown.
    """
    n_items, law = len(fold), Law.independent(data.n_classes)
    if not data.n_experts:
        rows = _judged_rows(data, np.arange(n_items))
        held = _held_out(data, rows, fold, class_proba[rows], np.empty((len(rows), 0)))
        return SkilledTeam(base, law, "", n_items, n_items, rows, held)
    directions = Directions.fit(data.features)
    answers = SkillAnswers(
        directions.of(data.features),
        class_proba,
        data.label_idx,
        data.item_idx,
        data.expert_idx,
        data.right,
        data.weight_of_answers(),
        data.n_experts,
    )
    skill = Skill(directions, answers.heads(np.flatnonzero(answers.weight > 0)), data.n_classes)
    of_folds = answers.by_fold(fold)
    skills = [replace(skill, heads=heads) for heads in of_folds]
    log_odds = answers.held_out(fold, of_folds)
    # Of many answers one fold tells enough of what trees add.
    judged = list(range(len(skills))) if len(answers.item_idx) <= FEW_ANSWERS else [0]
    grown = None if bins is None or columns is None else grow_expert_trees(answers, log_odds, bins, fold, judged)
    if grown is None or columns is None:
        judged = list(range(len(skills)))
    else:
        skill = replace(skill, tree_experts=grown.experts, trees=Trees(columns, grown.forest))
        forests = zip(judged, grown.by_fold, strict=True)
        skills = [replace(skill, heads=of_folds[k], trees=Trees(columns, forest)) for k, forest in forests]
    rows = _judged_rows(data, np.flatnonzero(np.isin(fold, judged)))
    order = np.arange(data.n_experts)
    raw = np.empty((len(rows), data.n_experts))
    chosen = _answers_of(data, rows)
    right = np.empty((len(chosen), data.n_classes))
    for one, k in zip(skills, judged, strict=True):
        inside = np.flatnonzero(fold[rows] == k)
        scorer = SkillScorer(base, one, 0, order)
        step = max(1, _AT_ONCE // (data.n_experts * data.n_classes))
        for start in range(0, len(inside), step):
            some = inside[start : start + step]
            raw[some] = scorer.raw_of(data.features[rows[some]], class_proba[rows[some]])
        cells = np.flatnonzero(fold[data.item_idx[chosen]] == k)
        mine = chosen[cells]
        right[cells] = one.of_answers(data.features, class_proba, data.item_idx[mine], data.expert_idx[mine])
    known = KnownAnswers(
        class_proba,
        data.label_idx,
        data.item_idx[chosen],
        data.expert_idx[chosen],
        data.triplets.codes[chosen],
        right,
    ).of_items(rows)
    law = fit_law(known, copies=find_copies(known, data.n_experts))
    held = _held_out(data, rows, fold, class_proba[rows], raw)
    held = replace(held, several=gain_of_several(known, law))
    return SkilledTeam(SkillScorer(base, skill, 0, order), law, "", n_items, n_items, rows, held)


def _judged_rows(data: TrainingData, rows: IntArray) -> IntArray:
    """Return some of these items, without those of weight 0, which are as if they were absent."""
    rows = rows[sample_rows(len(rows), _ENOUGH_HELD_OUT)]
    return rows[data.weight[rows] > 0]


def _answers_of(data: TrainingData, rows: IntArray) -> IntArray:
    """Return which of the m answers are to these items and count."""
    inside = np.zeros(len(data.label_idx), dtype=np.bool_)
    inside[rows] = True
    return np.flatnonzero(inside[data.item_idx] & (data.weight_of_answers() > 0))


def _held_out(data: TrainingData, rows: IntArray, fold: IntArray, class_proba: FloatArray, raw: FloatArray) -> HeldOut:
    answer_idx, label_idx = data.answers[rows].dense(), data.label_idx[rows]
    weight = data.weight[rows] / data.weight[rows].mean() if data.weighted and len(rows) else None
    scores = Scores.computed(class_proba, class_proba.max(axis=1, initial=0.0), raw, "logit")
    correct, observed = answer_idx == label_idx[:, None], answer_idx != MISSING
    return HeldOut(scores, label_idx, correct, observed, fold[rows], weight)


def fold_of_items(data: TrainingData, *, rng: np.random.Generator, n_folds: int = 5) -> IntArray:
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


def n_folds(n_items: int, n_answers: int) -> int:
    """Return how many folds are used: fewer where a part tells as much as the whole."""
    size = max(n_items, n_answers / 4)
    return 5 if size <= 10_000 else 3


_ENOUGH_FOR_POPULATION = 5_000


def with_population(base: Scorer, data: TrainingData) -> SkillScorer:
    """Return a scorer with the base's outputs for its experts, and a population for experts who are added later.

    The population is learned from at most 5,000 answers. It does not use the class probabilities, which are too
    confident on the training items.
    """
    chosen = sample_rows(len(data.item_idx), _ENOUGH_FOR_POPULATION)
    items, place = np.unique(data.item_idx[chosen], return_inverse=True)
    features = data.features[items]
    hidden = hidden_units(base, features)
    read = features if hidden is None else np.column_stack([features, hidden])
    return population_of(base, data, chosen, items=items, place=place, read=read)


def population_of(
    base: Scorer, data: TrainingData, chosen: IntArray, *, items: IntArray, place: IntArray, read: FloatArray
) -> SkillScorer:
    """Return a scorer with the base's outputs, and the population of the chosen answers (a,).

    Their items (i,) are rows `place` (a,) of the features (i, d) that are read.
    """
    directions = Directions.fit(read)
    label_idx = data.label_idx[items]
    even = np.full((len(items), data.n_classes), 1.0 / data.n_classes)
    answers = SkillAnswers(
        directions.of(read),
        even,
        label_idx,
        place,
        data.expert_idx[chosen],
        data.right[chosen],
        data.weight_of_answers()[chosen],
        data.n_experts,
    )
    skill = Skill(
        directions, Heads.none(answers.population(np.arange(len(chosen)))), data.n_classes, reads_belief=False
    )
    return SkillScorer(base, skill, n_own=data.n_experts, order=np.arange(data.n_experts))
