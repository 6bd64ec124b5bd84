"""What a team reads: a matrix, a table, one record, or texts; and the check of features that somebody chose."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.checks.arrays import FloatArray, float_matrix
from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import count_of, join_names, list_in_words
from defero.data.recipes.columns import ODD, CategoricalColumn, learn_categories
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import (
    column_kind,
    is_blank,
    number_of,
    numbers,
    quote_cell,
    row_number,
    says_none,
    texts,
)


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


MOST_OFFERED = 3
"""So many values are offered to be read as blank."""

FEW_CELLS = 0.01
"""Up to this share of the cells, and always one, are slips among numbers; more of them make a column of codes."""


@dataclass(frozen=True)
class OddCells:
    """Cells that are no numbers in a column of numbers: the first one, and how many cells have each value."""

    place: int
    counts: Mapping[str, int]

    @property
    def count(self) -> int:
        """How many cells there are."""
        return sum(self.counts.values())

    @property
    def probably_blank(self) -> tuple[str, ...]:
        """Values that probably mean that there is no number: words for it, and what stands in several cells."""
        return tuple(value for value, count in self.counts.items() if count > 1 or says_none(value))

    def clause(self, row: int) -> str:
        """Return the clause of a message: the values with the number of their cells, and what to do about them.

        >>> from defero.core.errors import Message
        >>> odd = odd_cells(["1", "n/a", "2", "n/a", "<1", "3", "4"])
        >>> print(Message(odd.clause(3)))  # doctest: +ELLIPSIS
        'n/a' (2 cells) and '<1' (1 cell) are not numbers, first in row 3; correct them, or leave ... blank=['n/a']
        """
        shown = [f"{quote_cell(value)} ({count_of(count, 'cell')})" for value, count in self.counts.items()]
        verb, them = ("is not a number", "it") if self.count == 1 else ("are not numbers", "them")
        offered = Argument("blank", list(self.probably_blank[:MOST_OFFERED]))
        return (
            f"{list_in_words(shown, most=4)} {verb}, first in row {row}; correct {them}, or leave {them} blank if the "
            f"number is unknown{f', or pass {offered}' if offered.value else ''}"
        )


def odd_cells(column: Any) -> OddCells | None:
    """Return the cells that are no numbers in a column of numbers; None in any other column.

    >>> odd_cells(["1.5", None, "12,50", "3", "4"])
    OddCells(place=2, counts={'12,50': 1})
    >>> odd_cells(["a", "b", "3"]), odd_cells([1.0, 2.0])
    (None, None)
    """
    if column_kind(column) != "text":
        return None
    levels = Counter(cell for cell in texts(column) if cell is not None)
    words = {level: count for level, count in levels.items() if number_of(level) is None}
    if not 0 < len(words) < ODD * len(levels):
        return None
    return OddCells(int(np.flatnonzero(numbers(column)[1])[0]), words)


def refuse_unused(
    learn: Any, frame: Any, names: Sequence[str], *, source: str, first_row: int, max_categories: int = 20
) -> None:
    """Raise where a column that the user chose cannot be used; a blank or constant one may stay.

    A column of numbers with a few other cells raises as well where reading it as categories would join most numbers.

    Parameters
    ----------
    learn : DataFrame
        The rows to learn from: they decide how a column is read.
    frame : DataFrame
        All rows, in which the first cell that is no number is searched.
    names : columns
        Those chosen, without the text columns.
    source, first_row : str, int
        What a message calls the table, and its first row.
    """
    for name in names:
        kind = column_kind(learn[name])
        if kind in {"number", "empty"}:
            continue
        cells = texts(learn[name])
        if kind == "text":
            column = learn_categories(name, cells, max_categories=max_categories)
            if len(set(cells)) == 1 or (isinstance(column, CategoricalColumn) and not _slips(column, frame[name])):
                continue
            reason = column if isinstance(column, str) else ""
        else:
            reason = "dates are not used" if kind == "date" else "its cells are neither numbers nor text"
        raise TableError(_refusal(frame, name, reason, source=source, first_row=first_row))


def _slips(learned: CategoricalColumn, column: Any) -> bool:
    """Return whether a few cells turn a column of numbers into more categories than get a column."""
    odd = odd_cells(column) if learned.other else None
    return odd is not None and odd.count <= max(1, FEW_CELLS * len(column))


def _refusal(frame: Any, name: str, reason: str, *, source: str, first_row: int) -> str:
    odd = odd_cells(frame[name])
    if odd is not None:
        codes = "" if reason else ", or write the numbers with a letter if they are codes"
        clause = odd.clause(row_number(frame, odd.place, first_row=first_row))
        return f"{source}: column {name} is named as a feature: {clause}{codes}."
    cells = np.asarray(frame[name]).astype(object).tolist()
    place = next(row for row, cell in enumerate(cells) if not is_blank(cell))
    row = row_number(frame, place, first_row=first_row)
    return (
        f"{source}: row {row}, column {name}: got {quote_cell(cells[place])}; the column is named as a feature and "
        f"cannot be one: {reason}."
    )


class NumberedColumns:
    """An (n, d) array as a frame: its columns are called "column 0", "column 1", ...

    Examples
    --------
    >>> table = NumberedColumns([[1.0, float("nan")], [2.0, 5.0]])
    >>> table.columns, table["column 1"].tolist(), len(table)
    (('column 0', 'column 1'), [nan, 5.0], 2)
    """

    def __init__(self, X: ArrayLike) -> None:
        self.matrix: FloatArray = float_matrix("X", X, gaps=True)
        self.columns = tuple(f"column {place}" for place in range(self.matrix.shape[1]))

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, name: str) -> FloatArray:
        return self.matrix[:, self.columns.index(name)]
