"""An order of rows that does not depend on the one they came in.

Splits, folds and samples are drawn by position, and sums of floats depend on their order. Rows are put in this order
first: then the same rows give the same results, whatever the order of rows, columns and experts, and whatever the
classes are called.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks.arrays import IntArray, names
from defero.core.hashing import HashArray, cell_bits, mixed, row_hashes, text_hash


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
