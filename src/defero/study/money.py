"""Terms whose fees or costs of errors stand in files, or in columns of the cases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.labels import Labels
from defero.core.wording import join_names
from defero.data.tables.bad_rows import BadCell, BadCells, bad_cell
from defero.data.tables.cells import is_blank, no_such_column, number_of, numbers, text_of
from defero.data.tables.read import TableSource
from defero.decide.costs import in_class_order
from defero.decide.terms import LIMITS, TeamTerms, Terms, check_terms
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


def member_fees(fees: Any, expert_names: tuple[str, ...]) -> dict[str, Any]:
    """Return fees by name, of everybody for whom there is one.

    >>> member_fees({"all": 0.5, "large": "@cost"}, ("small", "large"))
    {'large': '@cost', 'small': 0.5}
    """
    if fees is None:
        return {}
    if isinstance(fees, Mapping):
        own = dict(fees)
    else:
        own = {"all": fees} if np.ndim(fees) == 0 else dict(zip(expert_names, fees, strict=True))
    if "all" in own and "all" not in expert_names:
        everybody = own.pop("all")
        own |= {name: everybody for name in expert_names if name not in own}
    return own


def fee_columns(fees: Any) -> list[str]:
    """Return the columns of a table that fees stand in, each once."""
    given = fees.values() if isinstance(fees, Mapping) else ()
    return list(dict.fromkeys(fee[1:] for fee in given if isinstance(fee, str) and fee[:1] == "@"))


def need_labels(given: Mapping[str, object]) -> None:
    """Refuse what was given though the experts have only scores."""
    for name, value in given.items():
        if value:
            raise InputError(f"{Argument(name)}: is for teams with labels, not for scores; leave it out.")


def terms_of_fit(terms: Terms | None, expert_names: tuple[str, ...]) -> Terms:
    """Return the terms of a team whose experts have only scores: a fee by name for everybody, or none at all."""
    resolved = with_fees(check_terms(terms, unused=("absent", "available", "prices", "cost_matrix", *LIMITS)))
    fees = member_fees(resolved.fees, expert_names)
    missing = [name for name in expert_names if name not in fees]
    if fees and missing:
        raise InputError(
            f": no price for {join_names(missing)}; every member needs one, such as "
            f"{Argument('fees', {missing[0]: 0.5})} or {Argument('fees', {'all': 0.5})}.",
            argument="fees",
        )
    if resolved.error_cost is not None and not fees:
        raise InputError(
            f"is weighed against what a call costs; name the prices with {Argument('fees')}.", argument="error_cost"
        )
    own = replace(resolved, fees=fees or None)
    own.of(expert_names, np.empty(0, dtype=object))  # raises where a fee is none
    return own


def terms_of_study(terms: Terms | None, team: Team, columns: Sequence[str]) -> tuple[TeamTerms, list[str]]:
    """Check terms, of which some may stand in files, against a team; costs that are not given are those of `fit`.

    Parameters
    ----------
    terms : Terms, optional
    team : Team
    columns : names
        Of the table at hand. A price that stood in a column of `fit` is the expected one where it lacks that column.

    Returns
    -------
    terms : TeamTerms
    notes : sentences
        On prices that are expected ones.
    """
    resolved = with_files(terms, team.classes)
    if not team.scored_only:
        return resolved.of(team.expert_names, team.classes, before=terms_of(team)), []
    notes: list[str] = []
    if np.ndim(resolved.fees) < 2:
        now, before = member_fees(resolved.fees, team.expert_names), dict(team.facts.fees)
        missing = {name: fee for name, fee in before.items() if isinstance(fee, str) and fee[1:] not in columns}
        absent = {name: fee[1:] for name, fee in missing.items() if name not in now}
        if absent:
            who = "all members" if len(absent) == len(team.expert_names) else join_names(absent)
            notes.append(
                f"no column {join_names(dict.fromkeys(absent.values()))} with prices: expected prices of {who}, "
                "learned in fit, are used."
            )
        known = {name: fee for name, fee in before.items() if name not in missing}
        resolved = replace(resolved, fees={**known, **now} or None)
    rules = [name for name in ("floor", "error_cost", "budget") if getattr(resolved, name) is not None]
    if len(rules) > 1:
        raise InputError(
            f"and {Argument(rules[1])} are two rules for the same choice; pass one of them.", argument=rules[0]
        )
    if not rules:
        resolved = replace(resolved, error_cost=team.facts.error_cost)
    elif resolved.fees is None and team.prices is None:
        raise InputError(
            f"is weighed against what a call costs; name the prices with {Argument('fees')}.", argument=rules[0]
        )
    if resolved.cost_matrix is not None:
        raise InputError(f"{Argument('cost_matrix')}: is for teams with labels; leave it out.")
    learned = None if team.prices is None else team.prices.known
    own = resolved.of(team.expert_names, team.classes, learned=learned)
    if own.available is not None and not own.available.any():
        raise InputError(f"{Argument('absent', list(resolved.absent))}: nobody of the team is left.")
    return own, notes


def with_files(terms: Terms | None, classes: Labels) -> Terms:
    """Return terms whose fees and cost matrix have been read, and checked to mean what they seem to."""
    resolved = with_fees(terms)
    matrix = resolved.cost_matrix
    return resolved if matrix is None or not len(classes) else replace(resolved, cost_matrix=matrix_of(matrix, classes))


def with_fees(terms: Terms | None) -> Terms:
    """Return terms whose fees have been read."""
    resolved = check_terms(terms)
    return replace(resolved, fees=read_fees(resolved.fees)) if isinstance(resolved.fees, str | PathLike) else resolved


def on_cases(terms: TeamTerms, frame: pd.DataFrame, *, source: str, first_row: int) -> TeamTerms:
    """Return the terms of the cases of a table; its index plus `first_row` is the row in the file."""
    if not terms.columns:
        return terms
    bad = BadCells()
    bad.add(bad_fees(terms, frame, source=source, first_row=first_row))
    if bad:
        raise bad.error(source, can_skip=False)
    fees = np.tile(np.zeros(len(terms.expert_names)) if terms.fees is None else terms.fees, (len(frame), 1))
    for j, column in terms.columns.items():
        fees[:, j] = _prices(terms, frame, column, source)[0]
    return replace(terms, fees=fees, columns=terms.columns if terms.costs.matrix.size else {})


def bad_fees(terms: TeamTerms, frame: pd.DataFrame, *, source: str, first_row: int) -> list[BadCell]:
    """Return all cells of prices that are none; a blank one is a price that nobody knows, of experts with scores."""
    bad = []
    for column in dict.fromkeys(terms.columns.values()):
        places = _prices(terms, frame, column, source)[1].tolist()
        bad += [bad_cell(frame, column, place, _NO_PRICE, first_row=first_row) for place in places]
    return bad


def _prices(terms: TeamTerms, frame: pd.DataFrame, column: str, source: str) -> tuple[FloatArray, IntArray]:
    """Return a column of prices (n,), and the places of cells that are none."""
    if column not in frame.columns:
        raise no_such_column(column, list(map(str, frame.columns)), source=source, role="the fees")
    prices, wrong = numbers(frame[column])
    unknown = np.isnan(prices) & ~wrong if not terms.costs.matrix.size else np.zeros(len(prices), dtype=np.bool_)
    return prices, np.flatnonzero(wrong | ~(unknown | ((prices >= 0) & (prices < np.inf))))


_NO_PRICE = "is not a price; a price must be a number that is not negative"
