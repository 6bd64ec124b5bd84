"""Learners of expected scores by name: each fits parts whose sum is the expected score."""

from collections.abc import Callable

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.registry import Registry
from defero.estimators.pool.pool_data import PoolData
from defero.estimators.pool.residual_ridge import fit_ridge
from defero.estimators.pool.table_of_means import fit_table
from defero.estimators.tables.boosting import boost, size_for_answers
from defero.heads import Lens, fit_heads
from defero.pools.models import HeadsPart, NeighboursPart, Part, TargetRange, TreesPart
from defero.scorers.forest import join_forests

MOST_ROWS = 8_000
"""More rows than this are not remembered: of larger pools a random part."""
NEIGHBOURS = (20, 50, 100, 200)
_SHRINK = 5.0
_ROWS_TO_COMPARE = 1_000

Learner = Callable[[PoolData], list[Part]]


def learn_table(data: PoolData) -> list[Part]:
    """Fit the shrunk table of means by category; without categories each member's mean."""
    return [fit_table(data.features, data.scores, data.categories)]


def learn_ridge(data: PoolData) -> list[Part]:
    """Fit the table, and a ridge regression to what it leaves over."""
    table = fit_table(data.features, data.scores, data.categories)
    rest = data.scores - table.predict(data.features)
    return [table, fit_ridge(data.features, rest, data.fold, data.others, data.scale)]


def learn_neighbours(data: PoolData) -> list[Part]:
    """Fit the table, and the nearest neighbours' mean of what it leaves over; without other columns the table."""
    table = fit_table(data.features, data.scores, data.categories)
    if not len(data.others) or len(data.features) < 2:
        return [table]
    rest = data.scores - table.predict(data.features)
    rows = np.arange(len(rest))
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(rows), MOST_ROWS, replace=False))
    center = data.features[:, data.others].mean(axis=0)
    k = _best_k(data, rest, rows, center)
    return [table, _neighbours(data, rest, rows, center, k)]


def _neighbours(data: PoolData, rest: FloatArray, rows: IntArray, center: FloatArray, k: int) -> NeighboursPart:
    points = (data.features[rows][:, data.others] - center) * data.scale
    return NeighboursPart(
        data.others,
        center,
        data.scale,
        points.astype(np.float32),
        rest[rows].astype(np.float32),
        min(k, len(rows)),
        _SHRINK,
        data.features.shape[1],
    )


def _best_k(data: PoolData, rest: FloatArray, rows: IntArray, center: FloatArray) -> int:
    """Return the number of neighbours with the least squared error on one part, from the rows of the others."""
    held = data.fold[rows] == data.fold.max()
    memory, query = rows[~held], rows[held][:_ROWS_TO_COMPARE]
    if not len(memory) or not len(query):
        return NEIGHBOURS[1]
    losses = {}
    for k in NEIGHBOURS:
        part = _neighbours(data, rest, memory, center, k)
        losses[k] = float(np.nanmean((rest[query] - part.predict(data.features[query])) ** 2))
    return min(losses, key=lambda one: losses[one])


def learn_trees(data: PoolData) -> list[Part]:
    """Boost trees for each member; a score z between 0 and 1 counts as z right and 1 - z wrong."""
    columns = data.tree_columns.of_matrix(data.features)
    forests, target_range = [], TargetRange.of(data.scores)
    for column in target_range.shares(data.scores).T:
        rows = np.flatnonzero(np.isfinite(column))
        item, right, weight = _right_or_wrong(rows, column[rows])
        forests.append(
            boost(
                columns[item],
                right,
                weight,
                size_for_answers(len(rows)),
                n_targets=2,
                n_categories=len(data.tree_columns.categories),
                bags=(np.arange(columns.shape[1]),),
            )
        )
    return [TreesPart(data.tree_columns, join_forests(forests), target_range)]


def learn_heads(data: PoolData) -> list[Part]:
    """Fit logistic heads that are shrunk toward the average member: for members with few scores."""
    lens = Lens.fit(data.features, reads_classes=False)
    phi = lens.transform(data.features, np.empty((len(data.features), 0)))
    row, member = np.nonzero(np.isfinite(data.scores))
    target_range = TargetRange.of(data.scores)
    shares = target_range.shares(data.scores[row, member])
    place, right, weight = _right_or_wrong(np.arange(len(row)), shares)
    heads = fit_heads(
        phi,
        row[place],
        member[place],
        right.astype(np.bool_),
        n_experts=data.n_members,
        weight=weight,
        groups=lens.groups(data.features, n_classes=2),
    )
    return [HeadsPart(lens, heads, target_range)]


def _right_or_wrong(rows: IntArray, shares: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Return rows, right or wrong, and weights: a share between 0 and 1 stands twice."""
    item = np.concatenate([rows, rows])
    right = np.repeat([1, 0], len(rows))
    weight = np.concatenate([shares, 1.0 - shares])
    used = weight > 0
    return item[used], right[used], weight[used]


LEARNERS: Registry[Learner] = Registry("model", group="defero.pool_learners")
for _name, _learner in {
    "table": learn_table,
    "ridge": learn_ridge,
    "knn": learn_neighbours,
    "trees": learn_trees,
    "heads": learn_heads,
}.items():
    LEARNERS.register(_name, _learner)
