"""WorkingTeam: a loaded model with the people behind its experts; what it makes of the features of cases."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.wording import join_names
from defero.data.fingerprint import row_fingerprints
from defero.data.recipes.pictures import PictureRecipe
from defero.data.recipes.text_encoder import Encoder
from defero.data.tables.blank_cells import BlankCells
from defero.data.tables.cells import text_of
from defero.service.events import Label
from defero.service.problems import Problem
from defero.team import Team

Row = Mapping[str, Any] | Sequence[Any]
"""The features of a case: by column, or in order for a model that was fitted on an array."""


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

    def matrix(self, rows: Sequence[Row]) -> Any:
        """Return the matrix (n, d) that the model takes; raises `Problem` where a case has not what it needs."""
        recipe = self.router.recipe
        try:
            if recipe is not None and self.router.facts.columns is not None:
                return self.router.features(self._table(rows, recipe.inputs), source="cases", first_row=0)
            _check_lists(rows)
            return self.router.features(np.array(rows, dtype=np.float64), source="cases", first_row=0)
        except InputError as error:
            raise Problem(422, str(error)) from error

    def reads(self, row: Row) -> bool:
        """Whether a case has the columns that the model needs."""
        recipe = self.router.recipe
        if recipe is not None and self.router.facts.columns is not None:
            return isinstance(row, Mapping) and all(name in row for name in recipe.inputs)
        return not isinstance(row, Mapping)

    def fingerprints(self, rows: Sequence[Row]) -> NDArray[np.uint64]:
        """Return one number per case, as the model keeps them of the rows that it was fitted on."""
        recipe = self.router.recipe
        if recipe is not None and self.router.facts.columns is not None:
            return row_fingerprints(self._table(rows, recipe.inputs))
        return row_fingerprints(np.array(rows, dtype=np.float64))

    def _table(self, rows: Sequence[Row], columns: Sequence[str]) -> "RowTable":
        return RowTable(rows, columns, blank=self.router.facts.spec.blank)

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
    if not isinstance(router, Team):
        raise InputError(f"{folder}: is a pool without classes; serve takes the model of a team with classes.")
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
