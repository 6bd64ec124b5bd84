"""What the learners of a pool see: the table as features, and the scores of the members."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.data.recipes.columns import CategoricalColumn, NumericColumn
from defero.data.recipes.inputs import as_table, texts_in
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import TextColumn, learn_words
from defero.data.recipes.text_encoder import TextEncoder
from defero.data.tables.cells import texts
from defero.estimators.training_data import columns_of
from defero.learn.classes import TreeColumns

DIRECTIONS = 64
MOST_WORDS = 5_000
MOST_CATEGORIES = 200
_DIGITS = 6


def pool_table(
    X: Any, *, text: str | Sequence[str] | None, encoder: TextEncoder | None = None
) -> tuple[Any, FeatureRecipe | None]:
    """Return the table and its recipe; None for numbers. Texts are a table with the column `text`."""
    lines = texts_in(X)
    if lines is not None:
        X, text = pd.DataFrame({"text": lines}), "text"
    if encoder is not None and not text:
        raise InputError("reads columns of text; name them with ", Argument("text"), ".", argument="text_encoder")
    table = as_table(X)
    if not hasattr(table, "columns"):
        return table, None
    if not isinstance(table, pd.DataFrame):
        table = pd.DataFrame({name: table[name] for name in table.columns})
    named = [text] if isinstance(text, str) else list(text or [])
    # Words of a text get their directions below: here the column must only be known as a text.
    recipe = FeatureRecipe.learn(table, text=named, encoder=encoder, max_categories=MOST_CATEGORIES)
    columns = tuple(
        with_directions(column, texts(table[column.name])) if isinstance(column, TextColumn) else column
        for column in recipe.columns
    )
    return table, replace(recipe, columns=columns)


def with_directions(column: TextColumn, cells: list[str | None]) -> TextColumn:
    """Return the column of text with slopes: the main directions of its TF-IDF matrix (latent semantic analysis)."""
    smaller = learn_words(column.name, cells, max_words=MOST_WORDS)
    assert isinstance(smaller, TextColumn)
    matrix = csr_array(smaller.features(cells))
    n_directions = min(DIRECTIONS, *(size - 1 for size in matrix.shape))
    if n_directions < 1:
        slopes = np.ones((len(smaller.words), 1))
    else:
        slopes = TruncatedSVD(n_directions, random_state=0).fit(matrix).components_.T
    rounded = tuple(tuple(row) for row in slopes.round(_DIGITS).tolist())
    blanks = any(cell is None for cell in cells)
    return replace(smaller, slopes=rounded, bias=(0.0,) * slopes.shape[1], missing=blanks)


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
        columns = TreeColumns.of(d) if recipe is None else columns_of(recipe)
        blocks = () if recipe is None else recipe.blocks()
        texts = [place for column, *place in blocks if not isinstance(column, CategoricalColumn | NumericColumn)]
        taken = {place for first, last in columns.categories for place in range(first, last)}
        others = np.array([place for place in range(d) if place not in taken], dtype=np.int64)
        spread = features.std(axis=0)
        for first, last in texts:
            spread[first:last] = np.sqrt((spread[first:last] ** 2).mean())
        scale = np.where(spread > 1e-12, 1.0 / np.maximum(spread, 1e-12), 0.0)
        return cls(features, scores, fold, columns.categories, others, scale[others], columns, bool(texts))

    @property
    def n_members(self) -> int:
        """J."""
        return self.scores.shape[1]

    def of_members(self, chosen: BoolArray) -> "PoolData":
        """Return the same items with the scores of some members, `chosen` (J,)."""
        return self if chosen.all() else replace(self, scores=self.scores[:, chosen])

    def take(self, rows: IntArray) -> "PoolData":
        """Return some of the items."""
        return replace(self, features=self.features[rows], scores=self.scores[rows], fold=self.fold[rows])
