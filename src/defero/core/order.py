"""An order of rows that does not depend on the one they came in.

Splits, folds and samples are drawn by position, and sums of floats depend on their order. Rows are put in this order
first: then the same rows give the same results, whatever the order of rows, columns and experts, and whatever the
classes are called.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.answers import Answers, is_missing
from defero.core.checks.arrays import IntArray, names

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


@lru_cache(maxsize=64)
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


def row_order(rows: Any, label_idx: IntArray, answers: Answers | None = None, **beside: Any) -> IntArray:
    """Return an order of n rows, (n,): sorted by a hash of their cells and labels, and where these tie by the answers.

    Rows that are the same in all of it are interchangeable.

    Parameters
    ----------
    rows : DataFrame, array (n, ...), scipy.sparse matrix or None
        A frame's columns count in the order of their names, those of an array as they are.
    label_idx : (n,) class numbers
        A class counts by the rows that have it, not by its name or number.
    answers : Answers of J experts to the n rows, optional
        As class numbers; the experts count in the order of their names.
    **beside : (n,) values, (n, d) numbers or None
        What else tells rows apart, such as weights and groups.

    Examples
    --------
    >>> table, label_idx = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.zeros(3, dtype=np.int64)
    >>> bool((table[row_order(table, label_idx)] == table[::-1][row_order(table[::-1], label_idx)]).all())
    True
    """
    marks = np.zeros(len(label_idx), dtype=np.uint64)
    if rows is not None:
        by_name = [str(place) for place in _places(map(str, rows.columns))] if hasattr(rows, "columns") else None
        marks += row_hashes(rows.toarray() if hasattr(rows, "toarray") else rows, names=by_name)
    for name, values in beside.items():
        if values is not None:
            bits = cell_bits(values) if np.ndim(values) == 1 else row_hashes(values)
            marks += mixed(bits ^ text_hash(name))
    first = marks + mixed(_marks_of_classes(marks, label_idx)[label_idx])
    order = np.argsort(first, kind="stable")
    if answers is None or (np.diff(first[order]) > 0).all():
        return order
    # Who was right is the same whatever the classes are called; so a class gets a mark from all its rows once more.
    expert_names = names("expert_names", answers.expert_names, count=answers.n_experts)
    place = mixed(_places(expert_names).astype(np.uint64))
    item_idx, expert_idx, codes = answers.triplets()
    right = np.zeros_like(first)
    np.add.at(right, item_idx, mixed(place[expert_idx] + (codes == label_idx[item_idx])))
    of_class = _marks_of_classes(mixed(first + right), label_idx, least=int(codes.max(initial=0)) + 1)
    second = right + mixed(of_class[label_idx])
    np.add.at(second, item_idx, mixed(place[expert_idx] ^ of_class[codes]))
    return np.lexsort((second, first))


def _places(names: Iterable[str]) -> IntArray:
    """Return the place of each name among the sorted ones."""
    return np.argsort(np.argsort(list(names), kind="stable"))


def _marks_of_classes(marks: HashArray, label_idx: IntArray, *, least: int = 1) -> HashArray:
    """Return a mark of each class from those of the rows that have it, (K,)."""
    total = np.zeros(max(least, int(label_idx.max(initial=0)) + 1), dtype=np.uint64)
    np.add.at(total, label_idx, mixed(marks))
    return mixed(total)


def in_order_of_appearance(values: ArrayLike) -> IntArray:
    """Return a number for each value, (n,), in the order of their first rows, whatever they are called.

    >>> in_order_of_appearance(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    _, first, number = np.unique(np.asarray(values), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]
