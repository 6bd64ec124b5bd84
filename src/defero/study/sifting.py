"""Past cases read piece by piece for a team: bad rows are sorted out, and of very many cases a sample is kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from defero.core.wording import count_of
from defero.data.answers.bad_answers import BadAnswer, BadAnswersError, What, bad_answers
from defero.data.answers.class_codes import NO_CLASS, matching_codes
from defero.data.case_file import CaseFile, Cases
from defero.data.recipes.columns import NumericColumn
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.bad_cells import BadCell, bad_cell
from defero.data.tables.cells import numbers
from defero.data.tables.write import write_decisions
from defero.router import Router
from defero.study.bad_rows import BadRows, list_of_bad_rows

MOST_CASES = 200_000
"""Of more cases a random sample of so many is judged: the interval of a share is then at most 0.22 points wide on
either side."""
NO_ANSWER = "is not one of the classes"


@dataclass(eq=False)
class CaseSift:
    """Reads the rows of a wide table that can be used.

    Attributes
    ----------
    router : Router
    file : CaseFile
        How the table is read.
    skip : bool
        Whether bad rows are left out; else they are an error, once all of them are known.
    most : int
        The most rows that are kept, drawn at random whatever the size of the pieces.
    random_state : int
    bad : BadRows
    n_rows : int
        How many good rows the table has.
    """

    router: Router
    file: CaseFile
    skip: bool
    most: int
    random_state: int = 0
    n_rows: int = 0
    bad: BadRows = field(init=False)
    _answers: list[BadAnswer] = field(default_factory=list)
    _other: bool = False

    def __post_init__(self) -> None:
        self.bad = BadRows(self.file.name, self._find, self.file.source.first_row, self.skip)

    def rows(self, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield the rows to use."""
        try:
            yield from self._sample(self.bad.good(pieces))
        except ValueError:
            if self._answers and not self._other and not self.skip:
                assert self.file.classes is not None
                raise BadAnswersError.of(self._answers, self.file.classes) from None
            raise

    def notes(self) -> tuple[str, ...]:
        """Say which rows were left out; those that cannot be used are listed beside the table."""
        notes = list_bad_rows(self.bad, self.file) if self.skip else []
        if self.n_rows > self.most:
            notes.append(
                f"{self.file.name}: has {self.n_rows:,} cases, of which a random sample of "
                f"{count_of(self.most, 'case')} is judged."
            )
        return tuple(notes)

    def _sample(self, pieces: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        rng = np.random.default_rng(self.random_state)
        frames: list[pd.DataFrame] = []
        marks: list[Any] = []
        limit = np.inf
        for piece in pieces:
            drawn = rng.random(len(piece))
            self.n_rows += len(piece)
            frames.append(_numeric(self.router, piece[drawn <= limit]))
            marks.append(drawn[drawn <= limit])
            if sum(map(len, marks)) > 2 * self.most:
                limit = _thin(frames, marks, self.most)
        if sum(map(len, marks)) > self.most:
            _thin(frames, marks, self.most)
        yield from frames

    def _find(self, piece: pd.DataFrame) -> list[BadCell]:
        where: dict[str, Any] = {"source": self.file.name, "first_row": self.bad.first_row}
        recipe = self.router.recipe
        assert recipe is not None
        present = [name for name in recipe.inputs if name in piece.columns]
        bad = (
            []
            if isinstance(recipe, PictureRecipe) or len(present) < len(recipe.inputs)
            else (recipe.bad_cells(piece, **where))
        )
        self._other |= bool(bad)
        return [*bad, *self._bad_answers(piece)]

    def _bad_answers(self, piece: pd.DataFrame) -> list[BadCell]:
        """Return labels and answers that are no class, and keep them by spelling."""
        file, classes = self.file, self.file.classes
        kinds: list[tuple[str | None, What]] = [(file.label, "label"), *((name, "answer") for name in file.team or ())]
        columns = [(name, what) for name, what in kinds if name is not None and name in piece.columns]
        spelled = file.spellings.apply_to(piece, [name for name, _ in columns])
        bad = []
        assert classes is not None
        for name, what in columns:
            wrong = np.flatnonzero(matching_codes(spelled[name], classes) == NO_CLASS)
            if wrong.size:
                where: dict[str, Any] = {"source": file.name, "first_row": self.bad.first_row}
                self._answers += bad_answers(spelled, name, wrong, classes, what=what, **where)
                why = f"is a {what} that is none of the classes" if what == "label" else NO_ANSWER
                bad += [bad_cell(spelled, name, place, why, first_row=self.bad.first_row) for place in wrong.tolist()]
        return bad


def list_bad_rows(bad: BadRows, file: CaseFile) -> list[str]:
    """Write the list of all bad rows so far beside the table, and say so; nothing is written for a frame."""
    path = file.source.path
    listed = None if path is None else list_of_bad_rows(path)
    if listed is not None:
        with write_decisions(listed) as rows:
            rows.write(bad.all_rows())
    return [bad.cells.note(listed)] if bad.cells else []


def without_bad_fees(cases: Cases, bad: BadRows, fees: list[BadCell]) -> Cases:
    """Return the cases with a fee that can be used; others are an error, or are listed with the other bad rows."""
    if not fees:
        return cases
    bad.add(fees)
    if not bad.skip:
        raise bad.cells.error(cases.source)
    rows = {one.row - cases.first_row for one in fees}
    keep = np.array([place not in rows for place in cases.frame.index.tolist()], dtype=np.bool_)
    if not keep.any():
        raise bad.cells.error(cases.source)
    earlier = [one for one in cases.remarks if "bad cell" not in one]
    table = cases.table.take(keep)
    remarks = (*earlier, *list_bad_rows(bad, cases.file))
    return replace(cases, table=table, apart=cases.apart[keep], frame=cases.frame[keep], remarks=remarks)


def _thin(frames: list[pd.DataFrame], marks: list[Any], most: int) -> float:
    """Keep the rows with the smallest marks; return the largest mark that is kept."""
    limit = float(np.partition(np.concatenate(marks), most - 1)[most - 1])
    for place, own in enumerate(marks):
        frames[place], marks[place] = frames[place][own <= limit], own[own <= limit]
    return limit


def _numeric(router: Router, piece: pd.DataFrame) -> pd.DataFrame:
    """Read columns of numbers as numbers, where a bad cell had made them text."""
    columns: tuple[Any, ...] = () if router.recipe is None else router.recipe.columns
    texts = [
        column.name
        for column in columns
        if isinstance(column, NumericColumn)
        and column.name in piece.columns
        and piece[column.name].dtype.kind not in "iufb"
    ]
    return piece.assign(**{name: numbers(piece[name])[0] for name in texts}) if texts else piece
