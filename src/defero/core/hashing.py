"""Numbers that tell cells and rows apart, whatever the order of the columns and the process that computes them."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.answers import is_missing

HashArray = NDArray[np.uint64]
Read = Callable[[object], np.uint64]
"""From a cell that is in no array of numbers to its 64 bits."""

_BLOCK = 1 << 16  # cells hashed at a time: stays in the processor's cache


def text_hash(text: str) -> np.uint64:
    """Return 64 bits of a text.

    >>> int(text_hash("ann")) == int(text_hash("ann")), int(text_hash("ann")) == int(text_hash("bob"))
    (True, False)
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


BLANK = text_hash("")
"""Of a blank cell; no cell that says something has the empty text."""


def bits_of(cell: object) -> np.uint64:
    """Return the bits of a cell as it is: those of a number, the hash of a text, one constant for a missing one."""
    if is_missing(cell):
        return BLANK
    if isinstance(cell, int | float | np.number | np.bool_):
        return number_bits(float(np.real(cell)))
    return text_hash(str(cell))


def number_bits(value: float) -> np.uint64:
    """Return the bits of a number; -0.0 is 0.0."""
    return np.float64(value + 0.0).view(np.uint64)


def mixed(bits: HashArray) -> HashArray:
    """Scatter 64 bits: the finaliser of SplitMix64, a bijection. Sums of its values collide by chance only."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def cell_bits(cells: Any, read: Read = bits_of) -> HashArray:
    """Return 64 bits for each of (n,) cells: a number's own, one constant for a missing one, `read` for all others."""
    array = np.asarray(cells)
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.float64))
    if array.dtype.kind in "iufb":
        values = array.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
        return np.where(np.isnan(values), BLANK, values.view(np.uint64))
    listed = array.astype(object).tolist()
    known = {text: read(text) for text in {cell for cell in listed if type(cell) is str}}
    return np.array([known[cell] if type(cell) is str else read(cell) for cell in listed], dtype=np.uint64)


def column_hashes(start: int, stop: int) -> HashArray:
    """Return the hashes of the names of an array's columns, which are their numbers."""
    return np.array([text_hash(str(column)) for column in range(start, stop)], dtype=np.uint64)


def row_hashes(rows: Any, read: Read = bits_of, *, names: Sequence[str] | None = None) -> HashArray:
    """Return a number for each row, (n,), whatever the order of named columns.

    Parameters
    ----------
    rows : DataFrame, or array of shape (n, ...)
        A frame's cells are hashed with the names of their columns; an array's columns are called 0, 1, ...
    read : callable
    names : texts, optional
        Those of a frame's columns by which they count, in place of their own.
    """
    total = np.zeros(len(rows), dtype=np.uint64)
    if hasattr(rows, "columns"):
        for place, key in enumerate(rows.columns):
            column = rows.iloc[:, place] if hasattr(rows, "iloc") else rows[key]  # two columns may have one name
            total += mixed(cell_bits(column, read) ^ text_hash(str(key) if names is None else names[place]))
        return mixed(total)
    array = np.asarray(rows)
    array = array.reshape(len(array), int(np.prod(array.shape[1:])))
    own = column_hashes(0, array.shape[1])
    step = max(1, _BLOCK // max(1, len(own)))
    for start in range(0, len(array), step):
        block = array[start : start + step]
        bits = cell_bits(block.ravel(), read).reshape(block.shape)
        total[start : start + step] = mixed(bits ^ own).sum(axis=1, dtype=np.uint64)
    return mixed(total)
