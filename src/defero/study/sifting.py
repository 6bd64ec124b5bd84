"""Past cases read piece by piece for a team: bad rows are sorted out, and of very many cases a sample is kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray
from defero.core.wording import count_of
from defero.data.answers.class_codes import NO_CLASS, BadAnswer, BadAnswersError, What, bad_answers, matching_codes
from defero.data.cases import CaseFile
from defero.data.recipes.columns import NumericColumn
from defero.data.recipes.pictures import PictureRecipe
from defero.data.scored_cases import bad_scores
from defero.data.tables.bad_rows import BadCell, BadRows, BadRowsError, bad_cell, list_of_bad_rows, listed
from defero.data.tables.cells import is_missing_spelling, numbers
from defero.data.tables.parquet import FolderPart, folder_parts
from defero.data.tables.read import ROWS_AT_ONCE
from defero.data.tables.write import write_decisions
from defero.decide.terms import TeamTerms
from defero.study.engines import Engine
from defero.study.money import bad_fees
from defero.team import Team

NO_ANSWER = "is not one of the classes"


@dataclass(eq=False)
class Sample:
    """The rows with the smallest marks of a table, whatever the order in which its pieces come.

    >>> sample = Sample(2)
    >>> for start, marks in ((2, [0.3, 0.9]), (0, [0.5, 0.1])):
    ...     sample.add(start, pd.DataFrame({"row": [start, start + 1]}), np.array(marks))
    >>> [frame["row"].tolist() for frame in sample.frames()]
    [[1], [2]]
    """

    most: int
    _pieces: list[tuple[int, pd.DataFrame, FloatArray]] = field(default_factory=list)
    limit: float = np.inf

    def __len__(self) -> int:
        return sum(len(marks) for _, _, marks in self._pieces)

    def add(self, start: int, frame: pd.DataFrame, marks: FloatArray) -> None:
        """Take rows whose place in the table begins at `start`, each with its mark."""
        low = marks <= self.limit
        self._pieces.append((start, frame[low], marks[low]))
        if len(self) > 2 * self.most:
            self._thin()

    def frames(self) -> list[pd.DataFrame]:
        """Return the rows in the order of the table."""
        if len(self) > self.most:
            self._thin()
        return [frame for _, frame, _ in sorted(self._pieces, key=lambda piece: piece[0])]

    def _thin(self) -> None:
        marks = np.concatenate([own for _, _, own in self._pieces])
        self.limit = limit = float(np.partition(marks, self.most - 1)[self.most - 1])
        self._pieces = [(start, frame[own <= limit], own[own <= limit]) for start, frame, own in self._pieces]


def marks_of(piece: pd.DataFrame, random_state: int) -> FloatArray:
    """Return a random number for each row (n,) that depends on its index in the table alone.

    >>> frame = pd.DataFrame(index=range(10))
    >>> bool((marks_of(frame, 0)[7:] == marks_of(frame.iloc[7:], 0)).all())
    True
    """
    index = piece.index.to_numpy()
    bits = np.random.PCG64(random_state)
    bits.advance(int(index[0]))  # a number takes one step of the generator
    return np.random.Generator(bits).random(int(index[-1]) - int(index[0]) + 1)[index - index[0]]


@dataclass(eq=False)
class CaseSift:
    """Reads the rows of a wide table that can be used.

    Attributes
    ----------
    team : Team
    file : CaseFile
        How the table is read.
    skip : bool
        Whether bad rows are left out; else they are an error, once all of them are known.
    most : int
        The most rows that are kept, drawn at random whatever the size of the pieces.
    random_state : int
    terms : TeamTerms, optional
        Prices that are none make a row bad.
    engine : Engine, optional
        What reads the files of a folder; None: this process, piece by piece.
    bad : BadRows
    n_rows : int
        How many good rows the table has.
    answers, other : list of BadAnswer, bool
        Labels and answers that are no class, and whether any other cell is bad.
    """

    team: Team
    file: CaseFile
    skip: bool
    most: int
    random_state: int = 0
    terms: TeamTerms | None = None
    engine: Engine | None = None
    n_rows: int = field(default=0, init=False)
    bad: BadRows = field(init=False)
    answers: list[BadAnswer] = field(default_factory=list, init=False)
    other: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.bad = BadRows(self.file.name, self._find, self.file.source.first_row, self.skip)

    def rows(self, pieces: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Yield the rows to use; with an engine the pieces are left alone, and it reads the files of the folder."""
        try:
            yield from self._sample(self.bad.good(pieces)) if self.engine is None else self._from_files(self.engine)
        except ValueError:
            if self.answers and not self.other and not self.skip:
                assert self.file.classes is not None
                raise BadAnswersError.of(self.answers, self.file.classes, renamed=self.file.spec.meant) from None
            raise

    def notes(self) -> tuple[str, ...]:
        """Say which rows were left out; those that cannot be used are listed beside the table."""
        notes = list_bad_rows(self.bad, self.file.source.path) if self.skip else []
        if self.n_rows > self.most:
            notes.append(
                f"{self.file.name}: has {self.n_rows:,} cases, of which a random sample of "
                f"{count_of(self.most, 'case')} is judged."
            )
        return tuple(notes)

    def _sample(self, pieces: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        sample = Sample(self.most)
        for piece in pieces:
            self.take(piece, sample, np.inf)
        yield from sample.frames()

    def take(self, piece: pd.DataFrame, sample: Sample, most_mark: float) -> None:
        """Put the good rows of a piece into a sample, but for those with a larger mark."""
        self.n_rows += len(piece)
        marks = marks_of(piece, self.random_state)
        low = marks <= min(most_mark, sample.limit)
        sample.add(piece.index[0], _numeric(self.team, piece[low]), marks[low])

    def _from_files(self, engine: Engine) -> Iterator[pd.DataFrame]:
        """Yield the same rows, read file by file; bad rows of all files are known before the first is yielded."""
        folder = self.file.source.path
        assert folder is not None  # what is shared among workers is a folder
        parts = folder_parts(folder)
        most_marks = [_likely_limit(self.most, sum(part.n_rows for part in parts)), np.inf]
        for most_mark in most_marks:
            sample, sifted = Sample(self.most), dict[int, SiftedFile]()
            task = SiftTask(replace(self, engine=None, skip=True), most_mark)
            for place, one in engine.run(sift_file, parts, shared=task):
                sample.add(parts[place].start, one.frame, one.marks)
                sifted[place] = replace(one, frame=one.frame.iloc[:0], marks=one.marks[:0])
            self.n_rows = sum(one.n_rows for one in sifted.values())
            if len(sample) >= min(self.most, self.n_rows):
                break  # else many rows are bad, so that too few marks are below the limit
        for _, one in sorted(sifted.items()):
            self.bad.add(one.cells)
            self.answers += one.answers
            self.other |= one.other
        if self.bad.cells and not (self.skip and self.n_rows):
            raise self.bad.cells.error(self.file.name)
        yield from sample.frames()

    def _find(self, piece: pd.DataFrame) -> list[BadCell]:
        where: dict[str, Any] = {"source": self.file.name, "first_row": self.bad.first_row}
        recipe = self.team.recipe
        assert recipe is not None
        present = [name for name in recipe.inputs if name in piece.columns]
        readable = len(present) == len(recipe.inputs) and not isinstance(recipe, PictureRecipe)
        bad = recipe.bad_cells(piece, **where) if readable else []
        bad += [] if self.terms is None else bad_fees(self.terms, piece, **where)
        self.other |= bool(bad)
        if self.file.spec.scores:
            named = [name for name in self.file.team or () if name in piece.columns]
            return [*bad, *bad_scores(piece, named, first_row=self.bad.first_row)]
        return [*bad, *self._bad_answers(piece)]

    def _bad_answers(self, piece: pd.DataFrame) -> list[BadCell]:
        """Return labels and answers that are no class, and keep them by spelling."""
        file, classes = self.file, self.file.classes
        kinds: list[tuple[str | None, What]] = [
            (file.spec.label, "label"),
            *((name, "answer") for name in file.team or ()),
        ]
        columns = [(name, what) for name, what in kinds if name is not None and name in piece.columns]
        spelled = file.spellings.apply_to(piece, [name for name, _ in columns])
        bad = []
        assert classes is not None
        for name, what in columns:
            wrong = np.flatnonzero(matching_codes(spelled[name], classes) == NO_CLASS)
            if what == "answer" and wrong.size:  # n/a and the like are no answer, and told with the cases
                cells = spelled[name].iloc[wrong].tolist()
                wrong = wrong[np.array([not is_missing_spelling(cell) for cell in cells])]
            if wrong.size:
                where: dict[str, Any] = {"source": file.name, "first_row": self.bad.first_row}
                self.answers += bad_answers(spelled[name], wrong, classes, what=what, **where)
                why = f"is a {what} that is none of the classes" if what == "label" else NO_ANSWER
                bad += [bad_cell(spelled, name, place, why, first_row=self.bad.first_row) for place in wrong.tolist()]
        return bad


def list_bad_rows(bad: BadRows, path: Path | None) -> list[str]:
    """Write the list of all bad rows so far beside the table at `path`, and say so; nothing is written for a frame."""
    list_file = None if path is None else list_of_bad_rows(path)
    if list_file is not None:
        with write_decisions(list_file) as rows:
            rows.write(listed(bad.all_cells()))
    return [bad.cells.note(list_file)] if bad.cells else []


@dataclass(frozen=True, eq=False)
class SiftTask:
    """What the reading of every file needs: how rows are sifted, and the largest mark that may be in the sample."""

    sift: CaseSift
    most_mark: float


@dataclass(frozen=True, eq=False)
class SiftedFile:
    """The rows of a file that may be in the sample, with their marks, how many are good, and what is bad."""

    frame: pd.DataFrame
    marks: FloatArray
    n_rows: int
    cells: list[BadCell]
    answers: list[BadAnswer]
    other: bool


def sift_file(task: SiftTask, part: FolderPart) -> SiftedFile:
    """Sift one file of a folder."""
    sift = replace(task.sift)  # a fresh one: nothing is known of other files
    sample = Sample(sift.most)
    pieces = (sift.file.source.blanked(piece) for piece in part.frames(rows=ROWS_AT_ONCE))
    empty = pd.DataFrame()
    try:
        for piece in sift.bad.good(piece for piece in pieces if len(piece)):
            empty = piece.iloc[:0]
            sift.take(piece, sample, task.most_mark)
    except BadRowsError:
        pass  # no row of this file can be used
    frames = sample.frames() or [empty]
    frame = frames[0] if len(frames) == 1 else pd.concat(frames)
    marks = marks_of(frame, sift.random_state) if len(frame) else np.zeros(0)
    return SiftedFile(frame, marks, sift.n_rows, sift.bad.all_cells(), sift.answers, sift.other)


def _likely_limit(most: int, n_rows: int) -> float:
    """Return a mark below which so many of n rows almost surely are: ten standard deviations above the mean."""
    return (most + 10 * most**0.5) / max(n_rows, 1)


def _numeric(team: Team, piece: pd.DataFrame) -> pd.DataFrame:
    """Read columns of numbers as numbers, where a bad cell had made them text."""
    columns: tuple[Any, ...] = () if team.recipe is None else team.recipe.columns
    texts = [
        column.name
        for column in columns
        if isinstance(column, NumericColumn)
        and column.name in piece.columns
        and piece[column.name].dtype.kind not in "iufb"
    ]
    return piece.assign(**{name: numbers(piece[name])[0] for name in texts}) if texts else piece
