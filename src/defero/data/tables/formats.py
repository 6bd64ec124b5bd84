"""Which kind of table a file is: said by the ending of its name."""

import gzip
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal, TextIO

from defero.core.errors import TableError
from defero.core.wording import join_names

Kind = Literal["csv", "tsv", "jsonl", "parquet"]

_KINDS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")


@dataclass(frozen=True)
class TableFormat:
    """How a table is written on disk."""

    kind: Kind
    gzipped: bool

    @property
    def separator(self) -> str:
        """What stands between two cells of a line."""
        return "\t" if self.kind == "tsv" else ","


def open_text(path: Path, *, gzipped: bool) -> TextIO:
    """Open a text file for reading: UTF-8, with or without the mark that some programs put in front."""
    if gzipped:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def table_format(path: str | PathLike[str]) -> TableFormat:
    """Return the format that the file's name promises.

    >>> table_format("cases.csv.gz")
    TableFormat(kind='csv', gzipped=True)
    """
    name = Path(path).name.lower()
    ending = next((known for known in ENDINGS if name.endswith(known)), None)
    if ending is None:
        raise TableError(
            f"{path}: the name's ending tells no kind of table; the known endings are {join_names(ENDINGS)}."
        )
    gzipped = ending.endswith(".gz")
    return TableFormat(_KINDS[ending.removesuffix(".gz")], gzipped)


def first_row(path: str | PathLike[str]) -> int:
    """Return the number that a person gives to the first row of data.

    In a CSV or TSV file the header is row 1, as in a spreadsheet, so the first data row is row 2 (a cell that
    holds line breaks counts as one row). In JSON lines it is line 1, in Parquet row 1. `index + first_row` of a
    frame read by this room is the row to name in a message; rows left out as blank keep their number.

    >>> first_row("cases.csv"), first_row("cases.jsonl")
    (2, 1)
    """
    return 2 if table_format(path).kind in {"csv", "tsv"} else 1
