"""Past cases of which only scores are known: how good each expert's answer was, from 0 (wrong) to 1 (right).

Columns that are known only after a call (scores of others, prices, tokens) would leak as features: a note names them.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.errors import Argument, InputError, Message, TableError
from defero.core.table import ExpertTable
from defero.core.wording import count_of, join_names
from defero.data.cases import CaseFile, Cases
from defero.data.exports.export import TABLE
from defero.data.tables.bad_rows import BadCell, BadRows, BadRowsError, bad_cell
from defero.data.tables.cells import numbers

_PRICE = re.compile(r"(^|[_\s.-])(prices?|costs?|fees?|dollars|usd)$", re.IGNORECASE)
_CALL = re.compile(r"(tokens?_out|out(put)?_tokens?|completion_tokens?|(^|[_\s.-])latency)(_(s|ms))?$", re.IGNORECASE)
SCORES, PRICES, CALLS = "scores", "prices", "figures of a call"
WORDS = {"right": 1.0, "correct": 1.0, "true": 1.0, "wrong": 0.0, "incorrect": 0.0, "false": 0.0}
"""Scores that are written as words, in any case."""
NOT_A_SCORE = "is no score; a score is a number from 0 to 1, the word right or wrong, or blank"
_OF_LABELS = ("label", "item", "annotator", "answer", "majority_label", "control", "rename", "image_column")


def scored_cases(file: CaseFile) -> Cases:
    """Read cases with scores; rows without any score are left out, and the remarks say so."""
    spec, names = file.spec, file.experts or ()
    _check(file)
    items = file.source.read(as_text=[spec.key, *file.as_written], sift=file.sift)
    named = file.roles(label=None, key=spec.key, experts=names)
    chosen, left_out = file.choose(items, named)
    if file.sift is None:
        _refuse_bad_scores(items, names, source=file.name, first_row=file.source.first_row)
    scores = np.column_stack([scores_of(items[name])[0] for name in names])
    scored = np.isfinite(scores).any(axis=1)
    n_blank = int((~scored).sum())
    if not scored.any():
        raise TableError(f"{file.name}: no row has a score of {', '.join(names)}.")
    items, remarks = items.iloc[np.flatnonzero(scored)], list[str]()
    if n_blank:
        verb = "has no score and is" if n_blank == 1 else "have no score and are"
        remarks.append(f"{count_of(n_blank, 'row')} {verb} left out.")
    return Cases(
        table=ExpertTable.of_scores(scores[scored], features=items[chosen], expert_names=names),
        apart=file.columns_apart(items),
        key=spec.key,
        file=file,
        frame=items,
        named=named,
        left_out=left_out,
        first_row=file.source.first_row,
        remarks=tuple(remarks),
    )


def _check(file: CaseFile) -> None:
    """Refuse what is for cases with labels."""
    if not file.experts:
        raise InputError(
            f"with scores, name the columns of the members with {Argument('expert_names')}, such as gpt,llama."
        )
    said = {name: getattr(file.spec, name) for name in _OF_LABELS}
    said |= {"answers": file.answers is not None, "format": file.format if file.format != TABLE else None}
    for name, value in said.items():
        if value:
            raise InputError(f"{Argument(name)}: is for cases with labels, not for {Argument('scores')}; leave it out.")


def _refuse_bad_scores(frame: pd.DataFrame, names: Sequence[str], *, source: str, first_row: int) -> None:
    bad = BadRows(source, lambda piece: bad_scores(piece, names, first_row=first_row), first_row)
    try:
        list(bad.good(iter([frame])))
    except BadRowsError:
        raise bad.cells.error(source, can_skip=False) from None


def bad_scores(frame: pd.DataFrame, names: Sequence[str], *, first_row: int) -> list[BadCell]:
    """Return the cells of some columns that are no scores."""
    bad = []
    for name in names:
        values, wrong = scores_of(frame[name])
        with np.errstate(invalid="ignore"):
            wrong |= (values < 0) | (values > 1)
        places = np.flatnonzero(wrong).tolist()
        bad += [bad_cell(frame, name, place, NOT_A_SCORE, first_row=first_row) for place in places]
    return bad


def scores_of(column: "pd.Series[Any]") -> tuple[FloatArray, BoolArray]:
    """Return the scores of a column, and which cells are none.

    >>> values, wrong = scores_of(pd.Series(["Right", "0.5", " wrong", "rigth", ""]))
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


def late_note(cases: Cases, *, fees: Sequence[str]) -> list[str]:
    """Return the caution on such columns of cases whose features nobody named; `fees` are columns of prices."""
    if cases.spec.features is not None:
        return []
    features = [name for name in cases.table.features.columns if name not in cases.spec.text]
    kinds = late_columns(cases.frame, features, fees=fees)
    if not kinds:
        return []
    what = "; ".join(f"{join_names(names)} may be {kind}" for kind, names in kinds.items())
    return [
        Message(
            f"features that may be known only after a call: {what}. A feature must be known before a member is asked, "
            f"and `route` will need it. Where these are not, name the features with {Argument('features')} and leave "
            "them out."
        )
    ]
