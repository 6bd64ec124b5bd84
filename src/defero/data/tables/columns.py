"""Column names, and what to say when one is not there."""

from collections.abc import Sequence
from typing import Any

from defero.core.errors import TableError
from defero.core.wording import did_you_mean, join_names


def column_names(frame: Any, *, source: str) -> dict[str, Any]:
    """Return the frame's own column keys by their names as text; two columns of one name are an error."""
    found: dict[str, Any] = {}
    for column in frame.columns:
        if str(column) in found:
            raise TableError(f"{source}: two columns are called {str(column)!r}; rename one of them.")
        found[str(column)] = column
    return found


def no_such_column(name: str, columns: Sequence[str], *, source: str, role: str) -> TableError:
    """Return the error for a column that was asked for and is not there."""
    offer = did_you_mean(name, columns)
    return TableError(f"{source}: no column {name!r} for {role}{offer} The columns are {join_names(columns, most=30)}.")


def row_number(frame: Any, position: int, *, first_row: int) -> int:
    """Return the number to give a row in a message: its index label plus that of the first row.

    The label, not the position, so that a part of a table still names the rows of the file.
    """
    index = getattr(frame, "index", None)
    if index is not None and getattr(getattr(index, "dtype", None), "kind", "O") in "iu":
        return int(index[position]) + first_row
    return position + first_row
