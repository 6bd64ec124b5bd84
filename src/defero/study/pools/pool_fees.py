"""Fees of a pool's members as somebody gives them: money, or a column of the table with a price for each case."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names
from defero.data.tables.bad_rows import BadCell, BadCells, bad_cell
from defero.data.tables.cells import no_such_column, numbers
from defero.decide.terms import available_without

Fees = Mapping[str, float | str]
"""By member: money, or "@column"; the name "all" stands for everybody who is not named."""

MemberFees = dict[str, float | str]
"""A fee for every member, or for some: the prices of the others are those learned in `fit`."""


def member_fees(
    fees: Fees | None, expert_names: tuple[str, ...], *, learned: Fees | None = None, partial: bool = False
) -> MemberFees | None:
    """Return a fee for every member; None where no fee is given.

    Parameters
    ----------
    fees : {name: money or "@column"}
    expert_names : J names
    learned : fees, optional
        Those of `fit`, for members that are not named.
    partial : bool
        Whether members may be left without a fee.

    >>> member_fees({"all": 0.5, "large": "@cost"}, ("small", "large"))
    {'small': 0.5, 'large': '@cost'}
    >>> member_fees({"small": 0.2}, ("small", "large", "new"), learned={"small": 0.5, "large": 3}, partial=True)
    {'small': 0.2, 'large': 3}
    """
    if not (fees or learned):
        return None
    fees = fees or {}
    unknown = [name for name in fees if name not in (*expert_names, "all")]
    if unknown:
        hint = did_you_mean(unknown[0], expert_names)
        raise InputError(
            f": no expert {join_names(unknown)}{hint} There are {join_names(expert_names)}.", argument="fees"
        )
    earlier = {} if "all" in fees else {name: fee for name, fee in (learned or {}).items() if name in expert_names}
    missing = [name for name in expert_names if name not in {**fees, **earlier} and "all" not in fees]
    if missing and not partial:
        raise InputError(
            f": no price for {join_names(missing)}; every member needs one, such as "
            f"{Argument('fees', {missing[0]: 0.5})} or {Argument('fees', {'all': 0.5})}.",
            argument="fees",
        )
    by_member = {
        name: fees.get(name, earlier.get(name, fees.get("all", 0.0))) for name in expert_names if name not in missing
    }
    for name, fee in by_member.items():
        if not isinstance(fee, str) and not (np.isfinite(fee) and fee >= 0):
            raise InputError(f": {name} must cost a finite amount of at least 0, got {fee:g}.", argument="fees")
    return by_member


def fee_columns(fees: Fees | None) -> list[str]:
    """Return the columns that fees are read from."""
    return [fee.removeprefix("@") for fee in (fees or {}).values() if isinstance(fee, str)]


def usable_fees(
    by_member: MemberFees | None, fees: Fees | None, columns: Sequence[str]
) -> tuple[MemberFees | None, list[str]]:
    """Return the fees that a table has, and a note on those that are learned prices instead.

    A column of `fit` that the table does not have is left out; one that is named in `fees` must be there.

    Parameters
    ----------
    by_member : fees of the members
    fees : fees, optional
        As somebody gave them, now.
    columns : names
        Of the table.
    """
    if by_member is None:
        return None, []
    named = set(fee_columns(fees))
    missing = {
        name: column
        for name, column in ((name, fee.removeprefix("@")) for name, fee in by_member.items() if isinstance(fee, str))
        if column not in columns and column not in named
    }
    if not missing:
        return by_member, []
    usable = {name: fee for name, fee in by_member.items() if name not in missing}
    who = "all members" if not usable else join_names(missing)
    absent = join_names(dict.fromkeys(missing.values()))
    note = f"no column {absent} with prices: expected prices of {who}, learned in fit, are used."
    return usable or None, [note]


def prices_of(
    fees: Fees | None, frame: pd.DataFrame, expert_names: tuple[str, ...], *, source: str, first_row: int
) -> FloatArray | None:
    """Return the prices (n, J) of the rows of a table, NaN for a blank cell or no fee; None without fees."""
    if fees is None:
        return None
    columns: list[FloatArray] = []
    bad = BadCells()
    for name in expert_names:
        fee = fees.get(name, np.nan)
        if isinstance(fee, str):
            values, wrong = _column(frame, fee.removeprefix("@"), name, source=source, first_row=first_row)
            bad.add(wrong)
            columns.append(values)
        else:
            columns.append(np.full(len(frame), float(fee)))
    if bad:
        raise bad.error(source, can_skip=False)
    return np.column_stack(columns)


def bad_prices(fees: Fees | None, frame: pd.DataFrame, *, first_row: int) -> list[BadCell]:
    """Return all cells of prices for which `prices_of` would raise, in the columns that there are."""
    columns = dict.fromkeys(column for column in fee_columns(fees) if column in frame.columns)
    return [bad for column in columns for bad in _prices(frame, column, first_row=first_row)[1]]


def _column(
    frame: pd.DataFrame, column: str, name: str, *, source: str, first_row: int
) -> tuple[FloatArray, list[BadCell]]:
    if column not in frame.columns:
        raise no_such_column(column, list(map(str, frame.columns)), source=source, role=f"the price of {name}")
    return _prices(frame, column, first_row=first_row)


def _prices(frame: pd.DataFrame, column: str, *, first_row: int) -> tuple[FloatArray, list[BadCell]]:
    values, wrong = numbers(frame[column])
    wrong |= np.isinf(values) | (values < 0)
    why = "is not a price; a price is a number of at least 0"
    return values, [bad_cell(frame, column, int(i), why, first_row=first_row) for i in np.flatnonzero(wrong)]


def present_members(absent: Sequence[str], expert_names: tuple[str, ...]) -> BoolArray | None:
    """Return who of a pool is left, (J,), None for everybody: a pool has no model that could answer alone.

    >>> present_members([], ("ann", "bob")) is None
    True
    """
    present = np.array(available_without(absent, expert_names))
    if not present.any():
        raise InputError(f"{Argument('absent', list(absent))}: nobody of the pool is left.")
    return present if absent else None
