"""Cases read for a team: as its own table was read, where nothing else is said."""

from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Unpack

import numpy as np

from defero.core import ExpertTable
from defero.core.answers import MISSING, Answers
from defero.core.errors import Argument, InputError
from defero.core.wording import join_names
from defero.data.cases import CaseFile, Cases
from defero.data.exports.export import TABLE, format_of, takes_control
from defero.data.read_cases import cases_in
from defero.data.recipes.pictures import PictureRecipe
from defero.data.table_spec import SaidAgain, TableSpec, checked_spec
from defero.data.tables.bad_rows import STOP, are_skipped
from defero.data.tables.cells import BlankCells
from defero.data.tables.read import Table, TableSource
from defero.decide.terms import Terms
from defero.study.engines import Engine, named_engine
from defero.study.money import terms_of_study
from defero.study.sifting import CaseSift
from defero.team import Team
from defero.team.roster import check_name


class ReadAgain(SaidAgain, total=False):
    """What may be said of the reading of another table of a team."""

    answers: Table | None
    images: str | PathLike[str] | None
    bad_rows: str
    most_cases: int
    engine: str | None
    workers: int | None
    address: str | None


@dataclass(frozen=True, eq=False)
class Reading:
    """A table, and what is said of it; whatever is not said is as in the team's own table."""

    source: TableSource
    said: TableSpec
    answers: TableSource | None = None
    images: str | PathLike[str] | None = None
    bad_rows: str = STOP
    most_cases: int = 200_000
    engine: Engine | None = None
    """What reads the files of a folder; None: this process, one after the other."""

    @classmethod
    def of(
        cls,
        table: Table,
        *,
        inside: Path | None = None,
        answers: Table | None = None,
        images: str | PathLike[str] | None = None,
        bad_rows: str = "stop",
        most_cases: int = 200_000,
        engine: str | None = None,
        workers: int | None = None,
        address: str | None = None,
        **said: Unpack[SaidAgain],
    ) -> "Reading":
        """Take what somebody says of a table.

        Parameters
        ----------
        table : path or DataFrame
        inside : path, optional
            As in `TableSource`.
        answers : path or DataFrame, optional
            File with one answer per row: columns for the item, the expert and the answer.
        images : path, optional
            Folder that the paths of the pictures are relative to. Default: the folder of the table.
        bad_rows : str
            What to do with rows that cannot be used, such as a text in a column of numbers. stop (the default): write
            nothing and name the bad cells. skip: use the good rows and list the others in a file: OUT.bad-rows.csv for
            route, TABLE.bad-rows.csv for evaluate and report.
        most_cases : int
            Largest number of cases to judge. A larger table is judged on a random sample: of 200,000, the interval of a
            share is at most 0.22 points wide on either side.
        engine : str, optional
            local or ray: share the Parquet files of a folder among several workers. route writes one file of decisions
            for each to the folder `out`. evaluate gives the same figures as without this option.
        workers : int, optional
            How many files are read at once. Default: 1; ray: all cores.
        address : str, optional
            Address of a Ray cluster. Default: one is started on this machine.
        **said
            The words of `SaidAgain`, as in `read_cases`.
        """
        log = None if answers is None else TableSource.of(answers, name="answers")
        source, spec = TableSource.of(table, inside=inside), checked_spec(**said, log=log is not None)
        where = named_engine(engine, workers=workers, address=address)
        return cls(source, spec, log, images, bad_rows, most_cases, where)

    @property
    def given(self) -> tuple[Table, Table | None]:
        """The table and the log of answers."""
        return self.source.given, None if self.answers is None else self.answers.given

    def spec(self, team: Team) -> TableSpec:
        """Return how the table is read: as `fit` was told to read its own, where nothing else is said now."""
        before, said = team.facts.spec, self.said.with_spellings_of(team.facts.spec)
        kind = format_of(self.source.path, said.format, remembered=before.format)
        same = (kind == TABLE) == ((before.format or TABLE) == TABLE)
        control = team.facts.control if takes_control(kind) else None
        return said.but(
            format=kind,
            label=said.label or (before.label if same else None),
            majority_label=said.majority_label or (said.label is None and before.majority_label),
            control=said.control or (None if control is None else control.from_name),
            scores=team.scored_only,
        )

    def log_columns(self, team: Team) -> dict[str, str | None]:
        """Return the columns of the log: those of `fit` where nothing else is said now and this log has them too."""
        named = self.said.log_columns
        known = {role: name for role, name in team.facts.spec.log_columns.items() if name is not None}
        if self.answers is None or not known:
            return named
        free = {name for name in self.answers.columns() if name not in named.values()}
        return {role: name or (known.get(role) if known.get(role) in free else None) for role, name in named.items()}


@dataclass(frozen=True, eq=False)
class TeamCases:
    """Cases read for a team.

    Attributes
    ----------
    cases : Cases
    team : Team
        The team, which knows the folder of their pictures.
    reading : Reading
        What was said of the table.
    """

    cases: Cases
    team: Team
    reading: Reading

    @property
    def key_column(self) -> str | None:
        """The column that names the cases: as said now, else as in `fit`."""
        return self.reading.said.key or self.team.facts.spec.key


def read_for_team(
    team: Team, reading: Reading, *, model: str, newcomer: str | None = None, terms: Terms | None = None
) -> TeamCases:
    """Read cases with the columns that a team knows.

    Parameters
    ----------
    team : Team
    reading : Reading
    model : str
        What a message calls the team.
    newcomer : str, optional
        Read the answers of this person alone, who is not in the team yet.
    terms : Terms, optional
        Rows with a price that is none are bad rows too.
    """
    if newcomer is not None:
        check_name(team, newcomer)
    team = with_folder(team, reading)
    spec = reading.spec(team).but(**reading.log_columns(team))
    if reading.engine is not None:
        path = reading.source.path
        check_shared(reading.source.name, is_folder=path is not None and path.is_dir() and reading.answers is None)
    if team.recipe is None:
        method = "score" if newcomer is None else "add_expert"
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its {method} in Python.")
    spec = spec.but(features=team.recipe.inputs, text=team.recipe.text)
    if newcomer is not None:
        return TeamCases(cases_in(_newcomer_file(team, reading, spec, newcomer)), team, reading)
    file, skip, sift = _team_file(team, reading, spec, model=model), are_skipped(reading.bad_rows), None
    if reading.most_cases < 1:
        raise InputError(f"must be at least 1, got {reading.most_cases}.", argument="most_cases")
    if file.format == TABLE and file.answers is None:
        own = None if terms is None else terms_of_study(terms, team, reading.source.columns())[0]
        sift = CaseSift(team, file, skip, reading.most_cases, terms=own, engine=reading.engine)
    elif skip:
        raise InputError(
            f"{Argument('bad_rows', 'skip')}: is for a table with a column per expert; leave it out for other files."
        )
    cases = cases_in(replace(file, sift=sift))
    if sift is not None:
        cases = replace(cases, remarks=(*cases.remarks, *sift.notes()))
    silent = tuple(name for name in team.expert_names if name not in (file.team or ()))
    return TeamCases(_with_silent(cases, team, silent), team, reading)


def check_shared(source: object, *, is_folder: bool) -> None:
    """Raise unless several workers can share what is read: the files of a folder."""
    if not is_folder:
        raise InputError(
            f"{source}: several workers share the files of a folder, and this is none; leave out "
            f"{Argument('engine')} and {Argument('workers')}, or split the table into Parquet files."
        )


def with_folder(team: Team, reading: Reading) -> Team:
    """Return the team with the folder in which the paths of a table's pictures start."""
    if isinstance(team.recipe, PictureRecipe):
        beside = (reading.source.path or Path()).parent
        return replace(team, recipe=team.recipe.inside(beside if reading.images is None else Path(reading.images)))
    if reading.images is not None:
        raise InputError(f"{Argument('images', str(reading.images))}: this model reads no pictures; leave it out.")
    return team


def _team_file(team: Team, reading: Reading, spec: TableSpec, *, model: str) -> CaseFile:
    """Describe a file with the answers of a team."""
    source, own = reading.source, team.facts.spec
    if spec.label is None and not (spec.majority_label or team.scored_only) and spec.format == TABLE:
        how = "on an export" if own.format is not None else "in Python"
        raise InputError(
            f"{model}: was fitted {how} and does not know the label's column; name it with {Argument('label')}."
        )
    silent: tuple[str, ...] = ()
    if spec.format == TABLE and reading.answers is None and (own.log or team.facts.joined):
        columns = source.columns()
        if own.log and team.expert_names and set(columns).isdisjoint(team.expert_names):
            raise InputError(
                f"{model}: was fitted with a log of answers, and {source.name} has no column of an expert; pass "
                f"{Argument('answers')}, with one row per answer."
            )
        # Experts who joined later may have no column; those of `fit` must have one.
        silent = tuple(name for name in team.facts.joined if name not in columns)
    beside = tuple(name for name in (own.groups, spec.key or own.key) if name is not None)
    file = _known_columns(team, reading, spec, *team.expert_names)
    return replace(file, team=tuple(name for name in team.expert_names if name not in silent), beside=beside)


def _newcomer_file(team: Team, reading: Reading, spec: TableSpec, name: str) -> CaseFile:
    """Describe a file with the answers of one person, who is not in the team yet."""
    wide = spec.format == TABLE and reading.answers is None
    # One person's own majority is always right: a wide table, which shows nobody else, must have a label.
    spec = spec.but(majority_label=spec.label is None and not wide and team.facts.spec.majority_label)
    if spec.label is None and not (spec.majority_label or spec.scores) and spec.format == TABLE:
        raise InputError(
            f"{reading.source.name}: without labels nobody can say which answers are right; name the column with "
            f"the truth with {Argument('label')}."
        )
    column = spec.answer or name
    spec = spec.but(expert_names=(column,), answer=None) if wide else spec.but(expert_names=(name,))
    beside = () if team.facts.spec.groups is None else (team.facts.spec.groups,)
    return replace(_known_columns(team, reading, spec, *team.expert_names, *([column] if wide else [])), beside=beside)


def _known_columns(team: Team, reading: Reading, spec: TableSpec, *experts: str) -> CaseFile:
    """Describe a file of which a team knows the features; the columns of `experts` have no blank cells."""
    source, own_key = reading.source, team.facts.spec.key
    if spec.key is None and reading.answers is not None and own_key in source.columns():
        spec = spec.but(key=own_key)
    answered = () if team.scored_only else experts
    blanks = BlankCells(spec.blank).without(spec.label, spec.key, own_key, *answered)
    classes = None if team.scored_only else team.classes
    return CaseFile(source=replace(source, blanks=blanks), spec=spec, answers=reading.answers, classes=classes)


def _with_silent(cases: Cases, team: Team, silent: tuple[str, ...]) -> Cases:
    """Let experts who have no column stand in the table as people who were asked nothing, and say so."""
    if not silent:
        return cases
    table, names = cases.table, team.expert_names
    place = [names.index(name) for name in table.expert_names]
    if table.scores is not None:
        scores = np.full((len(table), len(names)), np.nan)
        scores[:, place] = table.scores
        whole = ExpertTable.of_scores(scores, features=table.features, expert_names=names)
    else:
        codes = np.full((len(table), len(names)), MISSING)
        codes[:, place] = table.answer_idx
        answers = Answers.from_cells(codes, classes=table.classes, expert_names=names)
        whole = replace(table, answers=answers, expert_names=names)
    who = f"column {silent[0]}" if len(silent) == 1 else f"columns {join_names(silent)}"
    remark = f"{cases.source}: no {who}; joined after fit, so read as no answers of theirs."
    return replace(cases, table=whole, remarks=(*cases.remarks, remark))
