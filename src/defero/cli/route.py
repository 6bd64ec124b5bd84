"""`defero route`: who should decide each case of a file; tables are streamed."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli import options as opt
from defero.cli.output import echo, emit, show_lines, show_notes
from defero.cli.pool import is_pool, refuse, route_pool

if TYPE_CHECKING:
    from defero.decide.terms import Terms
    from defero.study.routing.decisions import Routing

MOST_SHOWN = 20
_OF_LOGS = ("item", "annotator", "answer")
_WORKERS = ("engine", "workers", "address")


@opt.takes(
    said=opt.of_table("label", "majority_label") + opt.of_reading("images", "bad_rows"),
    terms=opt.of_terms(*opt.LIMITED),
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
    said: dict[str, Any],
    terms: "Terms",
    how: dict[str, Any],
    where: dict[str, Any],
    loading: dict[str, Any],
    quality_floor: Annotated[
        float | None,
        typer.Option(help="For pools: the cheapest member whose expected score reaches this is chosen."),
    ] = None,
    seed: opt.UnusedSeed = 0,
    as_json: opt.AsJson = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name. Columns that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --fee dr_a=0.05
    """
    from defero.core.errors import InputError

    study = opt.saved_model(model, **loading)
    progress = _show_progress if sys.stderr.isatty() and not as_json else None
    if is_pool(study):
        refuse({"cost_matrix": terms.cost_matrix, **{name: how[name] for name in ("uncertainty", "answers", "ask")}})
        refuse({"control": said["control"], "at_most_asked": terms.at_most_asked, "rename": said["rename"]})
        words = {name: said[name] for name in ("key", "bad_rows", "blank")}
        words |= {name: getattr(terms, name) for name in ("fees", "error_cost", "absent", "budget", "capacity")}
        route_pool(study, table, out, **words, floor=quality_floor, progress=progress, as_json=as_json)
        return
    if quality_floor is not None:
        raise InputError(": is for pools, made with --scores; leave it out.", argument="floor")
    if any(where.values()) or (table.is_dir() and (out.is_dir() or not out.suffix)):
        options = {name: value for name, value in {**said, **how}.items() if value and name not in _OF_LOGS}
        by_file = study.route_folder(
            table, out, terms=terms, **options, **where | {"engine": where["engine"] or "local"}
        )
        if as_json:
            emit(by_file.to_dict())
        else:
            typer.echo(by_file.text())
            show_notes(by_file.cautions)
        return
    routing = study.route(table, out, terms=terms, **said, **how, progress=progress)
    if as_json:
        emit(routing.to_dict())
        return
    _show(routing)
    show_notes(routing.notes)


def _show_progress(rows: int) -> None:
    typer.echo(f"\r{rows:,} rows", nl=False, err=True)


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
