"""FeatureRecipe: how raw columns become a matrix of numbers, learned from the training rows alone.

Frames are anything with `.columns`, `frame[name]` and `len(frame)`; numpy alone is needed, so that a saved model
can prepare its input without pandas.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.codec import Within
from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import did_you_mean, join_names
from defero.data.recipes.columns import (
    CategoricalColumn,
    Column,
    NumericColumn,
    bad_numbers,
    checked_numbers,
    learn_categories,
    learn_numbers,
)
from defero.data.recipes.text_column import BLANK, TextColumn, TextNumbers, Texts, learn_words
from defero.data.recipes.text_encoder import EmbeddedColumn, TextEncoder, learn_embedded
from defero.data.recipes.text_vectors import VectorColumn
from defero.data.tables.bad_rows import BadCell
from defero.data.tables.cells import column_kind, column_names, no_such_column, numbers, texts


@dataclass(frozen=True)
class FeatureRecipe:
    """How raw columns become an (n, d) matrix of numbers without gaps.

    Numbers (int, float, bool; never numbers as text) keep their value, blanks become the training median. Text is
    one-hot, or weighted words (for deep nets a vector) in the columns named as `text`. Left out, with the reason in
    `dropped`: columns that are blank or the same in every training row, free text that nobody named, dates, and cells
    that are neither number nor text.

    Attributes
    ----------
    columns : tuple of NumericColumn, CategoricalColumn, TextColumn, VectorColumn and EmbeddedColumn
        Those in use, in the order of the training table.
    dropped : dict
        Column name to the reason why it is not used.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"age": [30, None, 50, 70], "site": ["a", "b", "a", "a"]})
    >>> recipe = FeatureRecipe.learn(train)
    >>> recipe.names
    ('age', 'age=missing', 'site=a', 'site=b')
    >>> recipe.apply(pd.DataFrame({"site": ["b", "c"], "age": [40.0, None]})).tolist()
    [[40.0, 0.0, 0.0, 1.0], [50.0, 1.0, 0.0, 0.0]]
    """

    kind: ClassVar[str] = "columns"
    columns: Annotated[tuple[Column, ...], Within(1)]
    dropped: Mapping[str, str]

    @classmethod
    def learn(
        cls,
        frame: Any,
        *,
        text: str | Sequence[str] | None = None,
        encoder: TextEncoder | None = None,
        reads_texts: bool = True,
        max_categories: int = 20,
        source: str = "table",
        first_row: int = 0,
    ) -> "FeatureRecipe":
        """Learn from the training rows what becomes of each column.

        Parameters
        ----------
        frame : DataFrame
            The raw feature columns of the training rows.
        text : str or list of str, optional
            Columns of free text.
        encoder : TextEncoder, optional
            Reads these columns; by default they are words weighted by TF-IDF.
        reads_texts : bool
            False only checks the table: the recipe then has no words, and is of no use.
        max_categories : int
            The most frequent levels of a column get a 0/1 column each, the rest share one (ties: in
            alphabetical order).
        source, first_row : str, int
            What a message calls the table, and its first row.
        """
        if max_categories < 1:
            raise InputError(f"must be at least 1, got {max_categories}.", argument="max_categories")
        if len(frame) == 0:
            raise TableError(f"{source}: has no rows to learn from.")
        columns: list[Column] = []
        dropped: dict[str, str] = {}
        keys = column_names(frame, source=source)
        as_text = _text_columns(text, keys, source=source)
        for name, column_key in keys.items():
            kind = column_kind(frame[column_key])
            column: Column | str
            if name in as_text:
                _check_text(name, kind, source=source)
                unread = BLANK if kind == "empty" else TextColumn(name, ("",), (1.0,))
                column = _learn_text(name, texts(frame[column_key]), encoder) if reads_texts else unread
            elif kind == "number":
                values = checked_numbers(frame, column_key, source=source, first_row=first_row)
                column = learn_numbers(name, values)
            elif kind == "text":
                column = learn_categories(name, texts(frame[column_key]), max_categories=max_categories)
            else:
                column = _REASONS[kind]
            if isinstance(column, str):
                dropped[name] = column
            else:
                columns.append(column)
        if not columns:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in dropped.items()) or "it has none"
            raise TableError(f"{source}: no column can be used as a feature ({reasons}).")
        return cls(tuple(columns), dropped)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the d columns of the matrix."""
        return tuple(name for column in self.columns for name in column.outputs)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the raw columns in use."""
        return tuple(column.name for column in self.columns)

    @property
    def n_inputs(self) -> int:
        """How many raw columns training had, those that are not used included."""
        return len(self.columns) + len(self.dropped)

    @property
    def categorical(self) -> tuple[str, ...]:
        """Names of the raw columns whose cells are read as text: categories and texts."""
        return tuple(column.name for column in self.columns if not isinstance(column, NumericColumn))

    @property
    def text(self) -> tuple[str, ...]:
        """Names of the raw columns that are read as weighted words or as vectors."""
        return tuple(column.name for column in self.columns if isinstance(column, TextNumbers))

    def blocks(self) -> Iterator[tuple[Column, int, int]]:
        """Yield each column, and the first and the last + 1 of its numbers in the matrix."""
        stop = 0
        for column in self.columns:
            start, stop = stop, stop + len(column.outputs)
            yield column, start, stop

    @property
    def embedded(self) -> tuple[EmbeddedColumn, ...]:
        """The columns that a text encoder reads."""
        return tuple(column for column in self.columns if isinstance(column, EmbeddedColumn))

    def with_encoder(self, encoder: TextEncoder) -> "FeatureRecipe":
        """Return the recipe with the encoder of its texts, which is not saved; raise if it is another one."""
        return replace(
            self,
            columns=tuple(
                column.with_source(encoder) if isinstance(column, EmbeddedColumn) else column for column in self.columns
            ),
        )

    def apply(self, frame: Any, *, source: str = "table", first_row: int = 0) -> FloatArray:
        """Return the (n, d) matrix of new rows: no NaN, no infinity, whatever the order of the columns.

        In a column of numbers a cell that is no number, or one larger than `LARGEST_NUMBER`, raises `TableError`, as
        does a missing column. A number far beyond the training range becomes the first unusual one, see `unusual`. A
        category never seen in training becomes `<name>=other`, or zeros where there is no such column. A blank text
        has no words.
        """
        keys = self._keys(frame, source=source)
        matrix = np.empty((len(frame), len(self.names)), order="F")  # filled, and read by trees, column by column
        for column, start, stop in self.blocks():
            if isinstance(column, NumericColumn):
                values = checked_numbers(frame, keys[column.name], source=source, first_row=first_row)
                matrix[:, start:stop] = column.encode(values)
            else:
                matrix[:, start:stop] = column.encode(texts(frame[keys[column.name]]))
        return matrix

    def bad_cells(self, frame: Any, *, source: str = "table", first_row: int = 0) -> list[BadCell]:
        """Return all cells for which `apply` would raise."""
        keys = self._keys(frame, source=source)
        columns = [column for column in self.columns if isinstance(column, NumericColumn)]
        return [bad for column in columns for bad in bad_numbers(frame, keys[column.name], first_row=first_row)]

    def extra(self, frame: Any) -> tuple[str, ...]:
        """Return the frame's columns that training did not have; they are ignored."""
        known = {*self.inputs, *self.dropped}
        return tuple(str(name) for name in frame.columns if str(name) not in known)

    def unusual(self, matrix: FloatArray) -> BoolArray:
        """Return, for rows of `apply` (n, d) and each of the `inputs`, what is far from all that training had.

        That is a number far beyond the training range (see `usual_bounds`), a category without a column of its own,
        and a text without a known word; a blank category or text too, if training had none.

        >>> import pandas as pd
        >>> recipe = FeatureRecipe.learn(pd.DataFrame({"age": [30, 50, 40], "site": ["a", "b", "a"]}))
        >>> recipe.unusual(recipe.apply(pd.DataFrame({"age": [51, 9999], "site": ["a", "c"]}))).tolist()
        [[False, False], [True, True]]
        """
        marks = np.zeros((len(matrix), len(self.columns)), dtype=np.bool_)
        plain: list[tuple[int, int, NumericColumn]] = []
        for place, (column, start, stop) in enumerate(self.blocks()):
            if isinstance(column, NumericColumn):
                plain += [(place, start, column)] * column.varies
            else:
                marks[:, place] = column.unusual(matrix[:, start:stop])
        if plain:  # all numbers at once: a column at a time reads the whole matrix for each
            places, outputs, columns = zip(*plain, strict=True)
            values = matrix if list(outputs) == list(range(matrix.shape[1])) else matrix[:, list(outputs)]
            low, high = (np.array([getattr(column, end) for column in columns]) for end in ("low", "high"))
            marks[:, list(places)] = (values <= low) | (values >= high)
        return marks

    def remarks(self, frame: Any) -> dict[str, int]:
        """Return remarks on new rows: what was filled in or is new, with the number of rows.

        In a column with `<name>=other` the rare levels are not remembered one by one and nothing counts as new; blank
        categories are remarked on where training had none.

        >>> import pandas as pd
        >>> recipe = FeatureRecipe.learn(pd.DataFrame({"age": [30, 50], "site": ["a", "b"]}))
        >>> recipe.remarks(pd.DataFrame({"age": [None, 40], "site": ["c", "c"]}))
        {'site: a category never seen in training': 2, 'age: blank, filled with the training median': 1}
        """
        keys, new, filled = self._keys(frame, source="table"), dict[str, int](), dict[str, int]()
        for column in self.columns:
            cells = frame[keys[column.name]]
            if isinstance(column, NumericColumn):
                values = numbers(cells)[0]
                n_new, n_blank = column.unseen(values), int(np.isnan(values).sum())
            else:
                read = texts(cells)
                n_new, n_blank = column.unseen(read), read.count(None)
            if not (isinstance(column, CategoricalColumn) and column.missing):
                filled[f"{column.name}: {column.filled}"] = n_blank
            new[f"{column.name}: {column.new}"] = n_new
        return {clause: count for clause, count in {**new, **filled}.items() if count}

    def describe(self) -> list[str]:
        """Return one sentence per raw column: how it is used, or why it is not.

        >>> import pandas as pd
        >>> FeatureRecipe.learn(pd.DataFrame({"age": [30, 50], "unit": ["mm", "mm"]})).describe()
        ['age: a number; blank cells become 40.', 'unit: not used, the same in every row.']
        """
        unused = [f"{name}: not used, {reason}." for name, reason in self.dropped.items()]
        return [*(column.sentence() for column in self.columns), *unused]

    def _keys(self, frame: Any, *, source: str) -> dict[str, Any]:
        """Return the frame's own keys by column name, after checking that no column is missing."""
        keys = column_names(frame, source=source)
        absent = [name for name in self.inputs if name not in keys]
        if absent:
            offer = did_you_mean(absent[0], self.extra(frame))
            which = join_names([f"{name!r:.100}" for name in absent])
            raise TableError(f"{source}: no column {which}, which training had{offer}")
        return keys


_REASONS = {
    "empty": BLANK,
    "date": "dates are not used",
    "other": "its cells are neither numbers nor text",
}


_NO_TEXT = {"number": "holds numbers", "date": "holds dates", "other": "its cells are neither numbers nor text"}


def _text_columns(text: str | Sequence[str] | None, keys: Mapping[str, Any], *, source: str) -> set[str]:
    named = {text} if isinstance(text, str) else {str(name) for name in text or ()}
    for name in sorted(named - set(keys)):
        raise no_such_column(name, list(keys), source=source, role="the text")
    return named


def _learn_text(name: str, cells: Texts, encoder: TextEncoder | None) -> Column | str:
    return learn_words(name, cells) if encoder is None else learn_embedded(name, cells, encoder)


def _check_text(name: str, kind: str, *, source: str) -> None:
    if kind not in {"text", "empty"}:
        raise TableError(
            f"{source}: column {name} is named as text and {_NO_TEXT[kind]}; remove it from {Argument('text')}."
        )


def summed_columns(recipe: FeatureRecipe) -> BoolArray | None:
    """Return which features are scores or coordinates of a text, (d,); None where no text is read."""
    if not recipe.text:
        return None
    marks = [np.full(len(one.outputs), one.name in recipe.text) for one in recipe.columns]
    for mark, one in zip(marks, recipe.columns, strict=True):
        if isinstance(one, VectorColumn):
            mark[one.width :] = False
    return np.concatenate(marks)
