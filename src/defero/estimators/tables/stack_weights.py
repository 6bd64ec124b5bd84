"""How models of P(expert is right) are weighed against each other, by answers that they did not see."""

from typing import NamedTuple

import numpy as np

from defero.calibration.sequences import fit_logistic
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.scores import sigmoid
from defero.estimators.expert_heads import with_mean_one
from defero.estimators.training_data import TrainingData

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
