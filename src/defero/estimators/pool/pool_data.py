"""The table of a pool as features: texts in their main directions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from defero.core.errors import Argument, InputError
from defero.data.recipes.inputs import as_table, texts_in
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import TextColumn, learn_words
from defero.data.recipes.text_encoder import TextEncoder
from defero.data.tables.cells import texts

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
        raise InputError(f"reads columns of text; name them with {Argument('text')}.", argument="text_encoder")
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
