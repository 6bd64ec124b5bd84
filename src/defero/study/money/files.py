"""Files of money: a fee for each expert, and what each decision costs for each true class."""

from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.case_file import TableSource
from defero.data.tables.cells import is_blank, number_of, text_of
from defero.decisions.class_order import class_places


def read_fees(path: str | PathLike[str]) -> dict[str, float]:
    """Read a table with the columns expert and fee; the name all stands for everybody who is not named."""
    source = TableSource.of(path)
    frame = source.read(as_text=["expert"])
    absent = [name for name in ("expert", "fee") if name not in frame.columns]
    if absent:
        raise TableError(
            f"{path}: no column {join_names(absent)}; a file of fees has the columns expert and fee, got "
            f"{join_names(frame.columns)}."
        )
    fees: dict[str, float] = {}
    for i, (name, fee) in enumerate(zip(frame["expert"].tolist(), frame["fee"].tolist(), strict=True)):
        row = int(frame.index[i]) + source.first_row
        number = None if is_blank(fee) else number_of(fee)
        if is_blank(name) or number is None:
            column, cell = ("expert", name) if is_blank(name) else ("fee", fee)
            got = "a blank cell" if is_blank(cell) else repr(cell)
            raise TableError(f"{path}: row {row}, column {column}: got {got}; expected a name and a number.")
        if str(name) in fees:
            raise TableError(f"{path}: row {row}: {name} has a fee already; leave one of them out.")
        fees[str(name)] = number
    return fees


def matrix_of(given: Any, classes: Labels) -> FloatArray:
    """Return a cost matrix (K, K) in the order of the classes.

    Parameters
    ----------
    given : (K, K), DataFrame or path
        An array is in the order of the classes. A frame has the true classes as its index, a file in its first
        column; the other columns are the decisions. They may stand in any order.
    classes : (K,)
    """
    if isinstance(given, str | PathLike):
        named = Argument("cost_matrix", str(given))
        source = TableSource.of(given)
        first = source.columns()[0]
        return _by_class(source.read(as_text=[first]).set_index(first), classes, named)
    named = Argument("cost_matrix")
    if isinstance(given, pd.DataFrame):
        return _by_class(given, classes, named)
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.shape != (len(classes),) * 2:
        raise InputError(named, f": expected shape ({len(classes)}, {len(classes)}), got {matrix.shape}.")
    names = [text_of(label) for label in classes.tolist()]
    return _checked(pd.DataFrame(matrix, index=names, columns=names), named)


def _by_class(frame: pd.DataFrame, classes: Labels, named: Argument) -> FloatArray:
    """Put the rows and the columns of a matrix in the order of the classes."""
    names = [text_of(label) for label in classes.tolist()]
    frame = frame.rename(index=text_of, columns=text_of)
    for labels, what in ((frame.index, "row"), (frame.columns, "column")):
        class_places(list(map(str, labels)), names, what=what, named=named)
    return _checked(frame.loc[names, names], named)


def _checked(frame: pd.DataFrame, named: Argument) -> FloatArray:
    """Return the numbers of a matrix, none negative and no right decision dearer than an error."""
    matrix = np.zeros(frame.shape)
    for k, truth in enumerate(frame.index):
        for a, decision in enumerate(frame.columns):
            cell = frame.iat[k, a]
            cost = None if is_blank(cell) else number_of(cell)
            if cost is None or not 0 <= cost < np.inf:
                got = "a blank cell" if is_blank(cell) else repr(cell)
                where = f"row {truth}, column {decision}"
                raise InputError(named, f": {where}: got {got}; a cost must be a number that is not negative.")
            matrix[k, a] = cost
    if not matrix.any():
        raise InputError(named, ": all costs are 0; some error must cost something.")
    for k, truth in enumerate(frame.index):
        a = int(matrix[k].argmin())
        if matrix[k, a] < matrix[k, k]:
            raise InputError(
                named,
                f": row {truth}: the right decision costs {matrix[k, k]:g}, more than the error {frame.columns[a]} "
                f"({matrix[k, a]:g}); rows are the truth, columns the decision.",
            )
    return matrix
