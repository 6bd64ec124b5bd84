"""RawColumns: the raw table again, from the matrix of a recipe, for models that select columns by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks.arrays import FloatArray


@dataclass(frozen=True)
class RawColumn:
    """One raw column and where it is in the matrix.

    Attributes
    ----------
    name : str
    start : int
        Its number, or the first of the 0/1 columns of its levels; -1 for a number that only marks its gaps.
    missing : int
        The column that marks gaps; -1 if there is none.
    fill : float
        The number of a column that only marks its gaps.
    levels : tuple of str, optional
        Of a category; the last may be "other", the levels that share one column.
    """

    name: str
    start: int
    missing: int
    fill: float = 0.0
    levels: tuple[str, ...] | None = None

    def cells(self, matrix: FloatArray) -> Any:
        """Return the cells (n,): numbers or texts, NaN for gaps.

        A level that training did not have is a gap too; if training had no gaps, which a model may not take, it is
        read as the first level. Decisions mark such cases as unusual.
        """
        gaps = matrix[:, self.missing] > 0 if self.missing >= 0 else np.zeros(len(matrix), dtype=np.bool_)
        if self.levels is None:
            numbers = matrix[:, self.start] if self.start >= 0 else np.full(len(matrix), self.fill)
            return np.where(gaps, np.nan, numbers)
        block = matrix[:, self.start : self.start + len(self.levels)]
        cells = np.array(self.levels, dtype=object)[block.argmax(axis=1)]
        if self.missing >= 0:
            cells[gaps | (block <= 0).all(axis=1)] = np.nan
        return cells


@dataclass(frozen=True)
class RawColumns:
    """All raw columns in use.

    Examples
    --------
    >>> raw = RawColumns((RawColumn("age", 0, 1), RawColumn("site", 2, -1, levels=("arm", "leg"))))
    >>> raw.frame(np.array([[30.0, 0, 0, 1], [50.0, 1, 1, 0]])).to_dict("list")
    {'age': [30.0, nan], 'site': ['leg', 'arm']}
    """

    columns: tuple[RawColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the raw columns."""
        return tuple(column.name for column in self.columns)

    def frame(self, matrix: FloatArray) -> Any:
        """Return the table (a DataFrame) of the rows of a matrix (n, d)."""
        import pandas as pd  # imported here: other models are served without it

        return pd.DataFrame({column.name: column.cells(matrix) for column in self.columns})

    def reads(self, model: Any) -> bool:
        """Return whether a fitted model knows these columns by name, as one that was fitted on a DataFrame does."""
        return set(getattr(model, "feature_names_in_", ("",))) <= set(self.names)

    def table_for(self, model: Any, matrix: FloatArray) -> Any:
        """Return what a fitted model takes: its columns as a DataFrame, or the matrix."""
        return self.frame(matrix)[list(model.feature_names_in_)] if self.reads(model) else matrix

    def to_list(self) -> list[dict[str, Any]]:
        """Return plain values for JSON."""
        return [vars(column) | {"levels": column.levels and list(column.levels)} for column in self.columns]

    @classmethod
    def from_list(cls, values: Sequence[Mapping[str, Any]]) -> "RawColumns":
        """Rebuild what `to_list` gave."""
        return cls(tuple(RawColumn(**{**one, "levels": one["levels"] and tuple(one["levels"])}) for one in values))
