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
_OF_LOGS = ("item", "annotator", "answer")
_COLUMNS = tuple(name for name in opt.AGAIN if name not in ("label", "key", "majority_label"))


@opt.reads(*_COLUMNS, "images", "bad_rows", *opt.WORKERS)
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
    key: Annotated[
        str | None, typer.Option(help="Column of case ids, which is copied to the decisions. Default: as in fit.")
    ] = None,
    costs: opt.Limited,
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
    seed: opt.UnusedSeed = 0,
    text_encoder: opt.TextEncoder = None,
    as_json: opt.AsJson = False,
    **said: Any,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name. Columns that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --fee dr_a=0.05
    """
    from defero.core.errors import InputError

    terms, study = costs.terms(), opt.saved_model(model, text_encoder)
    options: dict[str, Any] = {"key": key, "bad_rows": said.pop("bad_rows") or "stop", "blank": said.pop("blank")}
    where = {name: said.pop(name) for name in opt.WORKERS}
    progress = _show_progress if sys.stderr.isatty() and not as_json else None
    if is_pool(study):
        refuse({"cost_matrix": terms.cost_matrix, "uncertainty": uncertainty, "answers": answers, "ask": ask})
        refuse({"control": said["control"], "at_most_asked": terms.at_most_asked, "rename": said["rename"]})
        options |= {name: getattr(terms, name) for name in ("fees", "error_cost", "absent", "budget", "capacity")}
        route_pool(study, table, out, **options, floor=quality_floor, progress=progress, as_json=as_json)
        return
    if quality_floor is not None:
        raise InputError(": is for pools, made with --scores; leave it out.", argument="floor")
    options |= {"terms": terms, "ask": ask, "uncertainty": uncertainty, "unusual": unusual}
    said["answers"] = answers
    if any(where.values()) or (table.is_dir() and (out.is_dir() or not out.suffix)):
        options |= {name: value for name, value in said.items() if value is not None and name not in _OF_LOGS}
        _show_folder(
            study.route_folder(table, out, **options, **where | {"engine": where["engine"] or "local"}), as_json
        )
        return
    routing = study.route(table, out, **options, **said, progress=progress)
    if as_json:
        emit(routing.to_dict())
        return
    _show(routing)
    show_notes(routing.notes)


def _show_progress(rows: int) -> None:
    typer.echo(f"\r{rows:,} rows", nl=False, err=True)


def _show_folder(by_file: "FolderRouting", as_json: bool) -> None:
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
