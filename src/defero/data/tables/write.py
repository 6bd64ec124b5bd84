"""Tables of decisions, written in the format that the ending of the name says."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.errors import InputError, TableError
from defero.core.wording import join_names
from defero.data.tables.read import HALF_PAIR, Append, table_format
from defero.data.whole_files import whole_file

Columns = Mapping[str, "Sequence[Any] | np.ndarray[Any, Any] | pd.Series[Any]"]


class DecisionWriter:
    """Appends chunks of rows to one file, with the columns `names`; made by `write_decisions`."""

    def __init__(self, source: str, append: Append) -> None:
        self._source = source
        self._append = append
        self.names: list[str] = []

    def write(self, columns: Columns) -> None:
        """Append rows.

        Parameters
        ----------
        columns : mapping
            Column name to (n,) values, the same names in the same order in every chunk.
        """
        names = list(columns)
        lengths = {len(values) for values in columns.values()}
        if len(lengths) != 1:
            raise InputError(f"{self._source}: every column must have the same number of rows, got {sorted(lengths)}.")
        if self.names not in ([], names):
            raise InputError(
                f"{self._source}: every chunk must have the columns {join_names(self.names)}, got {join_names(names)}."
            )
        # A Series brings an index, by which pandas would align the columns.
        cells = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
        try:
            self._append(pd.DataFrame(cells))
        except UnicodeEncodeError as error:
            cell = error.object[error.start]
            raise TableError(f"{self._source}: holds {cell!r}, {HALF_PAIR}; correct the cell with it.") from error
        self.names = names


@contextmanager
def write_decisions(path: str | PathLike[str]) -> Iterator[DecisionWriter]:
    """Open a table for writing; the ending of the name gives the format, as in `read_frame`.

    The rows go to a hidden file beside it, which takes the name when the block ends well. A run that fails leaves no
    half table, and an older file of that name as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_decisions(f"{folder}/out.csv") as table:
    ...         table.write({"route": ["model", "dr_a"], "p_model": [0.9, 0.5]})
    ...         table.write({"route": ["dr_b"], "p_model": [0.25]})
    ...     print(Path(f"{folder}/out.csv").read_text().split())
    ['route,p_model', 'model,0.9', 'dr_a,0.5', 'dr_b,0.25']
    """
    file_format = table_format(path)
    with whole_file(Path(path)) as file:
        with file_format.writer(file, source=str(path)) as append:
            writer = DecisionWriter(str(path), append)
            yield writer
        if not writer.names:
            raise TableError(f"{path}: no decisions to write.")
