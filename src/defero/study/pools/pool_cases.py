"""PoolCases: a table of items with the scores of a pool's members."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray
from defero.core.errors import Argument, InputError, TableError
from defero.core.wording import count_of
from defero.data.case_file import Table, TableSource
from defero.data.tables.cells import no_such_column, numbers, quote_cell, row_number
from defero.data.tables.roles import feature_columns, split_like


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
) -> PoolCases:
    """Read items with scores; rows without any score are left out, and `notes` say so.

    Parameters
    ----------
    table : path or DataFrame
        One row per item, one column of scores in [0, 1] per member, blank where there is none.
    expert_names : names
        The columns of the scores.
    features : names, optional
        Feature columns; by default all that have no other role.
    text : names
        Feature columns that are texts.
    apart : (column, role) pairs
        Columns that are no features: the key, prices, groups.
    """
    if not expert_names:
        raise InputError(
            "with scores, name the columns of the members with ", Argument("expert_names"), ", such as gpt,llama."
        )
    source = TableSource.of(table)
    frame = source.read(as_text=[])
    columns = list(map(str, frame.columns))
    named = list(dict.fromkeys([*((name, "a member's scores") for name in expert_names), *apart]))
    chosen = None if features is None else [*features, *(name for name in text if name not in features)]
    for name in text:
        if name not in columns:
            raise no_such_column(name, columns, source=source.name, role="the text")
    left_out = [name for name in split_like(frame) if name not in dict(named)] if chosen is None else []
    used = feature_columns(columns, source=source.name, named=named, features=chosen, leave_out=left_out)
    scores = np.column_stack([_scores(frame, name, source) for name in expert_names])
    blank = ~np.isfinite(scores).any(axis=1)
    n_blank = int(blank.sum())
    verb = "has no score and is" if n_blank == 1 else "have no score and are"
    notes = [f"{count_of(n_blank, 'row')} {verb} left out."] if n_blank else []
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


def _scores(frame: pd.DataFrame, name: str, source: TableSource) -> FloatArray:
    values, wrong = numbers(frame[name])
    with np.errstate(invalid="ignore"):
        wrong |= (values < 0) | (values > 1)
    if wrong.any():
        place = int(np.argmax(wrong))
        row = row_number(frame, place, first_row=source.first_row)
        cell = quote_cell(np.asarray(frame[name]).astype(object)[place])
        raise TableError(
            f"{source.name}: row {row}, column {name}: got {cell}; a score is a number from 0 (wrong) to 1 (right), "
            "blank where there is none."
        )
    return values
