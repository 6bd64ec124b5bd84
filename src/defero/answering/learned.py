"""What features predict beyond straight lines: columns from cross-fitted boosting, squares and products."""

from itertools import combinations

import numpy as np
from scipy.special import ndtri

from defero.answering.inputs import MOST_SPREADS, WhoAnswered, leading_directions, standardised
from defero.core.checks.arrays import FloatArray, IntArray

FOLDS, N_TREES, N_LEAVES, LEAF_SIZE, RATE = 3, 40, 8, 20, 0.15
"""Of the boosting: small trees, for hundreds of items in a tenth of a second."""
FEWEST_ITEMS = 100
"""Of fewer items trees learn nothing."""
MOST_TRAINED = 20_000
"""A boosted model is fitted on at most so many items."""
MOST_BOOSTED = 64
"""Wider features are boosted on so many leading directions."""
MOST_TARGETS = 4
"""How many classes are boosted, the most frequent ones; and the number of answers of each item."""
MOST_MULTIPLIED = 40
"""Up to so many features all products of two and three are looked at."""
MOST_SCREENED = 4_000
"""On at most so many items."""
MOST_SHAPES = 12
"""How many squares, and how many products, are taken."""
RISK = 0.05


def learned_columns(who: WhoAnswered, features: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Return columns that predict the classes and how many answers an item got, (n, c); none where nothing is learned.

    An item's prediction comes from trees that were fitted on other items (three folds). Squares, and products of two
    and three features, which small trees miss where no feature says anything alone, are taken if their correlation
    with a class or with the number of answers is beyond chance for all of them together.

    Parameters
    ----------
    who : WhoAnswered of n items
    features : (n, d)
    rng : numpy Generator
        Draws the folds.
    """
    scaled = standardised(features)
    if who.n_items < FEWEST_ITEMS or not scaled.size:
        return np.empty((who.n_items, 0))
    frequent = np.argsort(-who.per_class, kind="stable")[: MOST_TARGETS if np.count_nonzero(who.per_class) > 2 else 1]
    targets = standardised(np.column_stack([who.label_idx[:, None] == frequent, who.per_item]).astype(np.float64))
    if not targets.size:  # one class, and as many answers for every item
        return np.empty((who.n_items, 0))
    return standardised(np.column_stack([_boosted(scaled, targets, rng=rng), _shapes(scaled, targets, rng=rng)]))


def _boosted(features: FloatArray, targets: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Return out-of-fold predictions of each target by gradient boosting, (n, t)."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    inputs = features if features.shape[1] <= MOST_BOOSTED else leading_directions(features, MOST_BOOSTED)
    fold = rng.permutation(len(inputs)) % FOLDS
    predicted = np.empty(targets.shape)
    for number in range(FOLDS):
        others = np.flatnonzero(fold != number)
        others = others if len(others) <= MOST_TRAINED else rng.choice(others, MOST_TRAINED, replace=False)
        for column, target in enumerate(targets.T):
            trees = HistGradientBoostingRegressor(
                max_iter=N_TREES,
                max_leaf_nodes=N_LEAVES,
                min_samples_leaf=LEAF_SIZE,
                learning_rate=RATE,
                l2_regularization=1.0,
                max_bins=64,
                early_stopping=False,
            )
            predicted[fold == number, column] = trees.fit(inputs[others], target[others]).predict(
                inputs[fold == number]
            )
    return predicted


def _shapes(scaled: FloatArray, targets: FloatArray, *, rng: np.random.Generator) -> FloatArray:
    """Return squares, and products of two and three features, that are correlated with a target, (n, c).

    Screened by signs: far from the median or not, and the product of the sides of the median. A chosen shape comes as
    that sign and as a number.
    """
    n_items, d = scaled.shape
    some = rng.permutation(n_items)[:MOST_SCREENED]
    bounded = np.clip(scaled, -MOST_SPREADS, MOST_SPREADS)
    far = np.abs(scaled - np.median(scaled, axis=0))
    folded, sides = _sign(far), _sign(scaled)
    columns = [
        column
        for j in _beyond_chance(np.abs(folded[some].T @ targets[some]).max(axis=1), targets[some])
        for column in (folded[:, j], bounded[:, j] ** 2)
    ]
    if 2 <= d <= MOST_MULTIPLIED:
        columns += [
            side[:, members].prod(axis=1)
            for members in _products(sides[some], targets[some])
            for side in (sides, bounded)
        ]
    return np.column_stack(columns) if columns else np.empty((n_items, 0))


def _sign(values: FloatArray) -> FloatArray:
    """Return 1 above the median of a column and -1 elsewhere."""
    return np.where(values > np.median(values, axis=0), 1.0, -1.0)


def _products(sign: FloatArray, targets: FloatArray) -> list[IntArray]:
    """Return which features to multiply: products with the largest correlations, if these are beyond chance."""
    d = sign.shape[1]
    pairs = np.array(list(combinations(range(d), 2)))
    of_pairs = sign[:, pairs[:, 0]] * sign[:, pairs[:, 1]]
    # Each triple a < b < c once: a multiplies the pair (b, c).
    chosen_pairs = [(a, int(pair)) for a in range(d) for pair in np.flatnonzero(pairs[:, 0] > a)]
    triples = np.array(chosen_pairs, dtype=np.int64).reshape(-1, 2)
    of_triples = np.zeros(len(triples))
    for target in targets.T:
        size = np.abs((sign * target[:, None]).T @ of_pairs)
        of_triples = np.maximum(of_triples, size[triples[:, 0], triples[:, 1]])
    members = [*pairs, *(np.append(pairs[pair], a) for a, pair in triples)]
    sizes = np.concatenate([np.abs(of_pairs.T @ targets).max(axis=1), of_triples])
    return [members[place] for place in _beyond_chance(sizes, targets)]


def _beyond_chance(sizes: FloatArray, targets: FloatArray) -> IntArray:
    """Return the places of the largest sums of sign times target, at most `MOST_SHAPES`, if beyond chance for all."""
    n_items, n_targets = targets.shape
    least = -ndtri(RISK / 2 / len(sizes) / n_targets) * np.sqrt(n_items)
    best = np.argsort(-sizes, kind="stable")[:MOST_SHAPES]
    return best[sizes[best] > least]
