"""Fees and costs of errors as a user gives them, also in files, and what they mean for a team and its cases."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.tables.bad_rows import BadCell, bad_cell
from defero.data.tables.cells import is_blank, no_such_column, number_of, numbers, text_of
from defero.data.tables.read import TableSource
from defero.decide.costs import class_places
from defero.decide.terms import Terms
from defero.study.fitting.choices import fees_by_name


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
    if isinstance(matrix_or_file, str | PathLike):
        named = Argument("cost_matrix", str(matrix_or_file))
        source = TableSource.of(matrix_or_file)
        first = source.columns()[0]
        return _by_class(source.read(as_text=[first]).set_index(first), classes, named)
    named = Argument("cost_matrix")
    if isinstance(matrix_or_file, pd.DataFrame):
        return _by_class(matrix_or_file, classes, named)
    matrix = np.asarray(matrix_or_file, dtype=np.float64)
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


Fees = Mapping[str, float | str] | Sequence[float] | float | str | PathLike[str]
"""One number for everybody; by expert name (a number, or "@column" for a price for each case; "all": whoever is not
named), in the experts' order, or a file with the columns expert and fee."""


@dataclass(frozen=True, eq=False)
class Money:
    """Fees and costs of errors, in one unit of money that the user chooses.

    Attributes
    ----------
    fees : Fees, optional
    error_cost : float, optional
        What any error costs; 1 by default.
    cost_matrix : (K, K), DataFrame or path, optional
        What each decision (column) costs for each true class (row).
    """

    fees: Fees | None = None
    error_cost: float | None = None
    cost_matrix: Any = None

    def known_to(self, expert_names: tuple[str, ...]) -> "Money":
        """Return the same for another team: fees of people who are not in it are left out."""
        fees = _unpacked(self.fees)
        if isinstance(fees, Mapping):
            fees = {name: fee for name, fee in fees.items() if name == "all" or name in expert_names} or None
        return replace(self, fees=fees)

    def of_team(self, expert_names: tuple[str, ...], classes: Labels, *, before: Terms | None = None) -> "TeamTerms":
        """Check everything against a team; whatever is not given is as `before`, the terms of `fit`."""
        if self.error_cost is not None and self.cost_matrix is not None:
            raise InputError(
                "and ", Argument("cost_matrix"), " exclude each other; leave one out.", argument="error_cost"
            )
        matrix = None if self.cost_matrix is None else matrix_of(self.cost_matrix, classes)
        fees, columns = _split(self.fees, expert_names)
        terms = Terms.of(fees, n_classes=len(classes), error_cost=self.error_cost, cost_matrix=matrix)
        if before is not None:
            own = terms if terms.costs_given else before
            terms = Terms(before.fees if terms.fees is None else terms.fees, own.costs, own.costs_given)
        return TeamTerms(terms, expert_names, columns, _unnamed(self.fees, expert_names))


@dataclass(frozen=True, eq=False)
class TeamTerms:
    """The terms of a team, of which some fees stand in columns of the cases.

    Attributes
    ----------
    terms : Terms
        With fees (J,), 0 for those in columns; or None.
    expert_names : J names
    columns : mapping
        From an expert's index to the column of their prices.
    unnamed : names
        Experts without a fee, where others have one.
    """

    terms: Terms
    expert_names: tuple[str, ...]
    columns: Mapping[int, str] = field(default_factory=dict)
    unnamed: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[Message, ...]:
        """Say who is free because nobody named their fee."""
        if not self.unnamed:
            return ()
        have = "has" if len(self.unnamed) == 1 else "have"
        return (
            Message(
                f"{join_names(self.unnamed, most=6)} {have} no fee, so questions to them are free; ",
                Argument("fees", {"all": 1.0}),
                " would be a fee of 1 for everybody who is not named.",
            ),
        )

    def on(self, frame: pd.DataFrame, *, source: str, first_row: int) -> Terms:
        """Return the terms of the cases of a table; its index plus `first_row` is the row in the file."""
        if not self.columns:
            return self.terms
        fees = np.tile(
            np.zeros(len(self.expert_names)) if self.terms.fees is None else self.terms.fees, (len(frame), 1)
        )
        for j, column in self.columns.items():
            fees[:, j] = _prices(frame, column, source=source, first_row=first_row)
        return Terms(fees, self.terms.costs, self.terms.costs_given)

    def bad_cells(self, frame: pd.DataFrame, *, source: str, first_row: int) -> list[BadCell]:
        """Return all cells for which `on` would raise."""
        bad = []
        for column in dict.fromkeys(self.columns.values()):
            if column not in frame.columns:
                raise no_such_column(column, list(map(str, frame.columns)), source=source, role="the fees")
            places = _numbers(frame[column])[1].tolist()
            bad += [bad_cell(frame, column, place, _NO_FEE, first_row=first_row) for place in places]
        return bad

    @property
    def free(self) -> bool:
        """Whether no question costs anything."""
        return not self.columns and (self.terms.fees is None or not self.terms.fees.any())

    def same_fees(self) -> list[float]:
        """Return one fee for each expert (J,), in units of the dearest error; refuse prices for each case."""
        if self.columns:
            name, column = self.expert_names[next(iter(self.columns))], next(iter(self.columns.values()))
            raise InputError(
                Argument("fees", {name: f"@{column}"}),
                ": here every question to an expert costs the same; prices for each case enter when cases are routed "
                "or judged.",
            )
        fees = self.terms.fees_in_errors
        return [0.0] * len(self.expert_names) if fees is None else fees.tolist()


def unpayable(terms: Terms) -> list[str]:
    """Say that every question costs at least as much as the dearest error, so that nobody is ever asked.

    >>> unpayable(Terms.of([12.0, 20.0], n_classes=2, error_cost=40))
    []
    >>> unpayable(Terms.of([12.0, 12.0], n_classes=2))[0].split(":")[0]
    'A question costs 12 and an error 1, so no question can pay and the model decides every case'
    """
    if terms.fees is None or not terms.fees.size or terms.fees.min() < terms.unit:
        return []
    fee, least = f"{terms.fees.min():g}", "" if terms.fees.min() == terms.fees.max() else "at least "
    error = "an error" if terms.costs.symmetric else "the dearest error"
    remedy = "lower the fees, or raise" if terms.costs_given else "pass"
    return [
        f"A question costs {least}{fee} and {error} {terms.unit:g}, so no question can pay and the model decides every "
        f"case: {remedy} what an error costs (--error-cost; in Python error_cost), in the unit of the fees."
    ]


def _unpacked(fees: Fees | None) -> Mapping[str, float | str] | Sequence[float] | None:
    """Return fees by name or in order: a file is read, and one number is everybody's fee."""
    if isinstance(fees, str | PathLike):
        return read_fees(fees)
    if isinstance(fees, Real) and not isinstance(fees, bool):
        return {"all": float(fees)}
    if fees is not None and not isinstance(fees, Iterable):
        raise InputError(f"must be a number, {{name: fee}}, or one fee for each expert, got {fees!r}.", argument="fees")
    return fees


def _unnamed(fees: Fees | None, expert_names: tuple[str, ...]) -> tuple[str, ...]:
    """Return who has no fee, where fees are by name and some have one.

    >>> _unnamed({"ann": 2.5}, ("ann", "bob")), _unnamed({"ann": 2.5, "all": 1.0}, ("ann", "bob"))
    (('bob',), ())
    """
    fees = _unpacked(fees)
    if not isinstance(fees, Mapping) or not fees or ("all" in fees and "all" not in expert_names):
        return ()
    return tuple(name for name in expert_names if name not in fees)


def _split(fees: Fees | None, expert_names: tuple[str, ...]) -> tuple[FloatArray | None, dict[int, str]]:
    """Return the fees (J,) and the columns of those that stand in the table."""
    fees = _unpacked(fees)
    if fees is None:
        return None, {}
    if not isinstance(fees, Mapping):
        return np.array(fees_by_name(fees, expert_names)), {}
    own = dict(fees)
    if "all" in own and "all" not in expert_names:
        everybody = own.pop("all")
        amount = number_of(everybody)
        if amount is not None and amount < 0:
            raise InputError(Argument("fees", {"all": amount}), ": a fee must not be negative.")
        own = {**own, **{name: everybody for name in expert_names if name not in own}}
    numbers, columns = {}, {}
    for name, fee in own.items():
        if isinstance(fee, str) and fee.startswith("@") and len(fee) > 1:
            numbers[name], columns[name] = 0.0, fee[1:]
        elif number_of(fee) is None:
            raise InputError(Argument("fees", {name: fee}), ": expected a number, or @ and the name of a column.")
        else:
            numbers[name] = float(fee)
    amounts = np.array(fees_by_name(numbers, expert_names))
    return amounts, {expert_names.index(name): column for name, column in columns.items()}


def _prices(frame: pd.DataFrame, column: str, *, source: str, first_row: int) -> FloatArray:
    """Return a column of prices, (n,)."""
    if column not in frame.columns:
        raise no_such_column(column, list(map(str, frame.columns)), source=source, role="the fees")
    prices, bad = _numbers(frame[column])
    if bad.size:
        raise TableError(f"{source}: {bad_cell(frame, column, int(bad[0]), _NO_FEE, first_row=first_row).sentence()}")
    return prices


def _numbers(column: "pd.Series[Any]") -> tuple[FloatArray, IntArray]:
    """Return prices (n,), and the places of cells that are none."""
    prices, wrong = numbers(column)
    return prices, np.flatnonzero(wrong | ~((prices >= 0) & (prices < np.inf)))


_NO_FEE = "is not a fee; a fee must be a number that is not negative"
