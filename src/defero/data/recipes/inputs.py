"""What a team reads: a matrix, a table, one record, or texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.errors import InputError
from defero.core.wording import join_names
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import is_blank


class ItemColumns:
    """Columns by name, as a recipe reads them; a single value stands for one row.

    >>> rows = ItemColumns({"task": "maths", "words": 12})
    >>> rows.columns, rows["task"], len(rows)
    (['task', 'words'], ['maths'], 1)
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        single = all(isinstance(value, str) or np.ndim(value) == 0 for value in columns.values())
        self._values = {str(name): [value] if single else list(value) for name, value in columns.items()}
        self.columns = list(self._values)
        lengths = {len(value) for value in self._values.values()}
        if len(lengths) > 1:
            raise InputError("must have columns of the same length.", argument="X")

    def __getitem__(self, name: str) -> list[Any]:
        return self._values[name]

    def __len__(self) -> int:
        return len(next(iter(self._values.values()), []))


def input_columns(X: Any, recipe: FeatureRecipe | None) -> Any:
    """Return what tells items apart: the columns that the recipe reads, or the matrix."""
    if recipe is None:
        return as_matrix(X).astype(np.float64)
    table = as_table(X, recipe)
    return ItemColumns({name: list(table[name]) for name in recipe.inputs})


def as_matrix(X: Any) -> NDArray[Any]:
    """Return numbers (n, d) as float32 or float64; (d,) is one row."""
    try:
        matrix = np.asarray(X)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers of shape (n, d), or a table: {error}.", argument="X") from error
    if matrix.ndim == 1:
        matrix = matrix[None, :]
    if matrix.ndim != 2:
        raise InputError(f"must be numbers of shape (n, d), got {matrix.shape}.", argument="X")
    return matrix


def as_table(X: Any, recipe: FeatureRecipe | None = None) -> Any:
    """Return a table with named columns: a frame as it is, a record, or texts under the only column of a recipe."""
    if hasattr(X, "columns"):
        return _with_text_names(X)
    if isinstance(X, Mapping):
        return ItemColumns(X)
    texts = texts_in(X)
    if recipe is not None and texts is not None:
        if len(recipe.inputs) != 1:
            raise InputError(
                f"must have the columns {join_names(recipe.inputs)}; pass a table or {{column: value}}.", argument="X"
            )
        return ItemColumns({recipe.inputs[0]: texts})
    if recipe is None:
        return X
    raise InputError(f"must be a table with the columns {join_names(recipe.inputs)}, as in fit.", argument="X")


def _with_text_names(frame: Any) -> Any:
    """Return a frame whose columns are named by texts: those of a matrix of embeddings are integers."""
    names = list(frame.columns)
    if all(isinstance(name, str) for name in names):
        return frame
    named = [str(name) for name in names]
    twice = [name for name in named if named.count(name) > 1]
    if twice:
        raise InputError(f"has two columns that are named {twice[0]}; rename one of them.", argument="X")
    return frame.set_axis(named, axis=1)


def texts_in(X: Any) -> list[str | None] | None:
    """Return the texts of a text, a list, a Series or an array of texts, None for blank ones; None for anything else.

    >>> texts_in("a poem"), texts_in(np.array(["a", "b"])), texts_in(["a", None]), texts_in([1.0])
    (['a poem'], ['a', 'b'], ['a', None], None)
    """
    if isinstance(X, str):
        return [X]
    if not (isinstance(X, Sequence) or np.ndim(X) == 1) or isinstance(X, Mapping):
        return None
    given = X.tolist() if isinstance(X, np.ndarray) else X  # plain texts, not numpy's
    cells = [None if np.ndim(cell) == 0 and is_blank(cell) else cell for cell in given]
    texts = [cell for cell in cells if isinstance(cell, str)]
    return cells if texts and len(texts) == len(cells) - cells.count(None) else None
