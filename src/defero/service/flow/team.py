"""WorkingTeam: a loaded model with the people behind its experts; what it makes of cases; and the shelf of models."""

import csv
import hashlib
import io
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.wording import join_names
from defero.data.fingerprint import row_fingerprints
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.text_encoder import Encoder
from defero.data.tables.cells import BlankCells, text_of
from defero.service import Problem
from defero.service.events import Label, ModelChanged, Row
from defero.service.store.contents import read_contents, read_names
from defero.service.store.database import Database
from defero.service.store.log import CONTENTS, last_seq, read_log
from defero.service.store.saved_views import read_cases
from defero.team import Team


@dataclass(frozen=True, eq=False)
class WorkingTeam:
    """A model at work.

    Attributes
    ----------
    router : Team
    version : str
        Of the model folder: the same for the same content.
    people : J ids
        Who is behind each expert of the model.
    """

    router: Team
    version: str
    people: tuple[str, ...] = ()
    class_values: tuple[Label, ...] = field(init=False)
    _class_idx: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        values = tuple(self.router.classes.tolist())
        object.__setattr__(self, "class_values", values)
        object.__setattr__(self, "_class_idx", {text_of(value): k for k, value in enumerate(values)})

    def class_of(self, value: Label, *, what: str) -> int:
        """Return the class that an answer or an outcome names; 1 and "1" are the same."""
        place = self._class_idx.get(text_of(value))
        if place is None:
            known = join_names(self.class_values, most=30)
            raise Problem(422, f"{what} is none of the classes: {known}.", classes=list(self.class_values))
        return place

    @property
    def columns(self) -> tuple[str, ...] | None:
        """What a case must name; None where it is a list of numbers, as the model was fitted on an array."""
        recipe = self.router.recipe
        return tuple(recipe.inputs) if recipe is not None and self.router.facts.columns is not None else None

    def matrix(self, rows: Sequence[Row]) -> Any:
        """Return the matrix (n, d) that the model takes; raises `Problem` where a case has not what it needs."""
        try:
            return self.router.features(self._table(rows), source="cases", first_row=0)
        except InputError as error:
            raise Problem(422, str(error)) from error

    def reads(self, row: Row) -> bool:
        """Whether a case has the columns that the model needs."""
        if self.columns is None:
            return not isinstance(row, Mapping)
        return isinstance(row, Mapping) and all(name in row for name in self.columns)

    def fingerprints(self, rows: Sequence[Row]) -> NDArray[np.uint64]:
        """Return one number per case, as the model keeps them of the rows that it was fitted on."""
        return row_fingerprints(self._table(rows))

    def _table(self, rows: Sequence[Row]) -> Any:
        if self.columns is not None:
            return RowTable(rows, self.columns, blank=self.router.facts.spec.blank)
        _check_lists(rows)
        return np.array(rows, dtype=np.float64)

    def answer_numbers(self, answers: Sequence[Sequence[tuple[str, Label]]]) -> IntArray:
        """Return answers so far, pairs of person and label for each case, as class numbers (n, J)."""
        place = {person: j for j, person in enumerate(self.people)}
        numbers = np.full((len(answers), len(self.people)), MISSING)
        for i, pairs in enumerate(answers):
            for person, label in pairs:
                if person in place:
                    numbers[i, place[person]] = self._class_idx.get(text_of(label), MISSING)
        return numbers

    def fees(self, by_person: Mapping[str, float]) -> FloatArray | None:
        """Return what a question costs, (J,); None where nothing is said."""
        return np.array([by_person.get(person, 0.0) for person in self.people]) if by_person else None


class RowTable:
    """Cases as a table, as a recipe takes it: every column that the model needs, absent ones are an error.

    Values that mean none, such as "n/a", are read as blank.

    >>> table = RowTable([{"age": 30, "note": "x"}, {"age": None}], ("age",))
    >>> table.columns, table["age"].tolist(), len(table)
    (('age',), [30, None], 2)
    >>> RowTable([{"age": 30}, {"age": "n/a"}], ("age",), blank=["n/a"])["age"].tolist()
    [30, None]
    """

    def __init__(self, rows: Sequence[Row], columns: Sequence[str], *, blank: Sequence[str] = ()) -> None:
        self.columns, self.rows, self.blanks = tuple(columns), rows, BlankCells(tuple(blank))
        for place, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise Problem(422, f"features of case {place} must be an object with a member for each column.")
            absent = [name for name in columns if name not in row]
            if absent:
                raise Problem(
                    422,
                    f"case {place} has no {join_names(absent)}; use null where a value is not known.",
                    columns=absent,
                )

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> Any:
        cells = [row[name] for row in self.rows]  # type: ignore[call-overload] # rows are mappings, see above
        column = np.array(cells, dtype=None if all(type(cell) in (int, float) for cell in cells) else object)
        if not self.blanks or not (mask := self.blanks.mask(column)).any():
            return column
        return np.array([None if none else cell for cell, none in zip(cells, mask.tolist(), strict=True)], dtype=object)


def load_team(folder: Path, *, text_encoder: Encoder = None) -> WorkingTeam:
    """Read a model folder that can be served."""
    router = Team.load(folder, text_encoder=text_encoder)
    if router.scored_only:
        raise InputError(f"{folder}: its experts have only scores; serve takes the model of a team with classes.")
    if isinstance(router.recipe, PictureRecipe):
        raise InputError(f"{folder}: reads pictures from files, which a service must not do for whoever asks.")
    version = hashlib.sha256((folder / "model.json").read_bytes()).hexdigest()[:12]
    return WorkingTeam(router, version)


def _check_lists(rows: Sequence[Row]) -> None:
    for place, row in enumerate(rows):
        if isinstance(row, Mapping):
            raise Problem(422, f"features of case {place} must be a list of numbers: the model was fitted on an array.")
    shapes = {np.shape(row) for row in rows if not isinstance(row, Mapping)}
    if len(shapes) > 1:
        raise Problem(422, "features of all cases must be lists of the same length.")


MOST_LOADED = 4
"""Models of the folder that stay in memory; one that is needed again is loaded again."""


@dataclass
class Shelf:
    """The models that this process has loaded, by version; those used last stay in memory.

    Attributes
    ----------
    directory : Path, optional
        The folder of models that the service was started with; nothing outside it is ever read.
    teams : mapping
        By version, the one used last at the end.
    without_folder : set of versions
        They could not be loaded again, so they always stay.
    """

    directory: Path | None = None
    text_encoder: Encoder = None
    teams: dict[str, WorkingTeam] = field(default_factory=dict)
    without_folder: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, team: WorkingTeam, *, folder: str = "") -> WorkingTeam:
        """Remember a team as the one used last; of those with a folder the oldest are forgotten."""
        with self._lock:
            if not folder:
                self.without_folder.add(team.version)
            self.teams.pop(team.version, None)
            self.teams[team.version] = team
            loaded = [version for version in self.teams if version not in self.without_folder]
            for version in loaded[:-MOST_LOADED]:
                del self.teams[version]
        return team

    def load(self, folder: str) -> WorkingTeam:
        """Return the model of a folder in the folder of models; its experts have no people yet."""
        if self.directory is None:
            raise Problem(409, "The service was started without a folder of models; start it with --models.")
        path = self.directory / folder
        if Path(folder).name != folder or path.resolve().parent != self.directory.resolve() or not path.is_dir():
            raise Problem(404, "There is no such folder in the folder of models.", folder=folder)
        try:
            return load_team(path, text_encoder=self.text_encoder)
        except (InputError, OSError, ValueError) as error:
            raise Problem(422, f"{folder} cannot be loaded: {type(error).__name__}.", folder=folder) from error

    def team(self, fact: ModelChanged) -> WorkingTeam:
        """Return the team of an entry of the log, loaded if another process has loaded it."""
        known = self.teams.get(fact.version)
        if known is None:
            known = self.load(fact.folder) if fact.folder else None
        if known is None or known.version != fact.version:
            raise Problem(503, "The model that decides now is not on this machine.", model=fact.version)
        team = known if known.people == fact.experts else WorkingTeam(known.router, known.version, fact.experts)
        return self.keep(team, folder=fact.folder)


_AT_ONCE = 500


def csv_lines(database: Database, team: WorkingTeam) -> Iterator[str]:
    """Yield the lines of the table. Erased cases are left out; a case without an outcome has a blank there.

    An answer that came too late to count is an answer all the same, and is in the table. Each piece is read for
    itself: a client that reads slowly holds no connection.
    """
    with database.read() as connection:
        names, features = read_names(connection), _feature_names(team, connection)
        last = last_seq(connection)
    experts = [names.get(person, person) for person in team.people]
    taken = {*features, *experts}
    yield _line([_free("case", taken), *features, *experts, _free("outcome", taken)])
    after = 0
    while True:
        with database.read() as connection:
            entries = list(read_log(connection, after=after, kinds=("received",), limit=_AT_ONCE))
            cases = [str(entry.case) for entry in entries if entry.seq <= last]
            lines = list(_rows(connection, team, features, cases))
        yield from lines
        if len(cases) < _AT_ONCE:
            return
        after = entries[-1].seq


def _rows(connection: Connection, team: WorkingTeam, features: list[str], cases: list[str]) -> Iterator[str]:
    states, known = read_cases(connection, cases), read_contents(connection, cases)
    for case in cases:
        if case not in known:
            continue
        row, state = known[case][1], states[case]
        cells = [row.get(name) for name in features] if isinstance(row, Mapping) else list(row)
        yield _line([case, *cells, *(state.all_answers.get(person) for person in team.people), state.outcome])


def _feature_names(team: WorkingTeam, connection: Connection) -> list[str]:
    """Return the columns of the model; x0, x1, ... for one that was fitted on an array."""
    if team.columns is not None:
        return list(team.columns)
    first = connection.execute(select(CONTENTS.c.features).limit(1)).scalar()
    return [f"x{place}" for place in range(0 if first is None else len(json.loads(first)))]


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no feature and no expert has."""
    return name if name not in taken else _free(f"{name}_", taken)


def _line(cells: list[Any]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()
