"""The report of an evaluation: one page to pass on."""

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from defero.core.errors import Argument, InputError, Spelling
from defero.data.model_folder import library_versions
from defero.data.tables.read import Table, TableSource
from defero.data.whole_files import write_whole
from defero.study.judging.evaluation import Evaluation, other_terms

if TYPE_CHECKING:
    from defero.report import Provenance

PAGES = (".html", ".htm")


def check_page(out: Path, *, model: Path | None, tables: tuple[Table | None, ...] = ()) -> None:
    """Raise before any work where the page cannot be written, or would replace what it is made of."""
    named = Argument("out", str(out))
    if out.is_dir():
        raise InputError(f"{named}: is a folder; name a file in it, such as {out / 'report.html'}.")
    if not out.resolve().parent.is_dir():
        raise InputError(f"{named}: the folder {out.resolve().parent} does not exist; make it first.")
    if not os.access(out.resolve().parent, os.W_OK | os.X_OK):
        raise InputError(f"{named}: no permission to write in {out.resolve().parent}; choose another folder.")
    for table, what in zip(tables, ("the table of cases", "the log of answers"), strict=False):
        path = None if table is None else TableSource.of(table).path
        if path is not None and out.exists() and path.exists() and out.samefile(path):
            raise InputError(f"{named}: is {what} itself; choose another name.")
    if model is not None and out.resolve().parent == model.resolve():
        raise InputError(f"{named}: lies in the model's folder, which stays as it is; choose another folder.")
    if out.suffix.lower() not in PAGES:
        raise InputError(
            f"{named}: the page is HTML; name it {out.with_suffix('.html').name}. For a PDF open it in a browser "
            "and print it there."
        )


def write_page(evaluation: Evaluation, out: Path, *, command: str, spell: Spelling = str) -> None:
    """Write the page, whole or not at all.

    Parameters
    ----------
    evaluation : Evaluation
    out : Path
        Checked by `check_page`.
    command : str
        The line that makes the page again.
    spell : callable
        Writes the arguments that the page mentions.
    """
    from defero.report import Evidence, report_page

    void = other_terms(evaluation.team, evaluation.terms)
    evidence = Evidence(
        expert_sd=evaluation.expert_sd,
        groups={one.column: (one.recall(), one.load()) for one in evaluation.groups},
        panels_void=" ".join(one[:1].upper() + one[1:] for one in void),
    )
    provenance = _provenance(evaluation, command=command, spell=spell)
    write_html(out, report_page(evaluation.trial, evaluation.record, provenance, evidence=evidence))


def write_html(out: Path, page: str) -> None:
    """Write a page, whole or not at all."""
    try:
        write_whole(out, page.encode("utf-8"))
    except InputError as error:
        raise InputError(f"{Argument('out')} {error}") from error


def _provenance(evaluation: Evaluation, *, command: str, spell: Spelling) -> "Provenance":
    from defero.report import Provenance

    calibrator, answering = evaluation.team.calibrator, evaluation.team.facts.answering
    return Provenance(
        model=evaluation.model,
        table=evaluation.table,
        rows=evaluation.rows,
        left_out=evaluation.seen_by_fit + evaluation.of_seen_groups,
        seed=evaluation.random_state,
        fingerprint=evaluation.fingerprint(),
        command=command,
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        versions=library_versions(),
        settings=evaluation.team.facts.settings(),
        calibration=() if calibrator is None else tuple(calibrator.describe()),
        answering=() if answering is None else tuple(one.message(spell) for one in answering.sentences),
    )
