"""`defero route`: who should decide each case of a file; tables are streamed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_notes

if TYPE_CHECKING:
    from defero.decide.terms import Terms

_OF_LOGS = ("item", "annotator", "answer")
_WORKERS = ("engine", "workers", "address")


@opt.takes(
    reading=opt.of_table("label", "majority_label") + opt.of_reading("images", "bad_rows"),
    terms=opt.of_terms(*opt.LIMITED, "floor"),
    how=opt.of("study/study.py", "Study.route", only=("ask", "uncertainty", "unusual", "answers")),
    where=opt.of_reading(*_WORKERS),
    loading=opt.ENCODER,
)
def route(
    model: opt.Model,
    table: Annotated[Path, typer.Argument(help="Cases to decide: a table of any size, or an export.")],
    *,
    out: Annotated[
        Path,
        typer.Option(
            help="File of decisions to write: .csv, .tsv, .jsonl (each also .gz) or .parquet. For a Label Studio "
            "export also .json: its tasks with the model's label as a prediction, and the route. For a folder of "
            "Parquet files also a folder: a file for each; those that are done are not made again."
        ),
    ],
    reading: dict[str, Any],
    terms: "Terms",
    how: dict[str, Any],
    where: dict[str, Any],
    loading: dict[str, Any],
    seed: opt.UnusedSeed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name. Columns that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --fee dr_a=0.05
    """
    study = opt.saved_model(model, **loading)
    progress = _show_progress if sys.stderr.isatty() and not as_json else None
    if any(where.values()) or (table.is_dir() and (out.is_dir() or not out.suffix)):
        options = {name: value for name, value in {**reading, **how}.items() if value and name not in _OF_LOGS}
        where["engine"] = where["engine"] or "local"
        routing = study.route_folder(table, out, terms=terms, **options, **where)
    else:
        routing = study.route(table, out, terms=terms, **reading, **how, progress=progress)
    if as_json:
        emit(routing.to_dict())
        return
    echo(routing.text())
    show_notes(routing.notes)


def _show_progress(rows: int) -> None:
    typer.echo(f"\r{rows:,} rows", nl=False, err=True)
