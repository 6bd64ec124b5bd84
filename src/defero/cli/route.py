"""`defero route`: who should decide each case of a file; tables are streamed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_lines, show_notes
from defero.cli.pool import is_pool, refuse, route_pool

if TYPE_CHECKING:
    from defero.study.routing.by_file import FolderRouting
    from defero.study.routing.decisions import Routing

MOST_SHOWN = 20


def route(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases to decide: a table of any size, or an export.")],
    out: Annotated[
        Path,
        typer.Option(
            help="File of decisions to write: .csv, .tsv, .jsonl (each also .gz) or .parquet. For a Label Studio "
            "export also .json: its tasks with the model's label as a prediction, and the route. For a folder of "
            "Parquet files also a folder: a file for each; those that are done are not made again."
        ),
    ],
    key: Annotated[
        str | None, typer.Option(help="Column of case ids, which is copied to the decisions. Default: as in fit.")
    ] = None,
    fee: opt.Fee = None,
    fees: opt.FeesFile = None,
    error_cost: opt.ErrorCost = None,
    cost_matrix: opt.CostMatrix = None,
    absent: opt.Absent = None,
    ask: opt.Ask = None,
    uncertainty: Annotated[
        bool,
        typer.Option(
            "--uncertainty",
            help="Add columns sd_<expert>: the standard deviation of p_<expert>. It covers chance in this expert's "
            "answers only; the real error can be several times as large.",
        ),
    ] = False,
    unusual: Annotated[
        str,
        typer.Option(
            help="flag: mark cases unlike those that were learned from in the column unusual. ask: also give them to "
            "the best expert, even where the model would decide."
        ),
    ] = "flag",
    capacity: opt.Capacity = None,
    at_most_asked: opt.AtMostAsked = None,
    budget: opt.Budget = None,
    quality_floor: Annotated[
        float | None,
        typer.Option(help="For pools: the cheapest member whose expected score reaches this is chosen."),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            help="Log of the answers so far, one per row: columns for the case, the expert and the answer. Each case "
            "gets its next question or its final label. A later answer of the same person wins. The answers so far "
            "count toward --capacity, --at-most-asked and --budget."
        ),
    ] = None,
    item: opt.Item = None,
    expert: opt.Expert = None,
    answer: opt.Answer = None,
    file_format: opt.FileFormat = None,
    control: opt.ControlName = None,
    rename: opt.Rename = None,
    blank: opt.Blank = None,
    images: opt.Images = None,
    bad_rows: opt.BadRowsOption = None,
    engine: opt.EngineName = None,
    workers: opt.Workers = None,
    address: opt.Address = None,
    seed: opt.UnusedSeed = 0,
    text_encoder: opt.TextEncoder = None,
    as_json: opt.AsJson = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name. Columns that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --fee dr_a=0.05
    """
    from defero.core.errors import InputError

    terms, study = opt.terms_of(locals()), opt.saved_model(model, text_encoder)
    options: dict[str, Any] = {"key": key, "bad_rows": bad_rows or "stop"}
    progress = _show_progress if sys.stderr.isatty() and not as_json else None
    if is_pool(study):
        other = {"cost_matrix": cost_matrix, "uncertainty": uncertainty, "answers": answers, "control": control}
        refuse(other | {"at_most_asked": at_most_asked, "rename": rename, "ask": ask})
        options |= {"fees": terms.fees, "error_cost": error_cost, "absent": absent or [], "budget": budget}
        options |= {"floor": quality_floor, "capacity": terms.capacity, "blank": blank or ()}
        route_pool(study, table, out, **options, progress=progress, as_json=as_json)
        return
    if quality_floor is not None:
        raise InputError(": is for pools, made with --scores; leave it out.", argument="floor")
    options |= {"terms": terms, "ask": ask, "uncertainty": uncertainty, "unusual": unusual}
    to_folder = table.is_dir() and (out.is_dir() or not out.suffix)
    if to_folder or any(one is not None for one in (engine, workers, address)):
        whole = {"answers": answers, "format": file_format, "control": control, "images": images, "rename": rename}
        options |= {name: value for name, value in whole.items() if value is not None}
        options |= {"blank": tuple(blank or ())}
        where: dict[str, Any] = {"engine": engine or "local", "workers": workers, "address": address}
        _show_folder(study.route_folder(table, out, **where, **options), as_json=as_json)
        return
    options |= {"answers": answers, "item": item, "annotator": expert, "answer": answer}
    options |= {"format": file_format, "control": control, "images": images, "rename": rename, "blank": blank or ()}
    routing = study.route(table, out, **options, progress=progress)
    if as_json:
        emit(routing.to_dict())
        return
    _show(routing)
    show_notes(routing.notes)


def _show_progress(rows: int) -> None:
    typer.echo(f"\r{rows:,} rows", nl=False, err=True)


def _show_folder(by_file: "FolderRouting", *, as_json: bool) -> None:
    if as_json:
        emit(by_file.to_dict())
    else:
        typer.echo(by_file.text())
        show_notes(by_file.cautions)


def _show(routing: "Routing") -> None:
    from defero.core.wording import count_of, percent

    load, experts = routing.load, routing.expert_names
    echo(f"{count_of(routing.rows, 'decision')} in {routing.out}:")
    shown_experts = list(experts)
    if len(shown_experts) > MOST_SHOWN:  # of a crowd only those who get something to do
        shown_experts = sorted((name for name in experts if load[name]), key=lambda name: -load[name])
    first = routing.deciders[: len(routing.deciders) - len(experts)]
    lines = [f"  {name}: {load[name]} ({percent(load[name] / routing.rows)})" for name in (*first, *shown_experts)]
    show_lines(lines, most=MOST_SHOWN + 1, what="experts")
    if len(shown_experts) < len(experts):
        echo(f"  {len(experts) - len(shown_experts)} experts: none")
