"""JSON lines as frames: one object per line, its keys the columns."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from defero.core.errors import TableError
from defero.data.tables.formats import open_text
from defero.data.tables.json_text import parsed
from defero.data.tables.tidy import tidied


def json_frames(path: Path, *, gzipped: bool, rows: int | None) -> Iterator[pd.DataFrame]:
    """Yield frames of at most `rows` rows, or one of them all. Blank lines keep their number and give no row.

    The file is read twice in pieces: a key may be absent from a whole piece, and every piece has every column.
    """
    columns = None
    if rows is not None:
        columns = list(dict.fromkeys(key for _, record in _records(path, gzipped=gzipped) for key in record))
    records = _records(path, gzipped=gzipped)
    while piece := list(islice(records, rows)):
        index = pd.Index([line - 1 for line, _ in piece])
        frame = pd.DataFrame([record for _, record in piece], index=index, columns=columns)
        yield tidied(frame, as_text=list(frame.columns))  # "1" is text: JSON has numbers of its own


def _records(path: Path, *, gzipped: bool) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_text(path, gzipped=gzipped) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                record = parsed(text)
            except ValueError as error:
                raise TableError(f"{path}: row {line} is not JSON: {error}.") from error
            if not isinstance(record, dict):
                raise TableError(f'{path}: row {line} must be an object such as {{"age": 61}}, got {text.strip():.40}.')
            yield line, record
