"""Cells that somebody wrote to say that there is no value, such as n/a or -9: they are read as blank."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from defero.core.checks.arrays import BoolArray
from defero.core.errors import InputError
from defero.data.tables.cells import as_written, column_kind, number_of, numbers, text_of, texts

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BlankCells:
    """Values that mean none, in all columns of a table but some.

    Attributes
    ----------
    values : texts
        As they are written: "n/a", "-9".
    other_columns : names
        Columns that stay as they are: ids, and labels and answers, which `Spellings` reads.
    """

    values: tuple[str, ...] = ()
    other_columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Sequence[object]) -> "BlankCells":
        """Check what somebody passed.

        >>> BlankCells.of(["n/a ", -9]).values
        ('n/a', '-9')
        """
        if isinstance(values, str):
            raise InputError(f"must be a list of values, got the text {values!r}.", argument="blank")
        return cls(tuple(dict.fromkeys(map(as_written, values))))

    def __bool__(self) -> bool:
        return bool(self.values)

    def without(self, *columns: str | None) -> "BlankCells":
        """Return the same values for a table in which these columns stay as they are as well."""
        more = tuple(name for name in columns if name is not None)
        return BlankCells(self.values, tuple(dict.fromkeys((*self.other_columns, *more))))

    def mask(self, column: Any) -> BoolArray:
        """Return which cells of a column (n,) are such a value; 7, 7.0 and "07" are the same.

        >>> BlankCells(("n/a", "-9")).mask(["1", "n/a", " -9.0", None]).tolist()
        [False, True, True, False]
        """
        array = np.asarray(column)
        if array.dtype.kind in "iuf":
            known = [number_of(value) for value in self.values]
            return np.isin(array, [value for value in known if value is not None])
        wanted = {text_of(value) for value in self.values}
        return np.array([text in wanted for text in texts(array)], dtype=np.bool_)

    def apply(self, frame: "pd.DataFrame", *, is_text: bool = False, as_text: Sequence[str] = ()) -> "pd.DataFrame":
        """Return a frame in which these cells are missing; a column that has only numbers left becomes numbers.

        Parameters
        ----------
        frame : DataFrame
        is_text : bool
            Whether the cells come from a file of text, in which the text 1.5 is a number.
        as_text : names
            Columns that stay as they are written.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"age": ["30", "n/a"], "site": ["n/a", "back"], "case": ["n/a", "2"]})
        >>> read = BlankCells(("n/a",), ("case",)).apply(frame, is_text=True)
        >>> read["age"].tolist(), read["site"].isna().tolist(), read["case"].tolist()
        ([30.0, nan], [True, False], ['n/a', '2'])
        """
        if not self:
            return frame
        result, apart = frame.copy(deep=False), {*self.other_columns}
        for name in frame.columns:
            if name in apart or frame[name].dtype.kind in "mM":
                continue
            mask = self.mask(frame[name])
            if mask.any():
                column = frame[name].mask(mask)
                result[name] = column if name in as_text else _as_numbers(column, is_text=is_text)
        return result


def _as_numbers(column: Any, *, is_text: bool) -> Any:
    """Return a column as numbers if that is all that it has; numbers that a typed file holds as text stay text."""
    if column_kind(column) not in (("number", "text") if is_text else ("number",)):
        return column
    values, wrong = numbers(column)
    return column if wrong.any() else values
