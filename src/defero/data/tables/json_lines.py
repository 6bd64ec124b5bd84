"""JSON from a file that anybody may have written: lines as a table, or a list of objects as records."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from defero.core.errors import TableError
from defero.core.wording import join_names
from defero.data.tables.bad_rows import MOST_VALUE, NOT_UTF8, BadCell, OnBad
from defero.data.tables.cells import MARKED_BYTES, is_marked, plain_bytes
from defero.data.tables.read import HALF_PAIR, Append, TableFormat, open_text, plain_values, readable, strip_cells

ENDINGS = (".json", ".json.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_OBJECT_WANTED = 'must be an object such as {"age": 61}'
_MOST_DIGITS = 300  # a float ends at 1.8e308


class _JsonLines(TableFormat):
    """One object per line, its keys the columns."""

    name = "jsonl"
    endings = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
    reports_bad = True

    def read(
        self, path: Path, *, rows: int | None, as_text: Sequence[str], on_bad: OnBad | None = None
    ) -> Iterator[pd.DataFrame]:
        """Yield frames. Blank lines keep their number and give no row.

        The file is read twice in pieces: a key may be absent from a whole piece, and every piece has every column.
        """
        columns = None
        if rows is not None:
            unheard = None if on_bad is None else lambda _: None
            columns = list(
                dict.fromkeys(key for _, record in _lines(path, on_bad=unheard, objects=True) for key in record)
            )
        objects = _lines(path, on_bad=on_bad, objects=True)
        while piece := list(islice(objects, rows)):
            index = pd.Index([line - 1 for line, _ in piece])
            frame = pd.DataFrame([record for _, record in piece], index=index, columns=columns)
            yield strip_cells(frame, as_text=list(frame.columns))  # "1" is text: JSON has numbers of its own

    @contextmanager
    def writer(self, file: IO[bytes], *, source: str) -> Iterator[Append]:
        """Yield the function that appends frames: every row becomes an object in a line."""

        def append(frame: pd.DataFrame) -> None:
            names = list(frame.columns)
            rows = zip(*(plain_values(frame[name]) for name in names), strict=True)
            records = (dict(zip(names, row, strict=True)) for row in rows)
            lines = [json.dumps(record, ensure_ascii=False, default=_plain) for record in records]
            file.write("".join(f"{line}\n" for line in lines).encode("utf-8"))

        yield append


def _plain(cell: Any) -> Any:
    return cell.item() if isinstance(cell, np.generic) else str(cell)


def _lines(path: Path, *, on_bad: OnBad | None = None, objects: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield the number and the value of each line that is not blank; with `objects` other values are bad lines."""
    with open_text(path, errors="strict" if on_bad is None else MARKED_BYTES) as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            why = NOT_UTF8 if on_bad is not None and is_marked(text) else ""
            try:
                value = None if why else parse_json(text)
            except ValueError as error:
                why = f"is not JSON: {error}"
            if not why and (isinstance(value, dict) or not objects):
                yield line, value
                continue
            bad = BadCell(line, "", plain_bytes(text.strip())[:MOST_VALUE], why or _OBJECT_WANTED)
            if on_bad is None:
                raise TableError(f"{path}: {bad.sentence()}")
            on_bad(bad)


JSON_LINES = _JsonLines()


def parse_json(text: str) -> Any:
    """Return the value of a JSON text; raise `ValueError` where it is damaged or ambiguous.

    Refused beside what the parser refuses: a key that is twice in one object, nesting without end, whole
    numbers beyond every float, and half a surrogate pair, which is no character and cannot be written to a file.

    >>> parse_json('{"age": 61}')
    {'age': 61}
    """
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_int=_whole)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if "\\ud" in text.lower() and not _is_text(json.dumps(value, ensure_ascii=False)):
        raise ValueError(f"it holds {HALF_PAIR}")
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is too large")
    return int(digits)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ValueError(f"{twice!r} is in it more than once")
    return record


@dataclass(frozen=True)
class JsonRecord:
    """An object of a file, its number there from 1, and the place to name in a message."""

    place: str
    number: int
    fields: dict[str, Any]


def json_records(path: str | PathLike[str], *, of: str) -> list[JsonRecord]:
    """Return the objects of a file.

    Parameters
    ----------
    path : path
        .json holds a list of objects, .jsonl and .ndjson one object per line; each also with .gz.
    of : str
        What an object is, for messages: "task".
    """
    file = Path(path)
    name = file.name.lower()
    if not name.endswith(ENDINGS):
        raise TableError(f"{path}: a list of {of}s has one of the endings {join_names(ENDINGS)}.")
    whole = name.removesuffix(".gz").endswith(".json")
    with readable(file, "JSON"):
        records = list(_from_list(file, of=of) if whole else _from_lines(file, of=of))
    if not records:
        raise TableError(f"{path}: holds no {of}.")
    return records


def _from_lines(path: Path, *, of: str) -> Iterator[JsonRecord]:
    for line, record in _lines(path):
        yield _record(record, number=line, place=f"row {line}", source=str(path), of=of)


def _from_list(path: Path, *, of: str) -> Iterator[JsonRecord]:
    with open_text(path) as file:
        text = file.read()
    try:
        records = parse_json(text)
    except ValueError as error:
        raise TableError(f"{path}: is not JSON: {error}.") from error
    if not isinstance(records, list):
        raise TableError(f"{path}: must hold a list of {of}s, got {_kind(records)}.")
    for number, record in enumerate(records, start=1):
        yield _record(record, number=number, place=f"{of} number {number}", source=str(path), of=of)


def _record(record: object, *, number: int, place: str, source: str, of: str) -> JsonRecord:
    if not isinstance(record, dict):
        raise TableError(f"{source}: {place} must be an object, got {_kind(record)}; is it a list of {of}s?")
    return JsonRecord(place, number, record)


def _kind(value: object) -> str:
    """Name a JSON value's kind.

    >>> _kind([]), _kind(1), _kind(None)
    ('a list', 'a number', 'null')
    """
    if value is None:
        return "null"
    kinds = ((bool, "true or false"), (dict, "an object"), (list, "a list"), (str, "a text"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "a number")


def field_of_type(record: dict[str, Any], key: str, wanted: type, *, source: str, place: str) -> Any:
    """Return a field of a wanted kind, or an empty one where the field is absent or null."""
    value = record.get(key)
    if value is None:
        return wanted()
    if not isinstance(value, wanted):
        raise TableError(f"{source}: {place}: {key!r} must be {_kind(wanted())}, got {_kind(value)}.")
    return value
