"""FeatureRecipe: how raw columns become a matrix of numbers, learned from the training rows alone.

Frames are anything with `.columns`, `frame[name]` and `len(frame)`; numpy alone is needed, so that a saved model
can prepare its input without pandas.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from defero.core.checks import FloatArray
from defero.core.errors import InputError, TableError, listing
from defero.data.cells import column_kind, numbers, shown, texts
from defero.data.columns import column_names, row_number, suggestion
from defero.data.recipe_columns import CategoricalColumn, Column, NumericColumn, learn_categories, learn_numbers


@dataclass(frozen=True)
class FeatureRecipe:
    """How raw columns become an (n, d) matrix of numbers without gaps.

    Numbers (int, float, bool; never numbers as text) keep their value, blanks become the training median. Text is
    one-hot. Left out, with the reason in `dropped`: columns that are blank or the same in every training row,
    free text, dates, and cells that are neither number nor text.

    Attributes
    ----------
    columns : tuple of NumericColumn and CategoricalColumn
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

    columns: tuple[Column, ...]
    dropped: Mapping[str, str]

    @classmethod
    def learn(
        cls, frame: Any, *, max_categories: int = 20, source: str = "table", first_row: int = 0
    ) -> "FeatureRecipe":
        """Look at the training rows and settle what becomes of each column.

        Parameters
        ----------
        frame : DataFrame
            The raw feature columns of the training rows.
        max_categories : int
            The most frequent levels of a column get a 0/1 column each, the rest share one (ties: in
            alphabetical order).
        source, first_row : str, int
            What a message calls the table, and its first row.
        """
        if max_categories < 1:
            raise InputError(f"max_categories must be at least 1, got {max_categories}.")
        if len(frame) == 0:
            raise TableError(f"{source}: has no rows to learn from.")
        columns: list[Column] = []
        dropped: dict[str, str] = {}
        for name, column_key in column_names(frame, source=source).items():
            kind = column_kind(frame[column_key])
            found: Column | str
            if kind == "number":
                values = _numbers(frame, name, column_key, source=source, first_row=first_row)
                found = learn_numbers(name, values)
            elif kind == "text":
                found = learn_categories(name, texts(frame[column_key]), max_categories=max_categories)
            else:
                found = _REASONS[kind]
            if isinstance(found, str):
                dropped[name] = found
            else:
                columns.append(found)
        if not columns:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in dropped.items()) or "there is none"
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
    def categorical(self) -> tuple[str, ...]:
        """Names of the raw columns that are read as categories."""
        return tuple(column.name for column in self.columns if isinstance(column, CategoricalColumn))

    def apply(self, frame: Any, *, source: str = "table", first_row: int = 0) -> FloatArray:
        """Return the (n, d) matrix of new rows: no NaN, no infinity, whatever the order of the columns.

        A cell that is no number in a column of numbers, infinity, and a column that is not there raise
        `TableError`; a category never seen in training becomes `<name>=other`, or zeros where there is none.
        """
        keys = self._keys(frame, source=source)
        matrix = np.empty((len(frame), len(self.names)))
        start = 0
        for column in self.columns:
            stop = start + len(column.outputs)
            if isinstance(column, NumericColumn):
                values = _numbers(frame, column.name, keys[column.name], source=source, first_row=first_row)
                matrix[:, start:stop] = column.encode(values)
            else:
                matrix[:, start:stop] = column.encode(texts(frame[keys[column.name]]))
            start = stop
        return matrix

    def extra(self, frame: Any) -> tuple[str, ...]:
        """Return the frame's columns that training did not have; they are ignored."""
        known = {*self.inputs, *self.dropped}
        return tuple(str(name) for name in frame.columns if str(name) not in known)

    def unseen(self, frame: Any) -> dict[str, int]:
        """Count, per column that has some, the rows whose category was never seen in training.

        In a column with `<name>=other` the rare levels are not remembered one by one and nothing counts as unseen.
        """
        keys = self._keys(frame, source="table")
        counts = {
            column.name: column.unseen(texts(frame[keys[column.name]]))
            for column in self.columns
            if isinstance(column, CategoricalColumn)
        }
        return {name: count for name, count in counts.items() if count}

    def filled(self, frame: Any) -> dict[str, int]:
        """Count, per column of numbers that has some, the blank cells that `apply` fills with the median."""
        keys = self._keys(frame, source="table")
        counts = {
            column.name: int(np.isnan(numbers(frame[keys[column.name]])[0]).sum())
            for column in self.columns
            if isinstance(column, NumericColumn)
        }
        return {name: count for name, count in counts.items() if count}

    def describe(self) -> list[str]:
        """Return one sentence per raw column: how it is used, or why it is not.

        >>> import pandas as pd
        >>> FeatureRecipe.learn(pd.DataFrame({"age": [30, 50], "unit": ["mm", "mm"]})).describe()
        ['age: a number; blank cells become 40.', 'unit: not used, the same in every row.']
        """
        unused = [f"{name}: not used, {reason}." for name, reason in self.dropped.items()]
        return [*(column.sentence() for column in self.columns), *unused]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `from_dict` gives back the same recipe, bit for bit."""
        kinds = {NumericColumn: "number", CategoricalColumn: "category"}
        columns = [{"kind": kinds[type(column)], **asdict(column)} for column in self.columns]
        listed = [{**column, "levels": list(column["levels"])} if "levels" in column else column for column in columns]
        return {"columns": listed, "dropped": dict(self.dropped)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "FeatureRecipe":
        """Rebuild what `to_dict` gave."""
        try:
            return cls(tuple(_column(column) for column in values["columns"]), dict(values["dropped"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"the feature recipe is damaged: {type(error).__name__} {error}.") from error

    def _keys(self, frame: Any, *, source: str) -> dict[str, Any]:
        """Return the frame's own keys by column name, after checking that every column is there."""
        keys = column_names(frame, source=source)
        absent = [name for name in self.inputs if name not in keys]
        if absent:
            offer = suggestion(absent[0], self.extra(frame))
            raise TableError(f"{source}: no column {listing(map(repr, absent))}, which training had{offer}")
        return keys


_REASONS = {
    "empty": "blank in every row",
    "date": "dates are not used",
    "other": "its cells are neither numbers nor text",
}


def _numbers(frame: Any, name: str, column_key: Any, *, source: str, first_row: int) -> FloatArray:
    values, wrong = numbers(frame[column_key])
    bad = np.flatnonzero(wrong | np.isinf(values))
    if bad.size:
        position = int(bad[0])
        cell = np.asarray(frame[column_key])[position]
        row = row_number(frame, position, first_row=first_row)
        what = "a number" if wrong[position] else "a finite number"
        raise TableError(
            f"{source}: row {row}, column {name}: {shown(cell)} is not {what}; leave the cell blank if it is unknown."
        )
    return values


def _column(values: Mapping[str, Any]) -> Column:
    fields = {key: value for key, value in values.items() if key != "kind"}
    if values["kind"] == "number":
        return NumericColumn(**fields)
    if values["kind"] == "category":
        return CategoricalColumn(**{**fields, "levels": tuple(fields["levels"])})
    raise ValueError(f"of unknown kind {values['kind']!r}")
