"""PoolData: what the learners of a pool see."""

from dataclasses import dataclass, replace

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.data.recipes.columns import CategoricalColumn, NumericColumn
from defero.data.recipes.recipe import FeatureRecipe
from defero.estimators.tables.tree_columns import columns_of
from defero.scorers.trees import TreeColumns


@dataclass(frozen=True, eq=False)
class PoolData:
    """Items with the scores of a pool's members.

    Attributes
    ----------
    features : (n, d)
    scores : (n, J)
        NaN where a member has none; corrected scores may lie outside [0, 1].
    fold : (n,) int
        Which of `N_FOLDS` parts an item is in; items that belong together are in the same.
    categories : pairs (start, stop)
        Blocks of 0/1 columns, one for each categorical column.
    others : (c,) int
        All other columns.
    scale : (c,)
        What these are multiplied by once they are centered: numbers have a variance of 1, and those of a text 1 on
        average, so that its main directions stay the main ones.
    tree_columns : TreeColumns
    has_texts : bool
        Whether some columns are directions of texts.
    """

    features: FloatArray
    scores: FloatArray
    fold: IntArray
    categories: tuple[tuple[int, int], ...]
    others: IntArray
    scale: FloatArray
    tree_columns: TreeColumns
    has_texts: bool = False

    @classmethod
    def of(cls, features: FloatArray, scores: FloatArray, fold: IntArray, recipe: FeatureRecipe | None) -> "PoolData":
        """Take the features apart as the recipe made them; without one every column is a number."""
        d = features.shape[1]
        categories, texts, start = [], [], 0
        for column in () if recipe is None else recipe.columns:
            stop = start + len(column.outputs)
            if isinstance(column, CategoricalColumn):
                categories.append((start, stop))
            elif not isinstance(column, NumericColumn):
                texts.append((start, stop))
            start = stop
        taken = {place for first, last in categories for place in range(first, last)}
        others = np.array([place for place in range(d) if place not in taken], dtype=np.int64)
        spread = features.std(axis=0)
        for first, last in texts:
            spread[first:last] = np.sqrt((spread[first:last] ** 2).mean())
        scale = np.where(spread > 1e-12, 1.0 / np.maximum(spread, 1e-12), 0.0)
        columns = TreeColumns.of(d) if recipe is None else columns_of(recipe)
        return cls(features, scores, fold, tuple(categories), others, scale[others], columns, bool(texts))

    @property
    def n_members(self) -> int:
        """J."""
        return self.scores.shape[1]

    def of_members(self, chosen: BoolArray) -> "PoolData":
        """Return the same items with the scores of some members, `chosen` (J,)."""
        return self if chosen.all() else replace(self, scores=self.scores[:, chosen])

    def take(self, rows: IntArray) -> "PoolData":
        """Return some of the items."""
        return PoolData(
            self.features[rows],
            self.scores[rows],
            self.fold[rows],
            self.categories,
            self.others,
            self.scale,
            self.tree_columns,
            self.has_texts,
        )
