"""Learn expected scores and prices: one regression of all experts on categories, numbers, texts and likeness."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.splits import sample_rows
from defero.data.recipes.columns import CategoricalColumn, NumericColumn
from defero.data.recipes.recipe import FeatureRecipe
from defero.learn.prior import scaling
from defero.learn.regression import Spreads, Sums, fit_spreads, solve
from defero.learn.scores import Landmarks, LearnedPrices, ScoreScorer

MOST_COLUMNS, DIRECTIONS = 400, 256
"""Up to so many numbers are read one by one; of more, so many main directions."""
MOST_LANDMARKS, ITEMS_PER_LANDMARK, FEWEST_LANDMARKS = 256, 16, 8
LANDMARK_WIDTH = 0.3
"""Of the mean squared distance of two items. Width and number were chosen on `llm_routing_9`."""
ENOUGH_GAIN = 0.5
"""Standard errors by which landmarks must lower the squared error of items held out."""
_ROWS_FOR_LANDMARKS, _ROUNDS_OF_LANDMARKS = 5_000, 10


@dataclass(frozen=True, eq=False)
class ScoreColumns:
    """How the regression reads d features.

    Attributes
    ----------
    categories : pairs (start, stop)
        The 0/1 columns of each categorical column.
    others : (c,) int
        All other columns: they enter as (x - center) * scale.
    center, scale : (c,)
        Numbers get a variance of 1, the directions of a text 1 on average: its main ones stay the main ones.
    block : (c,) int
        Texts and numbers have spreads of their own.
    axes : (c, r), optional
        Main directions, where there are very many columns.
    """

    categories: tuple[tuple[int, int], ...]
    others: IntArray
    center: FloatArray
    scale: FloatArray
    block: IntArray
    axes: FloatArray | None = None

    @classmethod
    def of(cls, features: FloatArray, recipe: FeatureRecipe | None = None) -> "ScoreColumns":
        """Take features (n, d) apart as the recipe made them; without one every column is a number."""
        d = features.shape[1]
        blocks = [] if recipe is None else list(recipe.blocks())
        categories = tuple((first, last) for column, first, last in blocks if isinstance(column, CategoricalColumn))
        center, spread = scaling(features)
        kind = np.zeros(d, dtype=np.int64)
        for column, first, last in blocks:
            if not isinstance(column, CategoricalColumn | NumericColumn):
                spread[first:last] = np.sqrt((features[:, first:last].var(axis=0)).mean()) or 1.0
                kind[first:last] = kind.max() + 1
        taken = {place for first, last in categories for place in range(first, last)}
        others = np.array([place for place in range(d) if place not in taken], dtype=np.int64)
        columns = cls(categories, others, center[others], 1.0 / spread[others], kind[others])
        if len(others) <= MOST_COLUMNS:
            return columns
        rows = columns.standard(features[sample_rows(len(features), _ROWS_FOR_LANDMARKS)])
        axes = np.linalg.svd(rows, full_matrices=False)[2][:DIRECTIONS].T
        return cls(categories, others, center[others], columns.scale, np.zeros(axes.shape[1], np.int64), axes)

    def standard(self, features: FloatArray) -> FloatArray:
        """Return what is read of the other columns, scaled, (n, c)."""
        return (features[:, self.others] - self.center) * self.scale

    @cached_property
    def one_hot(self) -> IntArray:
        """The columns of all categories."""
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(first, last) for first, last in self.categories)])

    @cached_property
    def places(self) -> list[IntArray]:
        """Where the columns of each category stand in the design."""
        first, places = 1 + len(self.block), []
        for start, stop in self.categories:
            places.append(np.arange(first, first + stop - start))
            first += stop - start
        return places

    def design(self, features: FloatArray, landmarks: Landmarks | None = None) -> tuple[FloatArray, IntArray]:
        """Return the columns of the regression (n, p), and their blocks (p,).

        A constant, the other columns, the categories, the likeness to landmarks.
        """
        standard = self.standard(features)
        parts = [
            np.ones((len(features), 1)),
            standard if self.axes is None else standard @ self.axes,
            *(features[:, first:last] for first, last in self.categories),
            *(() if landmarks is None else (landmarks.likeness(features),)),
        ]
        kinds = [np.zeros(1, np.int64), np.unique(self.block, return_inverse=True)[1] + 1]
        for part in parts[2:]:
            kinds.append(np.full(part.shape[1], max(int(kind.max(initial=0)) for kind in kinds) + 1))
        return np.hstack(parts), np.concatenate(kinds)

    def unfolded(self, weights: FloatArray, n_features: int) -> tuple[FloatArray, FloatArray]:
        """Return weights (p, J) of the design as weights (d + m, J) of features and likeness, and an intercept (J,)."""
        r = len(self.block)
        own = weights[1 : r + 1] if self.axes is None else self.axes @ weights[1 : r + 1]
        own = own * self.scale[:, None]
        n_levels = len(self.one_hot)
        of_features = np.zeros((n_features, weights.shape[1]))
        of_features[self.others], of_features[self.one_hot] = own, weights[r + 1 : r + 1 + n_levels]
        return np.vstack([of_features, weights[r + 1 + n_levels :]]), weights[0] - self.center @ own

    def landmarks(self, features: FloatArray) -> Landmarks | None:
        """Return centers of past items, (n, d), in the other columns; None where items or columns are too few."""
        m = min(MOST_LANDMARKS, len(features) // ITEMS_PER_LANDMARK)
        if m < FEWEST_LANDMARKS or not len(self.others):
            return None
        rows = self.standard(features[sample_rows(len(features), _ROWS_FOR_LANDMARKS)])
        points = _centers(rows, rows[sample_rows(len(rows), m)])
        width = LANDMARK_WIDTH * 2.0 * float(rows.var(axis=0).sum())
        return Landmarks(self.others, self.center, self.scale, points, width) if width > 0 else None


def _centers(rows: FloatArray, points: FloatArray) -> FloatArray:
    """Move each point to the mean of the rows that are nearest to it, a few times (k-means)."""
    for _ in range(_ROUNDS_OF_LANDMARKS):
        nearest = ((points**2).sum(axis=1) - 2.0 * rows @ points.T).argmin(axis=1)
        counts = np.bincount(nearest, minlength=len(points))[:, None]
        totals = np.stack([np.bincount(nearest, column, minlength=len(points)) for column in rows.T], axis=1)
        points = np.where(counts > 0, totals / np.maximum(counts, 1), points)
    return points


@dataclass(frozen=True, eq=False)
class ScoreFit:
    """What was learned of scores.

    Attributes
    ----------
    scorer : ScoreScorer
    held_out : (n, J)
        Expected scores of each fold, learned from the other folds; from all items where there is one fold.
    """

    scorer: ScoreScorer
    held_out: FloatArray


def fit_scores(features: FloatArray, scores: FloatArray, *, columns: ScoreColumns, fold: IntArray) -> ScoreFit:
    """Learn everybody's expected score.

    The likeness to landmarks is read where it lowers the squared error of items held out. Where the category of an item
    is not known, what the category says of items with such other columns stands for it.

    Parameters
    ----------
    features : (n, d)
    scores : (n, J)
        In [0, 1], or marks corrected for a judge's errors, which may lie outside; NaN where there is none. Who has none
        is expected to be like the population.
    columns : ScoreColumns
    fold : (n,) int
        Items that belong together are in the same fold.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(400, 1))
    >>> scores = (rng.random((400, 2)) < np.where(x > 0, [0.9, 0.5], [0.3, 0.5])).astype(float)
    >>> fit = fit_scores(x, scores, columns=ScoreColumns.of(x), fold=np.arange(400) % 5)
    >>> fit.scorer.predict(np.array([[-1.5], [1.5]])).argmax(axis=1).tolist()
    [1, 0]
    """
    landmarks = columns.landmarks(features)
    design, block = columns.design(features, landmarks)
    if landmarks is not None and not _landmarks_pay(design, block, scores, columns, fold):
        landmarks = None
        design, block = columns.design(features)
    sums = Sums.of(design, scores)
    spreads, held_out = _held_out(design, scores, sums, block, fold)
    weights = solve(sums, spreads)
    of_features, intercept = columns.unfolded(weights, features.shape[1])
    scorer = ScoreScorer(of_features, intercept, landmarks, columns.categories)
    if columns.categories and len(columns.others):
        effects = _instead(design, block, scores, weights, columns)
        instead = np.stack([np.vstack(columns.unfolded(one, features.shape[1])) for one in effects])
        scorer = replace(scorer, instead=instead)
    return ScoreFit(scorer, np.clip(held_out, 0.0, 1.0))


def _held_out(
    design: FloatArray, scores: FloatArray, sums: Sums, block: IntArray, fold: IntArray
) -> tuple[Spreads, FloatArray]:
    """Return the variances, and the expected scores (n, J) of each fold from the other folds, if there are others."""
    spreads = fit_spreads(sums, block)
    folds, expected = np.unique(fold), np.empty(scores.shape)
    for f in folds:
        out = fold == f
        rest = sums.without(design[out], scores[out]) if len(folds) > 1 else sums
        expected[out] = design[out] @ solve(rest, spreads)
    return spreads, expected


def _landmarks_pay(
    design: FloatArray, block: IntArray, scores: FloatArray, columns: ScoreColumns, fold: IntArray
) -> bool:
    """Return whether items held out are predicted better with the likeness; categories are left aside."""
    others, loss = np.setdiff1d(np.arange(len(block)), np.concatenate([[-1], *columns.places])), []
    for some in (others, others[others <= len(columns.block)]):
        sums = Sums.of(design[:, some], scores)
        _, expected = _held_out(design[:, some], scores, sums, _numbered(block[some]), fold)
        loss.append(np.nansum((scores - expected) ** 2, axis=1))
    gain = loss[1] - loss[0]
    return bool(gain.mean() > ENOUGH_GAIN * gain.std() / np.sqrt(len(gain)))


def _numbered(block: IntArray) -> IntArray:
    return np.unique(block, return_inverse=True)[1].astype(np.int64)


def _instead(
    design: FloatArray, block: IntArray, scores: FloatArray, weights: FloatArray, columns: ScoreColumns
) -> list[FloatArray]:
    """Return for each categorical column what the other columns tell of its effect, (p, J).

    What the regression leaves over without the column is learned from the others: with the noise of the scores, so that
    little is believed where they say little.
    """
    places = columns.places
    others = np.setdiff1d(np.arange(len(block)), np.concatenate(places))
    rest = scores - design @ weights
    effects = [design[:, place] @ weights[place] for place in places]
    of_all = Sums.of(design[:, others], rest + np.sum(effects, axis=0))
    spreads = fit_spreads(of_all, _numbered(block[others]))
    learned = []
    for effect in effects:
        sums = of_all if len(effects) == 1 else Sums.of(design[:, others], rest + effect)
        whole = np.zeros(weights.shape)
        whole[others] = solve(sums, spreads)
        learned.append(whole)
    return learned


def fit_prices(features: FloatArray, prices: FloatArray | None, *, columns: ScoreColumns) -> LearnedPrices | None:
    """Return what a call of each expert is expected to cost; None where no price is known.

    Parameters
    ----------
    features : (n, d)
    prices : (n, J), optional
        NaN where unknown. A price that never changes stays as it is.
    columns : ScoreColumns
    """
    priced = np.zeros((0, 0), dtype=np.bool_) if prices is None else np.isfinite(prices)
    if prices is None or not priced.any():
        return None
    known = np.asarray(priced.any(axis=0))
    low = np.where(priced, prices, np.inf).min(axis=0)
    high = np.where(priced, prices, -np.inf).max(axis=0)
    weights, intercept = np.zeros((features.shape[1], prices.shape[1])), np.where(known & (low == high), low, 0.0)
    varying = np.flatnonzero(known & (low < high))
    if varying.size:
        unit = high[varying]  # above low, which is at least 0
        design, block = columns.design(features)
        sums = Sums.of(design, prices[:, varying] / unit)
        own, offset = columns.unfolded(solve(sums, fit_spreads(sums, block)), features.shape[1])
        weights[:, varying], intercept[varying] = own * unit, offset * unit
    return LearnedPrices(weights, intercept, known)


PRIOR_SCORES = 50.0
"""The map of those chosen starts at the identity with the weight of so many scores."""


def chosen_map(expected: FloatArray, scores: FloatArray) -> tuple[float, float]:
    """Return (a, b): the expected score of the one with the highest is a + b s, as the held-out scores say.

    >>> chosen_map(np.array([[0.9, 0.1]] * 500), np.tile([[1.0, 0.0], [0.0, 0.0]], (250, 1)))[0] < 0
    True
    """
    if expected.shape[1] < 2:
        return 0.0, 1.0
    best, rows = expected.argmax(axis=1), np.arange(len(expected))
    value, score = expected[rows, best], scores[rows, best]
    value, score = value[np.isfinite(score)], score[np.isfinite(score)]
    if not len(value):
        return 0.0, 1.0
    away, gap = value - value.mean(), score - value
    spread = float((away**2).sum())
    slope = 1.0 + float(away @ gap) / (spread + PRIOR_SCORES * max(spread / len(value), 1e-6))
    slope = max(slope, 0.0)  # a higher expectation never means less
    return float(gap.sum() / (len(value) + PRIOR_SCORES) + value.mean() * (1.0 - slope)), slope


def score_covariance(expected: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the covariance (J, J) of the scores around their expectations, pair by pair where both are known.

    Who has no score is the average of the others, with a variance of at least their mean.

    >>> score_covariance(np.full((2, 3), 0.5), np.array([[0.0, 0.0, np.nan], [1.0, 1.0, np.nan]])).tolist()
    [[0.25, 0.25, 0.25], [0.25, 0.25, 0.25], [0.25, 0.25, 0.25]]
    """
    has = np.isfinite(scores)
    gap = np.where(has, scores - expected, 0.0)[:, has.any(axis=0)]
    both = has[:, has.any(axis=0)].astype(np.float64)
    covariance = gap.T @ gap / np.maximum(both.T @ both, 1.0)
    covariance[np.diag_indices_from(covariance)] = np.maximum(np.diag(covariance), 1e-4)
    learned = np.asarray(has.any(axis=0))
    mix = np.empty((len(covariance), len(learned)))
    mix[:, learned], mix[:, ~learned] = np.eye(len(covariance)), 1.0 / max(len(covariance), 1)
    spread = mix.T @ covariance @ mix
    new = np.flatnonzero(~learned)
    if len(covariance):
        spread[new, new] = np.maximum(spread[new, new], np.diag(covariance).mean())
    return spread
