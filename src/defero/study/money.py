"""Terms whose fees or costs of errors stand in files, or in columns of the cases."""

from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.tables.bad_rows import BadCell, bad_cell
from defero.data.tables.cells import is_blank, no_such_column, number_of, numbers, text_of
from defero.data.tables.read import TableSource
from defero.decide.costs import in_class_order
from defero.decide.terms import TeamTerms, Terms, check_terms
from defero.team import Team
from defero.team.judge import terms_of


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


def matrix_of(matrix_or_file: Any, classes: Labels) -> FloatArray:
    """Return a cost matrix (K, K) in the order of the classes.

    Parameters
    ----------
    matrix_or_file : (K, K), DataFrame or path
        An array is in the order of the classes. A frame has the true classes as its index, a file in its first
        column; the other columns are the decisions. They may stand in any order.
    classes : (K,)
    """
    named, file = Argument("cost_matrix"), None
    if isinstance(matrix_or_file, str | PathLike):
        file, source = str(matrix_or_file), TableSource.of(matrix_or_file)
        named, first = Argument("cost_matrix", file), source.columns()[0]
        matrix_or_file = source.read(as_text=[first]).set_index(first)
    cells = in_class_order(matrix_or_file, classes, file=file)
    if np.shape(cells) != (len(classes),) * 2:
        raise InputError(f"{named}: expected shape ({len(classes)}, {len(classes)}), got {np.shape(cells)}.")
    return _checked(cells, [text_of(label) for label in classes.tolist()], named)


def _checked(cells: Any, names: list[str], named: Argument) -> FloatArray:
    """Return the numbers of a matrix, none negative and no right decision dearer than an error."""
    matrix = np.zeros((len(names), len(names)))
    for k, row in enumerate(cells):
        for a, cell in enumerate(row):
            cost = None if is_blank(cell) else number_of(cell)
            if cost is None or not 0 <= cost < np.inf:
                got = "a blank cell" if is_blank(cell) else repr(cell)
                where = f"row {names[k]}, column {names[a]}"
                raise InputError(f"{named}: {where}: got {got}; a cost must be a number that is not negative.")
            matrix[k, a] = cost
    if not matrix.any():
        raise InputError(f"{named}: all costs are 0; some error must cost something.")
    for k, truth in enumerate(names):
        a = int(matrix[k].argmin())
        if matrix[k, a] < matrix[k, k]:
            raise InputError(
                f"{named}: row {truth}: the right decision costs {matrix[k, k]:g}, more than the error {names[a]} "
                f"({matrix[k, a]:g}); rows are the truth, columns the decision."
            )
    return matrix


def terms_of_study(terms: Terms | None, team: Team) -> TeamTerms:
    """Check terms, of which some may stand in files, against a team; costs that are not given are those of `fit`."""
    return with_files(terms, team.classes).of(team.expert_names, team.classes, before=terms_of(team))


def with_files(terms: Terms | None, classes: Labels) -> Terms:
    """Return terms whose fees and cost matrix have been read, and checked to mean what they seem to."""
    said = with_fees(terms)
    return said if said.cost_matrix is None else replace(said, cost_matrix=matrix_of(said.cost_matrix, classes))


def with_fees(terms: Terms | None) -> Terms:
    """Return terms whose fees have been read."""
    said = check_terms(terms)
    return replace(said, fees=read_fees(said.fees)) if isinstance(said.fees, str | PathLike) else said


def on_cases(terms: TeamTerms, frame: pd.DataFrame, *, source: str, first_row: int) -> TeamTerms:
    """Return the terms of the cases of a table; its index plus `first_row` is the row in the file."""
    if not terms.columns:
        return terms
    fees = np.tile(np.zeros(len(terms.expert_names)) if terms.fees is None else terms.fees, (len(frame), 1))
    for bad in bad_fees(terms, frame, source=source, first_row=first_row):
        raise TableError(f"{source}: {bad.sentence()}")
    for j, column in terms.columns.items():
        fees[:, j] = _numbers(frame, column, source)[0]
    return replace(terms, fees=fees)


def bad_fees(terms: TeamTerms, frame: pd.DataFrame, *, source: str, first_row: int) -> list[BadCell]:
    """Return all cells for which `on_cases` would raise."""
    bad = []
    for column in dict.fromkeys(terms.columns.values()):
        places = _numbers(frame, column, source)[1].tolist()
        bad += [bad_cell(frame, column, place, _NO_FEE, first_row=first_row) for place in places]
    return bad


def _numbers(frame: pd.DataFrame, column: str, source: str) -> tuple[FloatArray, IntArray]:
    """Return a column of prices (n,), and the places of cells that are none."""
    if column not in frame.columns:
        raise no_such_column(column, list(map(str, frame.columns)), source=source, role="the fees")
    prices, wrong = numbers(frame[column])
    return prices, np.flatnonzero(wrong | ~((prices >= 0) & (prices < np.inf)))


_NO_FEE = "is not a fee; a fee must be a number that is not negative"
