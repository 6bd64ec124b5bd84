"""The columns that trees look at: one for each raw column, and oblique directions where there are few numbers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.data.recipes.columns import CategoricalColumn, NumericColumn
from defero.data.recipes.recipe import FeatureRecipe
from defero.estimators.training_data import TrainingData
from defero.scorers.trees import TreeColumns

_FEW_NUMBERS = 4
"""Up to this many numbers, trees split along oblique directions too."""
_BAGS = 4


def columns_of(recipe: FeatureRecipe) -> TreeColumns:
    """Return the columns of trees for a recipe: a category and a number with gaps are one column each."""
    categories, numbers, missing, start = [], [], [], 0
    for column in recipe.columns:
        stop = start + len(column.outputs)
        if isinstance(column, CategoricalColumn):
            categories.append((start, stop))
        elif isinstance(column, NumericColumn):
            numbers.append(start)
            missing.append(start + 1 if column.missing and column.varies else -1)
        else:
            numbers += range(start, stop)
            missing += [-1] * (stop - start)
        start = stop
    return TreeColumns.of(start, categories=categories, numbers=numbers, missing=missing)


@dataclass(frozen=True, eq=False)
class Grove:
    """The columns of the training items, and which of them each of several forests looks at.

    Attributes
    ----------
    columns : TreeColumns
    matrix : (n, c)
    bags : index arrays
        One forest for each; their mean is used.
    """

    columns: TreeColumns
    matrix: FloatArray
    bags: tuple[IntArray, ...]

    @classmethod
    def of(cls, data: TrainingData) -> "Grove":
        """Make the columns; two to four numbers are also looked at along random directions, in four bags."""
        columns = TreeColumns.of(data.features.shape[1]) if data.columns is None else data.columns
        m, n_categories = len(columns.numbers), len(columns.categories)
        plain = np.arange(n_categories + m)
        bags: tuple[IntArray, ...] = (plain,)
        if 1 < m <= _FEW_NUMBERS:
            columns = columns.rotated(data.features, np.hstack(list(_rotations(m))))
            bags = tuple(np.append(plain, n_categories + m + m * bag + np.arange(m)) for bag in range(_BAGS))
        return cls(columns, columns.of_matrix(data.features), bags)


def _rotations(m: int) -> Iterator[FloatArray]:
    """Yield a rotation (m, m) for each bag; the first of two numbers is by 45 degrees."""
    rng = np.random.default_rng(0)
    for bag in range(_BAGS):
        if m == 2:
            angle = np.pi / 4 if bag == 0 else rng.uniform(0, np.pi / 2)
            yield np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        else:
            yield np.linalg.qr(rng.normal(size=(m, m)))[0]
