"""`defero report`: a saved team on cases it has not seen, as one page to pass on."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

from defero.cli.answering import noted
from defero.cli.held_out import HeldOut, judge_held_out
from defero.cli.output import emit
from defero.cli.pictures import Images
from defero.cli.reading import (
    MOST_SEED,
    Answer,
    Answers,
    ControlName,
    Expert,
    FileFormat,
    Given,
    Item,
    Key,
    Label,
    Majority,
)

if TYPE_CHECKING:
    from defero.core.trial import Trial
    from defero.metrics.record.team import TeamRecord
    from defero.report.evidence import Evidence
    from defero.report.provenance import Provenance

PAGES = (".html", ".htm")
NEEDS_MATPLOTLIB = "the report needs matplotlib: pip install 'defero[report]'"


def report(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases with labels and the experts' answers.")],
    out: Annotated[Path, typer.Option(help="The page to write, a name that ends in .html.")] = Path("report.html"),
    label: Label = None,
    answers: Answers = None,
    item: Item = None,
    expert: Expert = None,
    answer: Answer = None,
    key: Key = None,
    majority_label: Majority = False,
    file_format: FileFormat = None,
    control: ControlName = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Settles the draws of the intervals.", min=0, max=MOST_SEED)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge a saved team as `evaluate` does, and write it down with pictures: one file, to open and to pass on.

    The page needs no network. Rows that `fit` saw, or of a group that it saw, are left out; an expert can only be
    asked where their answer is recorded.

    Example:

    defero report model new_cases.csv --out report.html
    """
    given = Given(label, answers, item, expert, answer, key, majority_label, file_format, control, images)
    judged = write_report(model, table, out=out, given=given, seed=seed)
    if as_json:
        emit({"report": str(out), **judged.to_dict()})
        return
    if judged.left_out_sentence():
        typer.echo(judged.left_out_sentence())
    from defero.report.sections.headline import sentence

    typer.echo(sentence(judged.record).replace("\u00a0", " "))
    for caution in judged.record.cautions:
        typer.echo(f"  {caution}")
    for note in judged.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(f"\nWritten to {out}: open it in a browser.")


def write_report(model: Path, table: Path, *, out: Path, given: Given | None = None, seed: int = 0) -> HeldOut:
    """Judge a saved team and write the page; raises before any work where the page cannot be made or written."""
    from defero.core.errors import InputError

    if out.is_dir():
        raise InputError(f"--out: {out} is a folder; name a file in it, such as {out / 'report.html'}.")
    if not out.resolve().parent.is_dir():
        raise InputError(f"--out: the folder {out.resolve().parent} does not exist; make it first.")
    told = given or Given()
    for kept, what in ((table, "the table of cases"), (told.answers, "the log of answers")):
        if kept is not None and out.exists() and kept.exists() and out.samefile(kept):
            raise InputError(f"--out {out}: is {what} itself; choose another name.")
    if out.resolve().parent == model.resolve():
        raise InputError(f"--out {out}: lies in the model's folder, which stays as it is; choose another folder.")
    if out.suffix.lower() not in PAGES:
        raise InputError(
            f"--out {out}: the page is HTML; name it {out.with_suffix('.html').name}. For a PDF open it in a browser "
            "and print it there."
        )
    report_page = page_maker()
    judged = judge_held_out(model, table, given=told, seed=seed)
    page = report_page(
        judged.trial,
        judged.record,
        _provenance(judged, out=out, given=told, seed=seed),
        evidence=_evidence(judged),
    )
    out.write_text(page, encoding="utf-8")
    return judged


class PageMaker(Protocol):
    """What makes the page."""

    def __call__(
        self, trial: "Trial", record: "TeamRecord", provenance: "Provenance", *, evidence: "Evidence | None" = None
    ) -> str:
        """Return the page as text."""


def page_maker() -> PageMaker:
    """Return what makes the page; raises, with what to install, where its pictures cannot be drawn."""
    try:
        from defero.report.page import report_page
    except ImportError as error:
        if "matplotlib" not in str(error):
            raise
        raise ImportError(NEEDS_MATPLOTLIB) from error
    return report_page


def _evidence(judged: HeldOut) -> "Evidence":
    from defero.report.evidence import Evidence

    return Evidence(expert_sd=judged.expert_sd, min_answers=judged.router.min_answers)


def _provenance(judged: HeldOut, *, out: Path, given: Given, seed: int) -> "Provenance":
    from datetime import datetime

    from defero.data.fingerprint import combined, row_fingerprints
    from defero.data.model_folder import library_versions
    from defero.report.provenance import Provenance

    calibrator, found = judged.router.calibrator, noted(judged.router)
    options = ["--out", str(out), *given.options()]
    options += [] if seed == 0 else ["--seed", str(seed)]
    notes = {name: value for name, value in judged.router.notes.items() if name != "columns" and value is not None}
    return Provenance(
        model=str(judged.model),
        table=str(judged.table),
        rows=judged.rows,
        left_out=judged.left_out + judged.of_seen_groups,
        seed=seed,
        fingerprint=combined(row_fingerprints(judged.cases.features)),
        command=shlex.join(["defero", "report", str(judged.model), str(judged.table), *options]),
        made=datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        versions=library_versions(),
        notes=notes,
        calibration=() if calibrator is None else tuple(calibrator.describe(judged.router.expert_names)),
        answering=() if found is None else found.said,
    )
