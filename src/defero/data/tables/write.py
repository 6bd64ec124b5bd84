"""The table of decisions, written chunk by chunk: either the whole file appears, or none of it."""

import gzip
import hashlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa

from defero.core.checks.arrays import IntArray
from defero.core.errors import InputError, TableError, is_disk_full, why_not_written
from defero.core.wording import join_names
from defero.data.tables.formats import Append, is_compressed, table_format

PART = ".part"
STALE_SECONDS = 86_400.0
"""A part that nobody has written to for so long belongs to a run that was killed."""

Columns = Mapping[str, "Sequence[Any] | np.ndarray[Any, Any] | pd.Series[Any]"]


class DecisionWriter:
    """Appends chunks of rows to one file; made by `write_decisions`."""

    def __init__(self, source: str, append: Append) -> None:
        self._source = source
        self._append = append
        self._names: list[str] | None = None

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
        if self._names is not None and names != self._names:
            raise InputError(
                f"{self._source}: every chunk must have the columns {join_names(self._names)}, got {join_names(names)}."
            )
        # A Series brings an index, by which pandas would align the columns.
        cells = {name: values.array if isinstance(values, pd.Series) else values for name, values in columns.items()}
        self._append(pd.DataFrame(cells))
        self._names = names

    @property
    def empty(self) -> bool:
        """Has nothing been written yet?"""
        return self._names is None


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
        if writer.empty:
            raise TableError(f"{path}: no decisions to write.")


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears only when the block ends without an error; one whose name ends in .gz is compressed."""
    if target.is_dir():
        raise TableError(f"{target}: is a folder; name a file to write.")
    if not target.parent.is_dir():
        raise TableError(f"{target}: the folder {target.parent} does not exist; make it first.")
    remove_stale_parts(target)
    part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(8)}{PART}")
    try:
        raw = part.open("wb")
    except OSError as error:
        raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
    try:
        with raw:
            if is_compressed(target):
                # mtime: the same content gives the same bytes.
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())  # before the rename: a power cut must not leave an empty file under the name
        os.replace(part, target)
    except OSError as error:
        if is_disk_full(error):
            raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
        raise
    finally:
        part.unlink(missing_ok=True)


def write_whole(target: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises with the reason where it cannot be written."""
    try:
        with whole_file(target) as file:
            file.write(content)
    except OSError as error:
        raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error


def remove_stale_parts(target: Path) -> None:
    """Delete what runs that were killed left beside a target."""
    for part in target.parent.glob(f"{_part_prefix(target)}*{PART}"):
        try:
            if time.time() - part.stat().st_mtime > STALE_SECONDS:
                part.unlink()
        except OSError:  # another run has removed it
            continue


def _part_prefix(target: Path) -> str:
    """Return how the hidden files of a target begin; short, whatever the length of its name."""
    return f".{hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()}-"


def text_array(texts: Any) -> Any:
    """Return the column that pandas makes of texts.

    Parameters
    ----------
    texts : (n,) array of str, or an Arrow array of text

    Examples
    --------
    >>> pd.Series(text_array(np.array(["ann", "bob"], dtype=object))).tolist()
    ['ann', 'bob']
    """
    dtype = _text_dtype()
    if dtype is None:
        return texts if isinstance(texts, np.ndarray) else texts.to_numpy(zero_copy_only=False)
    return dtype.__from_arrow__(pa.array(texts, pa.large_string()) if isinstance(texts, np.ndarray) else texts)


def text_at(values: Sequence[Any] | np.ndarray[Any, Any], idx: IntArray) -> Any:
    """Return `values[idx]`, (n,), as the column that pandas makes of it; -1 is the last value.

    >>> pd.Series(text_at(("ann", "bob", "model"), np.array([1, -1]))).tolist()
    ['bob', 'model']
    """
    labels = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    if _text_dtype() is None or labels.dtype != object or not all(type(one) is str for one in labels.tolist()):
        return labels[idx]
    table = pa.array(labels, type=pa.large_string())
    return text_array(table.take(pa.array(np.where(idx < 0, idx + len(labels), idx))))


@cache
def _text_dtype() -> Any:
    """Return the type that pandas gives to texts if it keeps them in Arrow; None where they are Python objects."""
    dtype = pd.Series(["a"]).dtype
    return dtype if isinstance(dtype, pd.StringDtype) and dtype.storage == "pyarrow" else None
