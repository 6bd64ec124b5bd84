"""What a model remembers of the files that it was made from: the columns of its log of answers, and who came later."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.cli.reading import Given

if TYPE_CHECKING:
    from defero.data.case_file import CaseFile, Cases
    from defero.router import Router

LOG_COLUMNS, JOINED = "log_columns", "joined"
"""Under these names a model's notes keep them; models made before have neither."""


def log_columns(file: "CaseFile") -> dict[str, str] | None:
    """Return what `fit` was told of the columns of its log, to be kept with the model; None where that is nothing."""
    told = {"item": file.item, "expert": file.annotator, "answer": file.answer}
    return {role: name for role, name in told.items() if name is not None} or None


def with_log_columns(router: "Router", given: Given) -> Given:
    """Name the columns of a log as `fit` was told, where nothing else is said now and this log has them too."""
    kept = router.notes.get(LOG_COLUMNS) or {}
    if given.answers is None or not kept:
        return given
    told = (given.item, given.expert, given.answer)
    free = {name for name in columns_of(given.answers) if name not in told}
    known = {role: name for role, name in kept.items() if name in free}
    item, expert, answer = (
        said or known.get(role) for said, role in zip(told, ("item", "expert", "answer"), strict=True)
    )
    return replace(given, item=item, expert=expert, answer=answer)


def remembered_key(key: str | None, table: Path) -> str | None:
    """Return the key of `fit` where this table has it too; else it is found by name."""
    return key if key in columns_of(table) else None


def with_joined(before: "Router", after: "Router", expert: str) -> dict[str, Any]:
    """Return the notes with one more expert who came later; without, where it is not known who else did."""
    from defero.router.roster import STAGE

    if JOINED not in before.notes and STAGE in before.seen:
        return dict(after.notes)
    return {**after.notes, JOINED: [*before.notes.get(JOINED, ()), expert]}


def without_column(router: "Router", table: Path) -> tuple[str, ...]:
    """Return the experts who came later and of whom a wide table has no column.

    An expert of `fit` must have one. Where a model does not know who came later, somebody may have: then the message
    says what can be done, and guesses at no other name.
    """
    from defero.core.errors import TableError
    from defero.router.roster import STAGE

    joined = router.notes.get(JOINED)
    if not joined and STAGE not in router.seen:
        return ()
    columns = columns_of(table)
    missing = [name for name in router.expert_names if name not in columns]
    if missing and joined is None:
        name = missing[0]
        raise TableError(
            f"{table}: no column {name!r} for an expert; if they joined the team later and answered none of these "
            f"cases, add an empty column {name}."
        )
    return tuple(name for name in missing if name in (joined or ()))


def with_silent(cases: "Cases", router: "Router", silent: tuple[str, ...], *, table: Path) -> "Cases":
    """Let experts who have no column stand in the table as people who were asked nothing, and say so."""
    from defero.core import ExpertTable
    from defero.core.wording import join_names

    if not silent:
        return cases
    read, names = cases.table, list(router.expert_names)
    answers = read.answers.reindex(columns=names).astype(object)
    whole = ExpertTable(read.labels, answers, features=read.features, classes=read.classes, experts=names)
    who = f"column {silent[0]}" if len(silent) == 1 else f"columns {join_names(silent)}"
    said = f"{table}: no {who}; joined after fit, so read as no answers of theirs."
    return replace(cases, table=whole, notes=(*cases.notes, said))


def columns_of(table: Path) -> list[str]:
    """Return the names of a file's columns."""
    from defero.data.tables.read import read_chunks

    return list(map(str, next(iter(read_chunks(table, rows=1))).columns))
