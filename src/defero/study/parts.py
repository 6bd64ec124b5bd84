"""Four disjoint parts of past cases: to learn from, to calibrate, to conformalize, for the test; what is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.order import row_order
from defero.core.splits import Parts, SplitError, refuse_shared_groups, split_by_time, split_in_order
from defero.core.table import ExpertTable
from defero.core.wording import count_of, join_names
from defero.data.cases import Cases
from defero.data.copies import equal_rows
from defero.data.recipes.inputs import refuse_unused
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.cells import is_blank, numbers, quote_cell, row_number
from defero.data.tables.wide import PARTS, name_text, part_named

PART_NAMES = ("train", "calibrate", "conformalize", "test")
OTHER = 0.1875
"""Of the cases that are not for the test: the share of each of the parts to calibrate and to conformalize."""
MOST_OTHER = 2_000
"""Each of these parts has at most about so many cases: more make neither better, but learning."""
FEW_ANSWERS = 100
"""Where most cells are empty and experts gave fewer answers, fewer cases are kept apart for panels."""
TEST = 0.2


def four_parts(
    cases: Cases, *, test_share: float = TEST, random_state: int
) -> tuple[ExpertTable, ExpertTable, ExpertTable, ExpertTable]:
    """Split cases into parts to learn from, to calibrate, to conformalize and to test.

    Parameters
    ----------
    cases : Cases
        Their `spec` names the columns of groups, of time and of a split. All rows of a group go to the same part. The
        earliest cases are learned from, the latest are the test. A split column says which cases are for the test
        (see `PARTS`): those it calls val are shared between calibrating and conformalizing; a part that it does not
        name is cut from the cases to learn from.
    test_share : float
        Share of the cases for the test, without a split column.
    random_state : int
    """
    source, groups, time, split = cases.source, cases.spec.groups, cases.spec.time, cases.spec.split
    if groups is not None and time is not None:
        raise InputError(
            f"{Argument('groups')} and {Argument('time')} cannot be combined: the cases of one group can lie in "
            "two periods. Pass one of them."
        )
    scored, group_ids = cases.table.scores is not None, None if groups is None else _names(cases, groups)
    order = _order(cases, group_ids)
    if scored and groups is None:
        group_ids = equal_rows(cases.table.features, text=cases.spec.text)
        if len(np.unique(group_ids)) < 2:
            rows_here = count_of(len(cases), "row") + " with a score"
            one_group = "" if len(cases) == 1 else ", all of one group"
            raise TableError(f"{source}: has {rows_here}{one_group}: nothing is left for the test; add rows.")
    cutter = _Cutter(
        place=np.argsort(order),
        label_idx=cases.table.label_idx,
        groups=group_ids,
        times=None if time is None else _times(cases, time),
        rng=np.random.default_rng(random_state),
    )
    try:
        if split is not None:
            rows = _as_the_column_says(cases, split, cutter)
            if cutter.groups is not None:
                refuse_shared_groups(cutter.groups, rows)
        else:
            rows = cutter.cut(
                np.arange(len(cases.table)),
                (1 - test_share, test_share) if scored else _sizes(cases.table, 1 - test_share),
            )
    except SplitError as error:
        argument = Argument("groups" if error.argument == "groups" else "time")
        finer = "smaller groups" if argument.name == "groups" else "finer times"
        advice = (
            f"; pass {argument} a column of {finer}, or name the part of each row in a column for {Argument('split')}, "
            f"or leave {argument} out"
        )
        column = cases.spec.cuts[argument.name]
        raise TableError(
            f"{source}: column {column}: {error.reason}{'' if error.advice is None else advice}."
        ) from error
    if scored:  # nothing is calibrated, and there are no panels
        rows = (rows[0], rows[0][:0], rows[0][:0], rows[1])
    learn, calibrate, conformalize, test = (cases.table.take(part) for part in rows)
    return learn, calibrate, conformalize, test


def _order(cases: Cases, groups: NDArray[Any] | None) -> IntArray:
    """Return the rows in the order of their keys' hashes, where each has a key of its own, or else of all they hold."""
    keys = cases.frame.get(cases.key)
    if cases.table.scores is not None:
        return cases.table.row_order(group=groups)
    if keys is not None and keys.is_unique:
        return row_order(keys.astype(str).to_frame(), np.zeros(len(keys), dtype=np.int64))
    return cases.table.row_order(groups=groups)


@dataclass(frozen=True, eq=False)
class _Cutter:
    """Cuts any of the rows by the rule that was asked for; `place` (n,) is where each stands in the order of draws."""

    place: IntArray
    label_idx: IntArray
    groups: NDArray[Any] | None
    times: NDArray[Any] | None
    rng: np.random.Generator

    def cut(self, rows: IntArray, fractions: Sequence[float]) -> Parts:
        sizes = tuple(fraction / sum(fractions) for fraction in fractions)
        if self.times is not None:
            return tuple(rows[part] for part in split_by_time(self.times[rows], sizes))
        order = rows[np.argsort(self.place[rows])]
        return split_in_order(order, self.label_idx, sizes, rng=self.rng, groups=self.groups)


def _as_the_column_says(cases: Cases, column: str, cutter: _Cutter) -> Parts:
    role = _roles(cases, column)
    rows = {name: np.flatnonzero(role == name) for name in PARTS}
    for name, what in (("test", "for the test"), ("learn", "to learn from")):
        if not len(rows[name]):
            raise TableError(f"{cases.source}: column {column}: no case is {what} ({join_names(PARTS[name])}).")
    if cases.table.scores is not None:
        return np.flatnonzero(role != "test"), rows["test"]
    others = ("calibrate", "conformalize")
    if len(rows["held"]):
        lacking = [name for name in others if not len(rows[name])]
        if len(lacking) == 1:
            rows[lacking[0]] = rows["held"]
        else:
            for name, half in zip(others, cutter.cut(rows["held"], (0.5, 0.5)), strict=True):
                rows[name] = np.concatenate([rows[name], half])
    lacking = [name for name in others if not len(rows[name])]
    if lacking:
        learn, *shares, _ = _sizes(cases.table.take(rows["learn"]), 1.0)
        cut = [share for name, share in zip(others, shares, strict=True) if name in lacking]
        rows["learn"], *parts = cutter.cut(rows["learn"], (learn, *cut))
        rows.update(zip(lacking, parts, strict=True))
    return tuple(np.sort(rows[name]) for name in ("learn", *others, "test"))


def _sizes(table: ExpertTable, share: float) -> tuple[float, float, float, float]:
    """Return the sizes of the four parts, where a share of the cases is not for the test.

    Where most cells are empty, a case says little about panels but has some of the few answers to learn an expert's
    skill from: below `FEW_ANSWERS` answers of the median expert the part for panels shrinks in proportion.
    """
    other = min(OTHER, MOST_OTHER / (share * len(table)))
    n_answers = share * float(np.median(table.answer_counts)) if len(table.answer_counts) else 0.0
    enough = n_answers >= 0.5 * share * len(table)
    panels = other if enough else other * min(1.0, max(n_answers, 10.0) / FEW_ANSWERS)
    return (1 - other - panels) * share, other * share, panels * share, 1 - share


def _roles(cases: Cases, column: str) -> NDArray[Any]:
    """Return the part that each case is in, by name."""
    cells = _filled(cases, column, what="part").tolist()
    known = {cell: part_named(cell) for cell in set(cells)}
    roles = np.array([known[cell] for cell in cells], dtype=object)
    if None in known.values():
        place = cells.index(next(cell for cell in cells if known[cell] is None))
        words = join_names(words[0] for words in PARTS.values())
        raise _refused(cases, column, place, f"{quote_cell(cells[place])} names no part; expected {words}.")
    return roles


def _names(cases: Cases, column: str) -> NDArray[Any]:
    """Return the group of each case, by name."""
    return np.array([*map(name_text, _filled(cases, column, what="group").tolist()), None], dtype=object)[:-1]


def _filled(cases: Cases, column: str, *, what: str) -> "pd.Series[Any]":
    """Return a column that has no blank cells."""
    cells = cases.apart[column]
    place = next((place for place, cell in enumerate(cells.tolist()) if is_blank(cell)), None)
    if place is not None:
        raise _refused(cases, column, place, f"the {what} is blank; fill it in or drop the row.")
    return cells


def _refused(cases: Cases, column: str, place: int, why: str) -> TableError:
    row = row_number(cases.apart, place, first_row=cases.first_row)
    return TableError(f"{cases.source}: row {row}, column {column}: {why}")


def _times(cases: Cases, column: str) -> NDArray[Any]:
    """Return (n,) numbers or dates that grow with time."""
    cells = _filled(cases, column, what="time")
    if cells.dtype.kind == "M":
        return cells.to_numpy()
    values, wrong = numbers(cells)
    if not wrong.any():
        return values
    dates = pd.to_datetime(cells.astype(str), utc=True, format="ISO8601", errors="coerce")
    neither: BoolArray = dates.isna().to_numpy() & wrong
    if neither.any():
        place = int(np.argmax(neither))
        expected = "expected a number, or a date as 2024-05-01 or 2024-05-01T09:30, in every row."
        raise _refused(cases, column, place, f"{quote_cell(cells.iloc[place])} is no time; {expected}")
    compact = dates.notna().to_numpy() & cells.astype(str).str.fullmatch(_COMPACT).to_numpy()
    number: BoolArray = ~wrong & ~compact
    if not number.any():
        return dates.to_numpy()
    # Such as a spreadsheet's days, or bare years, beside dates.
    places = (int(np.argmax(number)), int(np.argmin(number)))
    rows = [row_number(cases.apart, place, first_row=cases.first_row) for place in places]
    first, second = (quote_cell(cells.iloc[place]) for place in places)
    raise TableError(
        f"{cases.source}: column {column} mixes numbers and dates: row {rows[0]} has the number {first}, row {rows[1]} "
        f"has the date {second}; write every time as a number, or every one as a date like 2024-05-01 (in a "
        "spreadsheet, format the column as dates and export it again)."
    )


_COMPACT = r"\s*\d{8}(\.0)?\s*"
"""A date without its dashes, and no number."""
MOST_SEED = 2**32 - 1
LEAST_LEARN, LEAST_CASES = 10, 20
"""Two cases for each of the five folds that training looks at, and as many more for the other three parts."""


def check_test_share(test_share: float | None, *, split: str | None) -> None:
    """Refuse a share that cannot be."""
    if test_share is not None and not 0 < test_share < 1:
        raise InputError(f"must lie between 0 and 1, got {test_share:g}.", argument="test_share")
    if test_share is not None and split is not None:
        raise InputError(
            f": the column {split} says which cases are for the test; leave one of them out.", argument="test_share"
        )


def cut_cases(
    cases: Cases, cuts: Mapping[str, str | None], *, test_share: float | None, random_state: int
) -> tuple[Cases, tuple[ExpertTable, ...]]:
    """Split cases in four, after checking that there is something to learn from and to judge by.

    Parameters
    ----------
    cases : Cases
    cuts : {"groups", "time", "split": column or None}
    test_share, random_state
        As in `Study`.

    Returns
    -------
    cases : Cases
        Without these columns among the features.
    parts : four ExpertTable
    """
    if not isinstance(cases, Cases):
        got = f"the text {cases!r}" if isinstance(cases, str) else type(cases).__name__
        raise InputError(
            f"must be what read_cases returned, got {got}; pass read_cases(table, label=..., expert_names=[...]).",
            argument="cases",
        )
    check_test_share(test_share, split=cuts.get("split"))
    if not isinstance(random_state, Integral) or not 0 <= int(random_state) <= MOST_SEED:
        raise InputError(
            f"must be a whole number from 0 to {MOST_SEED}, got {random_state!r}.", argument="random_state"
        )
    cases = cases.split_by(**cuts)
    table, source, scored = cases.table, cases.source, cases.table.scores is not None
    where = source if cases.spec.label is None else f"{source}: column {cases.spec.label}"
    if not scored:
        _check_table(cases, where=where)
    parts = four_parts(cases, test_share=TEST if test_share is None else test_share, random_state=random_state)
    if scored:
        return cases, parts
    if len(parts[0]) < LEAST_LEARN or not all(map(len, parts)):
        learn, held, panels, test = map(len, parts)
        raise TableError(
            f"{source}: {len(table)} cases, so split, leave {learn} to learn from, {held} to calibrate, {panels} to "
            f"conformalize and {test} for the test; expected at least {LEAST_LEARN} to learn from and one of each of "
            "the others. Pass more, or split in another way."
        )
    if table.n_experts and not parts[0].n_answers:
        raise TableError(
            f"{source}: no expert answered any of the cases to learn from; fill in answers, or pass "
            f"{Argument('expert_names', [])} for a model alone."
        )
    _check_classes(cases, parts[0], where=where)
    if cases.pictures is None and cases.spec.features is not None:
        chosen = [name for name in cases.spec.features if name not in cases.spec.text]
        refuse_unused(parts[0].features, table.features, chosen, source=source, first_row=cases.first_row)
    return cases, parts


def _check_table(cases: Cases, *, where: str) -> None:
    """Refuse cells that cannot be used, with the file and the row, and labels that cannot be learned."""
    table = cases.table
    if len(table) < LEAST_CASES:
        raise TableError(
            f"{cases.source}: {count_of(len(table), 'case')} {'is' if len(table) == 1 else 'are'} too few; expected at "
            f"least {LEAST_CASES}: {LEAST_LEARN} to learn from, and 3 or 4 each to calibrate, to conformalize and for "
            "the test. Dozens make a start, hundreds a team."
        )
    if cases.pictures is None:
        place: dict[str, Any] = {"source": cases.source, "first_row": cases.first_row}
        FeatureRecipe.learn(table.features, text=cases.spec.text, reads_texts=False, **place)
    if table.n_classes < 2:
        raise TableError(f"{where}: the label is {table.classes[0]!s} in every row, so there is nothing to learn.")
    if table.classes.dtype.kind == "f" and (table.classes % 1 != 0).any():
        raise TableError(f"{where}: labels must be words or whole numbers, got {join_names(table.classes, most=3)}.")


def _check_classes(cases: Cases, learn: ExpertTable, *, where: str) -> None:
    """Refuse a split that leaves a class out of the cases to learn from: no model can know it."""
    table = cases.table
    unknown = sorted(set(table.label_idx.tolist()) - set(learn.label_idx.tolist()))
    if not unknown:
        return
    places = (table.label_idx == unknown[0]).nonzero()[0]
    row = row_number(table.features, int(places[0]), first_row=cases.first_row)
    how = " ".join(f"{Argument(name, column)}" for name, column in cases.spec.cuts.items() if column is not None)
    raise TableError(
        f"{where}: no case to learn from has the label {str(table.classes[unknown[0]])!r} ({len(places)} have it, the "
        f"first in row {row}), as {how} splits them; leave those rows out, or split in another way."
    )
