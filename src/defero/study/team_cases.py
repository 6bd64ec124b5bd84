"""Cases read for a team: as its own table was read, where nothing else is said."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike
from pathlib import Path

from defero.core import ExpertTable
from defero.core.errors import Argument, InputError
from defero.core.wording import join_names
from defero.data.answers.spellings import Rename, Spellings
from defero.data.case_file import CaseFile, Cases, Table, TableSource
from defero.data.cases import cases_in
from defero.data.exports.export import TABLE, takes_control
from defero.data.recipes.pictures import PictureRecipe
from defero.data.tables.blank_cells import BlankCells
from defero.study.bad_rows import STOP, BadRows, are_skipped
from defero.study.engines import Engine
from defero.study.reading import format_of
from defero.study.sifting import MOST_CASES, CaseSift
from defero.team import FitFacts, Team


@dataclass(frozen=True, eq=False)
class Reading:
    """A table and how it is read; None: as the team's own table was read. The names are those of `read_cases`."""

    table: Table
    label: str | None = None
    answers: Table | None = None
    item: str | None = None
    annotator: str | None = None
    answer: str | None = None
    key: str | None = None
    majority_label: bool = False
    format: str | None = None
    control: str | None = None
    images: str | PathLike[str] | None = None
    rename: Rename | None = None
    blank: Sequence[str] = ()
    bad_rows: str | None = None
    most_cases: int | None = None
    inside: Path | None = None
    """The folder of which the table is one file, see `TableSource`."""
    engine: Engine | None = None
    """What reads the files of a folder; None: this process, one after the other."""

    @property
    def source(self) -> TableSource:
        """The table with its name."""
        return TableSource.of(self.table, inside=self.inside)

    def spellings(self, facts: FitFacts) -> Spellings:
        """Return answers and labels that mean none, or another spelling: those of `fit`, and those said now."""
        now = Spellings.of(rename=self.rename, blank=self.blank)
        return Spellings({**facts.rename, **dict.fromkeys(facts.blank, ""), **now.meant})

    def blanks(self, facts: FitFacts) -> BlankCells:
        """Return values that mean none in the features: those of `fit`, and those said now."""
        return BlankCells(tuple(dict.fromkeys((*facts.blank, *BlankCells.of(self.blank).values))))


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
    bad : BadRows, optional
        The rows of a table that cannot be used.
    """

    cases: Cases
    team: Team
    reading: Reading
    bad: BadRows | None = None

    @property
    def key_column(self) -> str | None:
        """The column that names the cases: as said now, else as in `fit`."""
        return self.reading.key or self.team.facts.key


def read_for_team(team: Team, reading: Reading, *, model: str, newcomer: str | None = None) -> TeamCases:
    """Read cases with the columns that a team knows.

    Parameters
    ----------
    team : Team
    reading : Reading
    model : str
        What a message calls the team.
    newcomer : str, optional
        Read the answers of this person alone, who is not in the team yet.
    """
    team = with_folder(team, reading)
    if reading.answers is not None:
        reading = with_log_columns(team, reading)
    if reading.engine is not None:
        _check_folder(reading)
    file = _team_file(team, reading, model=model, newcomer=newcomer)
    sift = _sift(team, reading, file) if newcomer is None else None
    cases = cases_in(replace(file, sift=sift))
    if sift is not None:
        cases = replace(cases, remarks=(*cases.remarks, *sift.notes()))
    if newcomer is None:
        silent = tuple(name for name in team.expert_names if name not in (file.team or ()))
        cases = _with_silent(cases, team, silent)
    return TeamCases(cases, team, reading, None if sift is None else sift.bad)


def _sift(team: Team, reading: Reading, file: CaseFile) -> CaseSift | None:
    """Return what keeps the rows to use; None where the file is read whole: a log of answers, an export."""
    skip = are_skipped(reading.bad_rows or STOP)
    most = MOST_CASES if reading.most_cases is None else reading.most_cases
    if most < 1:
        raise InputError(f"must be at least 1, got {most}.", argument="most_cases")
    if file.format == TABLE and file.answers is None:
        return CaseSift(team, file, skip, most, engine=reading.engine)
    if skip:
        raise InputError(
            Argument("bad_rows", "skip"),
            ": is for a table with a column per expert; leave it out for other files.",
        )
    return None


def _check_folder(reading: Reading) -> None:
    """Raise unless several workers can share what is read: the files of a folder."""
    path = reading.source.path
    if path is None or not path.is_dir() or reading.answers is not None:
        raise InputError(
            f"{reading.source.name}: several workers share the files of a folder, and this is none; leave out ",
            Argument("engine"),
            " and ",
            Argument("workers"),
            ", or split the table into Parquet files.",
        )


def with_folder(team: Team, reading: Reading) -> Team:
    """Return the team with the folder in which the paths of a table's pictures start."""
    if isinstance(team.recipe, PictureRecipe):
        beside = (reading.source.path or Path()).parent
        return replace(team, recipe=team.recipe.inside(beside if reading.images is None else Path(reading.images)))
    if reading.images is not None:
        raise InputError(Argument("images", str(reading.images)), ": this model reads no pictures; leave it out.")
    return team


def _team_file(team: Team, reading: Reading, *, model: str, newcomer: str | None) -> CaseFile:
    """Describe a file as `fit` was told to read its own, where nothing else is said now."""
    facts, source, blanks = team.facts, reading.source, reading.blanks(team.facts)
    if team.recipe is None:
        method = "score" if newcomer is None else "add_expert"
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its {method} in Python.")
    kind = format_of(source, reading.format, remembered=facts.format)
    wide = kind == "table" and reading.answers is None
    label, majority = _label_and_majority(team, reading, kind, is_newcomer=newcomer is not None)
    if label is None and not majority and kind == "table":
        raise _no_label(team, source, model=model, newcomer=newcomer)
    if wide and newcomer is None and facts.log_columns is not None:
        _check_wide(team, source, model=model)
    silent = () if newcomer is not None or not wide else _without_column(team, source)
    control = reading.control
    if control is None and takes_control(kind) and facts.control is not None:
        control = facts.control.from_name
    named = (facts.groups, reading.key or facts.key if newcomer is None else None)
    in_log = reading.answers is not None and facts.key in source.columns()
    key = facts.key if reading.key is None and in_log else reading.key
    own_column = newcomer is not None and wide
    spelled = [label, key, facts.key, *team.expert_names, *([reading.answer or newcomer] if own_column else [])]
    return CaseFile(
        source=replace(source, blanks=blanks.without(*spelled)),
        format=kind,
        label=label,
        majority=majority,
        expert_names=None if newcomer is None else ((reading.answer or newcomer) if own_column else newcomer,),
        team=tuple(name for name in team.expert_names if name not in silent) if newcomer is None else None,
        answers=None if reading.answers is None else TableSource.of(reading.answers, name="answers"),
        item=reading.item,
        annotator=reading.annotator,
        answer=None if own_column else reading.answer,
        features=team.recipe.inputs,
        text=team.recipe.text,
        key=key,
        beside=tuple(name for name in named if name is not None),
        control=control,
        classes=team.classes,
        blank=blanks.values,
        spellings=reading.spellings(facts),
    )


def _label_and_majority(team: Team, reading: Reading, kind: str, *, is_newcomer: bool) -> tuple[str | None, bool]:
    """Return the label's column, and whether blank labels become the most frequent answer."""
    facts, label = team.facts, reading.label
    if label is None and (kind == "table") == ((facts.format or "table") == "table"):
        label = facts.label
    if not is_newcomer:
        return label, reading.majority_label or (reading.label is None and facts.majority_label)
    # One person's own majority is always right: a wide table, which shows nobody else, must have a label.
    wide = kind == "table" and reading.answers is None
    return label, label is None and not wide and facts.majority_label


def _no_label(team: Team, source: TableSource, *, model: str, newcomer: str | None) -> InputError:
    if newcomer is not None:
        why = f"{source.name}: without labels nobody can say which answers are right; name the column with the truth "
        return InputError(f"{why}with ", Argument("label"), ".")
    how = "on an export" if team.facts.format is not None else "in Python"
    return InputError(
        f"{model}: was fitted {how} and does not know the label's column; name it with ", Argument("label"), "."
    )


def _check_wide(team: Team, source: TableSource, *, model: str) -> None:
    """Ask for the log of answers, unless this table has the experts' columns itself."""
    if team.expert_names and set(source.columns()).isdisjoint(team.expert_names):
        raise InputError(
            f"{model}: was fitted with a log of answers, and {source.name} has no column of an expert; pass ",
            Argument("answers"),
            ", with one row per answer.",
        )


def with_log_columns(team: Team, reading: Reading) -> Reading:
    """Name the columns of a log as `fit` was told, where nothing else is said now and this log has them too."""
    remembered = team.facts.log_columns or {}
    if reading.answers is None or not remembered:
        return reading
    named = {"item": reading.item, "annotator": reading.annotator, "answer": reading.answer}
    free = {name for name in TableSource.of(reading.answers).columns() if name not in named.values()}
    known = {role: name for role, name in remembered.items() if name in free}
    item, annotator, answer = (named[role] or known.get(role) for role in named)
    return replace(reading, item=item, annotator=annotator, answer=answer)


def _without_column(team: Team, source: TableSource) -> tuple[str, ...]:
    """Return the experts who joined later and of whom a wide table has no column; one of `fit` must have one."""
    if not team.facts.joined:
        return ()
    columns = source.columns()
    return tuple(name for name in team.facts.joined if name not in columns)


def _with_silent(cases: Cases, team: Team, silent: tuple[str, ...]) -> Cases:
    """Let experts who have no column stand in the table as people who were asked nothing, and say so."""
    if not silent:
        return cases
    table, names = cases.table, list(team.expert_names)
    answers = table.answers.reindex(columns=names).astype(object)
    whole = ExpertTable(table.labels, answers, features=table.features, classes=table.classes, expert_names=names)
    who = f"column {silent[0]}" if len(silent) == 1 else f"columns {join_names(silent)}"
    remark = f"{cases.source}: no {who}; joined after fit, so read as no answers of theirs."
    return replace(cases, table=whole, remarks=(*cases.remarks, remark))


def as_written(table: Table | TeamCases) -> str:
    """Return a table as an argument in Python.

    >>> import pandas as pd
    >>> as_written("cases.csv"), as_written(pd.DataFrame())
    ("'cases.csv'", 'table')
    """
    if not isinstance(table, TeamCases):
        return repr(str(table)) if isinstance(table, str | PathLike) else "table"
    said_now = {one.name: getattr(table.reading, one.name) for one in fields(Reading) if one.name != "table"}
    words = [
        f"{name}={as_written(value) if name == 'answers' else repr(value)}" for name, value in said_now.items() if value
    ]
    read = ", ".join([as_written(table.reading.table), *words])
    return f"study.read({read})" if words else as_written(table.reading.table)
