"""The cases of a file that are to be decided, piece by piece; rows that cannot be used are sorted out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from defero.core.errors import Argument, InputError
from defero.data.cases import export_path, no_question
from defero.data.exports.export import EXPORTS, TABLE, OpenCases, takes_control, writes
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.bad_rows import BadCell, BadRows, FindBad
from defero.data.tables.cells import BlankCells, no_such_column
from defero.data.tables.read import TableSource, table_format
from defero.decide.terms import TeamTerms
from defero.study.money import bad_fees, fee_columns
from defero.study.reading import Reading
from defero.team import Team


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Cases to be decided: pieces of a table, and of an export the tasks and their question.

    Attributes
    ----------
    read : function
        Yields all rows, piece by piece.
    source, first_row : str, int
        What a message calls the table, and the row whose index is 0.
    key : str or None
        The column that names the cases, as in `fit`.
    bad : BadRows
        Finds the rows that cannot be used.
    names : names, optional
        All columns of the file, where the pieces have only those that are needed.
    """

    read: Callable[[], Iterator[pd.DataFrame]]
    source: str
    first_row: int
    key: str | None
    bad: BadRows
    format: str = TABLE
    cases: OpenCases | None = None
    names: tuple[str, ...] | None = None

    def extra(self, team: Team, piece: pd.DataFrame) -> tuple[str, ...]:
        """Return the columns of the file that the team does not know, neither as features nor in another role."""
        assert team.recipe is not None
        own, frame = team.facts.spec, piece if self.names is None else pd.DataFrame(columns=list(self.names))
        roles = {
            own.label,
            own.key,
            *(name for name, _ in own.apart),
            *team.expert_names,
            *fee_columns(team.facts.fees),
        }
        return tuple(name for name in team.recipe.extra(frame) if name not in roles)

    @property
    def where(self) -> dict[str, Any]:
        """What a message calls the table, and the row whose index is 0."""
        return {"source": self.source, "first_row": self.first_row}

    def own_key(self, piece: pd.DataFrame, *, key: str | None) -> str | None:
        """Return the column to copy; the one that `fit` had need not be there."""
        names = list(map(str, piece.columns if self.names is None else self.names))
        return key_among(names, key, known=self.key, source=self.source)

    def good(self) -> Iterator[pd.DataFrame]:
        """Yield the rows that can be used; raises at the end where others are an error."""
        return self.bad.good(self.read())


def arrivals_of(team: Team, reading: Reading, out: Path | None, *, terms: TeamTerms, skip: bool) -> Arrivals:
    """Open the file of a reading; `skip` tells whether bad rows are left out."""
    assert team.recipe is not None
    spec, key, control = reading.spec(team), reading.said.key, reading.said.control
    own_key, kind = team.facts.spec.key, spec.format or TABLE
    source = replace(reading.source, blanks=BlankCells(spec.blank).without(key or own_key))
    if control is not None and not takes_control(kind):
        raise no_question(control, source.name, kind)
    if out is not None and out.name.lower().removesuffix(".gz").endswith(".json") and not writes(kind, out):
        raise InputError(
            f"{Argument('out', str(out))}: only the tasks of a Label Studio export are written as .json; for a "
            f"table of decisions name it {out.name.split('.')[0]}.csv."
        )
    first_row = source.first_row if kind == TABLE else 1
    where: dict[str, Any] = {"source": source.name, "first_row": first_row}
    bad = bad_rows_of(team.recipe, partial(bad_fees, terms, **where), **where, skip=skip)
    if kind == TABLE:
        return _of_table(team, source, bad, terms, key=key or own_key, all_columns=reading.answers is not None)
    question = team.facts.control if control is None else None
    cases = EXPORTS.find(kind).read_open(
        export_path(source), key=key, control=control, known_key=own_key, known_control=question
    )
    if out is not None and writes(kind, out) and takes_control(kind) and cases.control is None:
        raise InputError(
            f"{source.name}: nothing tells which question the model answers; no task has an answer, and the model "
            "was not fitted on an export. Write a table of decisions instead, such as "
            f"{Argument('out', 'decisions.csv')}."
        )
    if skip and out is not None and writes(kind, out):
        raise InputError(
            f"{Argument('bad_rows', 'skip')}: every task of an export gets a prediction; write a table of "
            f"decisions instead, such as {Argument('out', 'decisions.csv')}."
        )
    items = source.blanks.without(cases.key).apply(cases.items)
    return Arrivals(lambda: iter([items]), source.name, 1, cases.key, bad, kind, cases)


def _of_table(
    team: Team, source: TableSource, bad: BadRows, terms: TeamTerms, *, key: str | None, all_columns: bool
) -> Arrivals:
    """Open a table; columns that nobody needs are left out where that saves time, unless all are wanted."""
    assert team.recipe is not None
    texts = [*team.recipe.categorical, *([] if key is None else [key])]
    can_pick = source.path is not None and table_format(source.path).picks_columns
    names = tuple(source.columns()) if can_pick else None
    wanted = None if all_columns else _wanted(team, names, terms, key)
    read = partial(source.chunks, as_text=texts, on_bad=bad.on_bad, columns=wanted)
    return Arrivals(read, source.name, source.first_row, team.facts.spec.key, bad, names=names)


def key_among(columns: list[str], key: str | None, *, known: str | None, source: str) -> str | None:
    """Return the column that names the cases: as said, which must be there, else the `known` one of `fit`."""
    if key is not None and key not in columns:
        raise no_such_column(key, columns, source=source, role="the key")
    return key or (known if known in columns else None)


def bad_rows_of(recipe: Any, bad_fees: FindBad, *, source: str, first_row: int, skip: bool) -> BadRows:
    """Return what sorts out rows with a feature or a fee that cannot be used."""
    # Pictures are read once, where they are used: the first bad one is told.
    decoded = isinstance(recipe, PictureRecipe) and not skip

    def find(piece: pd.DataFrame) -> list[BadCell]:
        features = [] if decoded else recipe.bad_cells(piece, source=source, first_row=first_row)
        return [*features, *bad_fees(piece)]

    return BadRows(source, find, first_row, skip)


def _wanted(team: Team, names: tuple[str, ...] | None, terms: TeamTerms, key: str | None) -> list[str] | None:
    """Return the columns that are needed; all, where one is missing: the error offers those that exist."""
    assert team.recipe is not None
    needed = dict.fromkeys([*team.recipe.inputs, *terms.columns.values()])
    if names is None or not needed.keys() <= set(names):
        return None
    return [*needed, *([key] if key is not None else [])]
