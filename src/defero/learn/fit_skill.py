"""Learn everybody's skill from their answers: the population, each one's weights, and trees where answers are many."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.splits import sample_rows
from defero.learn.boost import Bins, TreeSize
from defero.learn.forest import Forest, join_forests
from defero.learn.heads import Heads, fit_heads
from defero.learn.prior import HeadPrior, fit_prior, usual_spread
from defero.learn.skill import blocks, with_class

USUAL_OF_CLASS = 0.4
"""How far experts are expected to differ in a class, as log-odds, before any answer is seen."""
_ENOUGH_FOR_POPULATION = 20_000


@dataclass(frozen=True, eq=False)
class SkillAnswers:
    """What a skill is learned from.

    Attributes
    ----------
    inputs : (n, r)
        What `Directions` shows of the items.
    class_proba : (n, K)
        Out of fold: on its own training rows a model is surer than elsewhere.
    label_idx : (n,)
    item_idx, expert_idx : (m,) int
    right : (m,) in [0, 1]
    weight : (m,)
    n_experts : int
    """

    inputs: FloatArray
    class_proba: FloatArray
    label_idx: IntArray
    item_idx: IntArray
    expert_idx: IntArray
    right: BoolArray
    weight: FloatArray
    n_experts: int

    def heads(self, chosen: IntArray, prior: HeadPrior | None = None) -> Heads:
        """Fit everybody's weights to some of the answers."""
        prior = self.population(chosen) if prior is None else prior
        answers = self.item_idx[chosen], self.expert_idx[chosen], self.right[chosen]
        return fit_heads(self._phi, *answers, prior=prior, n_experts=self.n_experts, weight=self._weight(chosen))

    def population(self, chosen: IntArray) -> HeadPrior:
        """Return the population of the experts, learned from at most 20,000 of these answers."""
        some = chosen[sample_rows(len(chosen), _ENOUGH_FOR_POPULATION)]
        answers = self.item_idx[some], self.expert_idx[some], self.right[some]
        groups = blocks(self.inputs.shape[1], n_classes=self.class_proba.shape[1])
        usual = usual_spread(groups)
        usual[groups == 1] = USUAL_OF_CLASS  # one of them is on
        weight = self._weight(some)
        return fit_prior(self._phi, *answers, groups=groups, n_experts=self.n_experts, weight=weight, usual=usual)

    @cached_property
    def _phi(self) -> FloatArray:
        return with_class(self.inputs, self.class_proba, self.label_idx)

    def _weight(self, chosen: IntArray) -> FloatArray:
        """Return weights with mean 1 over the answers that count."""
        weight = self.weight[chosen]
        total = float(weight.sum())
        return weight * (np.count_nonzero(weight) / total) if total > 0 else weight

    def by_fold(self, fold: IntArray) -> list[Heads]:
        """Return everybody's weights by the answers outside of each fold."""
        of_answer = fold[self.item_idx]
        used = self.weight > 0
        return [self.heads(np.flatnonzero(used & (of_answer != k))) for k in range(int(fold.max()) + 1)]

    def held_out(self, fold: IntArray, by_fold: Sequence[Heads]) -> FloatArray:
        """Return the log-odds of each answer for every class, (m, K), by weights that did not see its item."""
        n_classes, of_answer = self.class_proba.shape[1], fold[self.item_idx]
        log_odds = np.empty((len(self.item_idx), n_classes))
        for k, heads in enumerate(by_fold):
            inside = np.flatnonzero(of_answer == k)
            by_expert = inside[np.argsort(self.expert_idx[inside], kind="stable")]
            for cells in np.split(by_expert, np.flatnonzero(np.diff(self.expert_idx[by_expert])) + 1):
                if len(cells):
                    one, rows = heads.take([int(self.expert_idx[cells[0]])]), self.item_idx[cells]
                    for label in range(n_classes):
                        phi = with_class(self.inputs[rows], self.class_proba[rows], np.full(len(rows), label))
                        log_odds[cells, label] = one.log_odds(phi)[:, 0]
        return log_odds


ENOUGH_FOR_TREES = 100
"""Answers below which an expert gets no trees."""
TEAM_ANSWERS = 400.0
"""The team's mean loss counts like so many answers where the number of an expert's trees is chosen."""
STAGES = np.array([0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0])


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """Trees that are added to everybody's log-odds.

    Attributes
    ----------
    experts : (o,) int
        Who has some.
    forest : Forest
        One output for each of them, of all answers.
    by_fold : list of Forest
        The same of the answers outside of each fold that was judged.
    """

    experts: IntArray
    forest: Forest
    by_fold: list[Forest]


def grow_expert_trees(
    answers: SkillAnswers, held_out: FloatArray, bins: Bins, fold: IntArray, judged: Sequence[int]
) -> GrownTrees | None:
    """Grow trees for experts with many answers; None where nobody's are better than none.

    Everybody's trees start from their own held-out log-odds. How many of them stay is what has the least log loss on
    the folds that are judged, of the expert's own answers and, as 400 more, of everybody's: few answers choose with the
    team. None stay where that is no better than none by more than a standard error.

    Parameters
    ----------
    answers : SkillAnswers
    held_out : (m, K)
        As `SkillAnswers.held_out` gives it.
    bins : Bins
        Of the same items.
    fold : (n,) int
    judged : folds
    """
    counts = np.bincount(answers.expert_idx[answers.weight > 0], minlength=answers.n_experts)
    whose = np.flatnonzero(counts >= ENOUGH_FOR_TREES)
    if not len(whose):
        return None
    start = held_out[np.arange(len(held_out)), answers.label_idx[answers.item_idx]]
    target, of_answer = answers.right.astype(np.float64), fold[answers.item_idx]

    def grow(some: IntArray, size: TreeSize) -> Forest:
        weight = None if (answers.weight[some] == 1).all() else answers.weight[some]
        return bins.boost(answers.item_idx[some], target[some], weight, size, start=start[some])

    # An answer of weight 0 is as if it were absent.
    cells = [np.flatnonzero((answers.expert_idx == j) & (answers.weight > 0)) for j in whose]
    sizes = [size_for_answers(len(one)) for one in cells]
    losses, squares, tried = [], [], []
    for mine, size in zip(cells, sizes, strict=True):
        loss, square, forests = np.zeros(len(STAGES)), np.zeros(len(STAGES)), []
        for k in judged:
            rest, inside = mine[of_answer[mine] != k], mine[of_answer[mine] == k]
            forests.append(grow(rest, size) if len(rest) else bins.nothing())
            z = start[inside] + forests[-1].stages(bins.matrix[answers.item_idx[inside]], STAGES)
            of_answers = (np.logaddexp(0.0, z) - target[inside] * z) * answers.weight[inside]
            loss += of_answers.sum(axis=1)
            square += ((of_answers - of_answers[0]) ** 2).sum(axis=1)
        losses.append(loss)
        squares.append(square)
        tried.append(forests)
    n_judged = np.isin(of_answer, judged) & np.isin(answers.expert_idx, whose)
    share = TEAM_ANSWERS / max(float(answers.weight[n_judged].sum()), 1.0)
    of_team, square_of_team = share * np.sum(losses, axis=0), share**2 * np.sum(squares, axis=0)
    stages = [_stage(loss + of_team, square + square_of_team) for loss, square in zip(losses, squares, strict=True)]
    grown = [place for place, stage in enumerate(stages) if stage]
    if not grown:
        return None
    shares = {place: float(STAGES[stages[place]]) for place in grown}
    by_fold = [join_forests([tried[place][k].first(shares[place]) for place in grown]) for k in range(len(judged))]
    forests = [grow(cells[place], sizes[place].share(shares[place])) for place in grown]
    return GrownTrees(whose[grown], join_forests(forests), by_fold)


def _stage(loss: FloatArray, square: FloatArray) -> int:
    """Return the stage with the least loss (s,), or the first where that is within a standard error of it."""
    best = int(loss.argmin())
    return best if loss[0] - loss[best] > np.sqrt(square[best]) else 0


def size_for_answers(n_answers: int) -> TreeSize:
    """Return the size of the trees for an expert with so many answers."""
    if n_answers < 400:
        return TreeSize(60, 4, 20)
    return TreeSize(160, 8, 20 if n_answers < 4_000 else 40, learning_rate=0.08)
