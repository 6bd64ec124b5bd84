"""PoolCases: a table of items with the scores of a pool's members.

Columns that are known only after a call (scores of others, prices, tokens) would leak as features: a note names them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.wording import count_of, join_names
from defero.data.tables.bad_rows import STOP, BadCell, BadRows, BadRowsError, FindBad, are_skipped, bad_cell
from defero.data.tables.cells import BlankCells, no_such_column, numbers
from defero.data.tables.read import Table, TableSource
from defero.data.tables.wide import feature_columns, split_like
from defero.study.sifting import list_bad_rows

_PRICE = re.compile(r"(^|[_\s.-])(prices?|costs?|fees?|dollars|usd)$", re.IGNORECASE)
_CALL = re.compile(r"(tokens?_out|out(put)?_tokens?|completion_tokens?|(^|[_\s.-])latency)(_(s|ms))?$", re.IGNORECASE)
SCORES, PRICES, CALLS = "scores", "prices", "figures of a call"


def late_columns(frame: pd.DataFrame, features: Sequence[str], *, fees: Sequence[str]) -> dict[str, list[str]]:
    """Return the feature columns that look as if they were known only after a call, by what they look like.

    Parameters
    ----------
    frame : DataFrame
    features : names
    fees : names
        Columns of prices; a copy of one is a price too.

    Examples
    --------
    >>> frame = pd.DataFrame({"words": [5, 9, 7], "gpt": [1, 0, 1], "gpt_price": [0.1, 0.2, 0.1]})
    >>> late_columns(frame, ["words", "gpt", "gpt_price"], fees=[])
    {'scores': ['gpt'], 'prices': ['gpt_price']}
    """
    paid = [numbers(frame[name])[0] for name in fees if name in frame.columns]
    kinds: dict[str, list[str]] = {}
    for name in features:
        values, wrong = numbers(frame[name])
        seen = values[np.isfinite(values)]
        if wrong.any() or not seen.size:
            continue
        if _PRICE.search(name) or any(np.array_equal(values, price, equal_nan=True) for price in paid):
            kinds.setdefault(PRICES, []).append(name)
        elif _CALL.search(name):
            kinds.setdefault(CALLS, []).append(name)
        elif ((seen >= 0) & (seen <= 1)).all() and np.ptp(seen) > 0:
            has_gaps, right_or_wrong = len(seen) < len(values), np.isin(seen, (0, 1)).all()
            if has_gaps or right_or_wrong:
                kinds.setdefault(SCORES, []).append(name)
    return kinds


def late_note(kinds: dict[str, list[str]]) -> list[str]:
    """Return the caution on such columns; none where there are none."""
    if not kinds:
        return []
    what = "; ".join(f"{join_names(names)} may be {kind}" for kind, names in kinds.items())
    return [
        Message(
            f"features that may be known only after a call: {what}. A feature must be known before a member is "
            f"asked, and `route` will need it. Where these are not, name the features with {Argument('features')} "
            "and leave them out."
        )
    ]


PRICE_ROLE = "the price"
NOT_A_SCORE = "is no score; a score is a number from 0 to 1, the word right or wrong, or blank"


@dataclass(frozen=True, eq=False)
class PoolCases:
    """Items with scores.

    Attributes
    ----------
    frame : (n, ...) DataFrame
        All columns.
    features : names
        Feature columns.
    scores : (n, J)
        NaN where a cell is blank.
    expert_names : J names
    source, first_row : str, int
        What messages call the table and its first row.
    notes : sentences
    """

    frame: pd.DataFrame
    features: tuple[str, ...]
    scores: FloatArray
    expert_names: tuple[str, ...]
    source: str
    first_row: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def items(self) -> pd.DataFrame:
        """The feature columns."""
        return self.frame[list(self.features)]


def read_pool(
    table: Table,
    *,
    expert_names: Sequence[str] | None,
    features: Sequence[str] | None = None,
    text: Sequence[str] = (),
    apart: Sequence[tuple[str, str]] = (),
    bad_rows: str = STOP,
    find_bad: FindBad | None = None,
    blanks: BlankCells | None = None,
) -> PoolCases:
    """Read items with scores; rows without any score are left out, and `notes` say so.

    Parameters
    ----------
    table : path or DataFrame
        One row per item, one column of scores per member: from 0 to 1, or right and wrong, blank where there is none.
    expert_names : names
        The columns of the scores.
    features : names, optional
        Feature columns; by default all that have no other role.
    text : names
        Feature columns that are texts.
    apart : (column, role) pairs
        Columns that are no features: the key, prices, groups.
    bad_rows : "stop" or "skip"
        What becomes of a table with bad cells: the error names all of them, or their rows are left out and listed in
        <table>.bad-rows.csv.
    find_bad : callable, optional
        Returns the bad cells of features and prices; those of the scores are sought here.
    blanks : BlankCells, optional
        Values that mean none.
    """
    if not expert_names:
        raise InputError(
            f"with scores, name the columns of the members with {Argument('expert_names')}, such as gpt,llama."
        )
    source = TableSource.of(table, blanks=blanks)
    frame = source.read(as_text=[])
    columns = list(map(str, frame.columns))
    named = list(dict.fromkeys([*((name, "a member's scores") for name in expert_names), *apart]))
    chosen = None if features is None else [*features, *(name for name in text if name not in features)]
    for name in text:
        if name not in columns:
            raise no_such_column(name, columns, source=source.name, role="the text")
    left_out = [name for name in split_like(frame) if name not in dict(named)] if chosen is None else []
    used = feature_columns(columns, source=source.name, named=named, features=chosen, leave_out=left_out)
    frame, notes = _without_bad_rows(frame, source, expert_names, find_bad, skip=are_skipped(bad_rows))
    if chosen is None:
        prices = [name for name, role in named if role == PRICE_ROLE]
        notes += late_note(late_columns(frame, [name for name in used if name not in text], fees=prices))
    scores = np.column_stack([_numbers_or_words(frame[name])[0] for name in expert_names])
    blank = ~np.isfinite(scores).any(axis=1)
    n_blank = int(blank.sum())
    verb = "has no score and is" if n_blank == 1 else "have no score and are"
    notes += [f"{count_of(n_blank, 'row')} {verb} left out."] if n_blank else []
    if blank.all():
        raise TableError(f"{source.name}: no row has a score of {', '.join(expert_names)}.")
    return PoolCases(
        frame.iloc[np.flatnonzero(~blank)],
        tuple(used),
        scores[~blank],
        tuple(expert_names),
        source.name,
        source.first_row,
        tuple(notes),
    )


WORDS = {"right": 1.0, "correct": 1.0, "true": 1.0, "wrong": 0.0, "incorrect": 0.0, "false": 0.0}
"""Scores that are written as words, in any case."""


def _without_bad_rows(
    frame: pd.DataFrame, source: TableSource, expert_names: Sequence[str], find_bad: FindBad | None, *, skip: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows that can be used, and a note on the others; they are an error unless they are skipped."""

    def find(piece: pd.DataFrame) -> list[BadCell]:
        scores = [one for name in expert_names for one in _bad_scores(piece, name, source)]
        return [*scores, *([] if find_bad is None else find_bad(piece))]

    bad = BadRows(source.name, find, source.first_row, skip)
    try:
        good = list(bad.good(iter([frame])))
    except BadRowsError:
        raise bad.cells.error(source.name, can_skip=find_bad is not None) from None
    if not bad.cells:
        return frame, []
    return good[0], list_bad_rows(bad, source.path)


def _bad_scores(frame: pd.DataFrame, name: str, source: TableSource) -> list[BadCell]:
    values, wrong = _numbers_or_words(frame[name])
    with np.errstate(invalid="ignore"):
        wrong |= (values < 0) | (values > 1)
    return [
        bad_cell(frame, name, place, NOT_A_SCORE, first_row=source.first_row)
        for place in np.flatnonzero(wrong).tolist()
    ]


def _numbers_or_words(column: Any) -> tuple[FloatArray, BoolArray]:
    """Return the scores of a column, and which cells are none.

    >>> values, wrong = _numbers_or_words(["Right", "0.5", " wrong", "rigth", ""])
    >>> values.tolist(), wrong.tolist()
    ([1.0, 0.5, 0.0, nan, nan], [False, False, False, True, False])
    """
    values, wrong = numbers(column)
    cells = np.asarray(column, dtype=object)
    for place in np.flatnonzero(wrong).tolist():
        word = str(cells[place]).strip().lower()
        if word in WORDS:
            values[place], wrong[place] = WORDS[word], False
    return values, wrong
