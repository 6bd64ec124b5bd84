"""Learners of expected scores by name: each fits parts whose sum is the expected score; and expected prices."""

from collections.abc import Callable

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.registry import Registry
from defero.estimators.pool.pool_data import PoolData
from defero.learn.boost import Bins
from defero.learn.fit_skill import size_for_answers
from defero.learn.forest import join_forests
from defero.learn.heads import fit_heads
from defero.learn.skill import Directions
from defero.pools.models import HeadsPart, LinearPart, NeighboursPart, Part, TargetRange, TreesPart

LEVEL_SHRINK = 5.0
"""A member's own mean counts as n / (n + 5), the rest is the pool's."""
_MOST_SHRINK = 1e6


def fit_table(features: FloatArray, scores: FloatArray, categories: tuple[tuple[int, int], ...]) -> LinearPart:
    """Return each member's mean, and what each level of each category adds to it.

    The mean of a cell (level, member) is shrunk twice, each time by as much as empirical Bayes says: what a level adds
    to all members (some tasks are hard for everybody) toward 0, and what it adds to one member toward that. Several
    categories add up, each fitted to what those before it leave over.

    Parameters
    ----------
    features : (n, d)
    scores : (n, J), NaN where there is none
    categories : pairs (start, stop) of 0/1 columns
    """
    scored = np.isfinite(scores)
    filled = np.where(scored, scores, 0.0)
    n = scored.sum(axis=0)
    everybody = filled.sum() / max(scored.sum(), 1)
    intercept = (filled.sum(axis=0) + LEVEL_SHRINK * everybody) / (n + LEVEL_SHRINK)
    weights = np.zeros((features.shape[1], scores.shape[1]))
    rest = np.where(scored, scores - intercept, 0.0)
    for start, stop in categories:
        block = features[:, start:stop]
        counts = scored.sum(axis=1)
        common = np.divide(rest.sum(axis=1), counts, out=np.zeros(len(rest)), where=counts > 0)
        for_all = _shrunk_means(block, common[:, None], (counts > 0)[:, None])
        own = _shrunk_means(block, np.where(scored, rest - block @ for_all, 0.0), scored)
        weights[start:stop] = for_all + own
        rest = np.where(scored, rest - block @ weights[start:stop], 0.0)
    return LinearPart(weights, intercept)


def _shrunk_means(block: FloatArray, values: FloatArray, scored: BoolArray) -> FloatArray:
    """Return the shrunk mean of each level, (levels, J), of values (n, J) that are 0 where they are not seen.

    sum / (count + kappa), kappa = variance within levels / variance between them, both pooled over the columns.
    """
    count = block.T @ scored
    mean = np.divide(block.T @ values, count, out=np.zeros(count.shape), where=count > 0)
    inside = np.where(scored, values - block @ mean, 0.0)
    freedom = max(float(count.sum() - (count > 0).sum()), 1.0)
    within = float((inside**2).sum()) / freedom
    cells = count > 1
    if not cells.any() or within == 0:
        return mean if within == 0 else np.zeros(count.shape)
    # E[mean^2] = between + within / count, cell by cell.
    between = float(np.mean(mean[cells] ** 2 - within / count[cells]))
    kappa = min(within / between, _MOST_SHRINK) if between > 0 else _MOST_SHRINK
    return mean * count / (count + kappa)


PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Times the number of items; beside them the infinite penalty, no regression at all."""


def fit_ridge(
    features: FloatArray, rest: FloatArray, fold: IntArray, columns: IntArray, scale: FloatArray
) -> LinearPart:
    """Return the regression of each member's rest on some columns.

    Parameters
    ----------
    features : (n, d)
    rest : (n, J), NaN where there is none
    fold : (n,) int
        Parts for the choice of the penalty, one for all members.
    columns : (c,) int
    scale : (c,)
        Columns are centered and multiplied by it.
    """
    d, n_members = features.shape[1], rest.shape[1]
    nothing = LinearPart(np.zeros((d, n_members)), np.zeros(n_members))
    if not len(columns) or not len(features):
        return nothing
    center = features[:, columns].mean(axis=0)
    design = (features[:, columns] - center) * scale
    products = _Products(design, rest, fold)
    penalty = products.best_penalty()
    if penalty is None:
        return nothing
    slopes = products.solve(None, [penalty])[0]
    weights = np.zeros((d, n_members))
    weights[columns] = slopes * scale[:, None]
    return LinearPart(weights, -center @ weights[columns])


class _Products:
    """Sums of squares and products by part and by mask of members: every penalty and every part from one pass."""

    def __init__(self, design: FloatArray, rest: FloatArray, fold: IntArray) -> None:
        self.design, self.fold = design, fold
        self.seen = np.isfinite(rest)
        self.rest = np.where(self.seen, rest, 0.0)
        self.folds = np.unique(fold)
        same = bool((self.seen == self.seen[:, :1]).all())
        # Members with the same gaps share their products.
        self.members = [np.arange(rest.shape[1])] if same else [np.array([j]) for j in range(rest.shape[1])]
        self.gram = [[self._gram(fold == f, group[0]) for f in self.folds] for group in self.members]
        self.cross = [design[fold == f].T @ self.rest[fold == f] for f in self.folds]

    def _gram(self, rows: FloatArray, member: int) -> tuple[FloatArray, int]:
        part = self.design[rows & self.seen[:, member]]
        return part.T @ part, len(part)

    def solve(self, left_out: int | None, penalties: list[float]) -> list[FloatArray]:
        """Return the slopes (c, J) for each penalty, without one of the parts."""
        stay = [place for place in range(len(self.folds)) if place != left_out]
        cross = sum((self.cross[place] for place in stay), np.zeros(self.cross[0].shape))
        slopes = [np.zeros(cross.shape) for _ in penalties]
        for group, grams in zip(self.members, self.gram, strict=True):
            gram = sum((grams[place][0] for place in stay), np.zeros(grams[0][0].shape))
            n = max(sum(grams[place][1] for place in stay), 1)
            values, vectors = np.linalg.eigh(gram)
            turned = vectors.T @ cross[:, group]
            for slope, penalty in zip(slopes, penalties, strict=True):
                slope[:, group] = vectors @ (turned / (np.maximum(values, 0.0) + penalty * n)[:, None])
        return slopes

    def best_penalty(self) -> float | None:
        """Return the penalty with the least squared error on parts left out; None where no regression is best."""
        if len(self.folds) < 2:
            return None
        loss = np.zeros(len(PENALTIES) + 1)
        for place, f in enumerate(self.folds):
            rows = self.fold == f
            loss[-1] += (self.rest[rows] ** 2).sum()
            for k, slopes in enumerate(self.solve(place, list(PENALTIES))):
                gap = np.where(self.seen[rows], self.rest[rows] - self.design[rows] @ slopes, 0.0)
                loss[k] += (gap**2).sum()
        best = int(loss.argmin())
        return None if best == len(PENALTIES) else PENALTIES[best]


MOST_ROWS = 8_000
"""More rows than this are not remembered: of larger pools a random part."""
NEIGHBOURS = (20, 50, 100, 200)
_SHRINK = 5.0
_ROWS_TO_COMPARE = 1_000

Learner = Callable[[PoolData], list[Part]]


def learn_table(data: PoolData) -> list[Part]:
    """Fit the shrunk table of means by category; without categories each member's mean."""
    return [fit_table(data.features, data.scores, data.categories)]


def _table_and_rest(data: PoolData) -> tuple[LinearPart, FloatArray]:
    table = fit_table(data.features, data.scores, data.categories)
    return table, data.scores - table.predict(data.features)


def learn_ridge(data: PoolData) -> list[Part]:
    """Fit the table, and a ridge regression to what it leaves over."""
    table, rest = _table_and_rest(data)
    return [table, fit_ridge(data.features, rest, data.fold, data.others, data.scale)]


def learn_neighbours(data: PoolData) -> list[Part]:
    """Fit the table, and the nearest neighbours' mean of what it leaves over; without other columns the table."""
    table, rest = _table_and_rest(data)
    if not len(data.others) or len(data.features) < 2:
        return [table]
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
    """Boost trees for each member."""
    bins = Bins(data.tree_columns.of_matrix(data.features), len(data.tree_columns.categories))
    forests, target_range = [], TargetRange.of(data.scores)
    for column in target_range.shares(data.scores).T:
        rows = np.flatnonzero(np.isfinite(column))
        forests.append(bins.boost(rows, column[rows], None, size_for_answers(len(rows))))
    return [TreesPart(data.tree_columns, join_forests(forests), target_range)]


def learn_heads(data: PoolData) -> list[Part]:
    """Fit logistic heads that are shrunk toward the average member: for members with few scores."""
    directions = Directions.fit(data.features)
    phi = directions.of(data.features)
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
        groups=np.zeros(phi.shape[1], dtype=np.int64),
    )
    return [HeadsPart(directions, heads, target_range)]


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


def fit_prices(data: PoolData, prices: FloatArray | None) -> tuple[LinearPart | None, BoolArray]:
    """Return the model of prices and which members have one; a price that never changes is kept as it is.

    Parameters
    ----------
    data : PoolData
    prices : (n, J), optional
        NaN where unknown.
    """
    if prices is None:
        return None, np.zeros(data.n_members, dtype=np.bool_)
    priced = np.isfinite(prices)
    known: BoolArray = np.asarray(priced.any(axis=0))
    if not known.any():
        return None, known
    low = np.where(priced, prices, np.inf).min(axis=0)
    high = np.where(priced, prices, -np.inf).max(axis=0)
    fixed = known & (low == high)
    weights, intercept = np.zeros((data.features.shape[1], data.n_members)), np.zeros(data.n_members)
    intercept[fixed] = low[fixed]
    varying = np.flatnonzero(known & ~fixed)
    if varying.size:
        unit = high[varying]  # above low, which is at least 0
        relative = prices[:, varying] / unit
        table = fit_table(data.features, relative, data.categories)
        ridge = fit_ridge(data.features, relative - table.predict(data.features), data.fold, data.others, data.scale)
        weights[:, varying] = (table.weights + ridge.weights) * unit
        intercept[varying] = (table.intercept + ridge.intercept) * unit
    return LinearPart(weights, intercept), known
