"""`defero route`: who should decide each case of a file; tables are streamed."""

import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.output import emit, percent, show_lines
from defero.cli.reading import ControlName, FileFormat, format_of, in_options
from defero.cli.route_out import decision_columns, decisions_to, is_tasks, remembered_control

if TYPE_CHECKING:
    import pandas as pd

    from defero.data.label_studio_results import Control
    from defero.router import Router

MOST_SHOWN = 20


def route(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[
        Path, typer.Argument(help="Cases to be decided: a table, larger than memory is fine, or an export.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="The decisions: .csv, .tsv, .jsonl (each also .gz) or .parquet. Of a Label Studio export, .json: its "
            "tasks with the model's label as a prediction, and the route."
        ),
    ],
    key: Annotated[str | None, typer.Option(help="A column to copy, that names the cases. Default: as in fit.")] = None,
    cost: Annotated[list[str] | None, typer.Option(help="NAME=FEE in units of one error; repeat for several.")] = None,
    absent: Annotated[list[str] | None, typer.Option(help="An expert who cannot be asked; repeat for several.")] = None,
    file_format: FileFormat = None,
    control: ControlName = None,
    seed: Annotated[int, typer.Option(help="Taken by every command; nothing is drawn at random here.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name, in any order; those that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --cost dr_a=0.05
    """
    from defero.core.errors import InputError
    from defero.router import Router

    router = Router.load(model)
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its decide in Python.")
    if out.exists() and table.exists() and out.samefile(table):
        raise InputError(f"--out {out}: is the table of cases itself; choose another name.")
    costs = fees_of(router.expert_names, cost or [])
    if not cost and router.panel is not None and router.panel.costs is not None:
        costs = list(router.panel.costs)
    available = _present(router, absent or [])
    with in_options():
        arrivals = _arrivals(router, table, out, key=key, file_format=file_format, control=control)
    tally = _Tally()
    with decisions_to(out, tasks=arrivals.tasks, control=arrivals.control) as write:
        for piece in arrivals.pieces:
            own_key = _own_key(piece, table, key=key or arrivals.key, asked=key is not None)
            write(_decided(router, piece, arrivals, costs=costs, available=available, key=own_key, tally=tally))
            if sys.stderr.isatty() and not as_json:
                typer.echo(f"\r{tally.loads.total():,} rows", nl=False, err=True)
    if as_json:
        holds = _promise_holds(router, costs, available)
        emit({"decisions": str(out), "promise_holds": holds, **tally.to_dict(router.expert_names)})
        return
    _show(out, tally, router.expert_names)


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """Cases to be decided: pieces of a table, and of an export the tasks and their question."""

    pieces: "Iterator[pd.DataFrame]"
    source: str
    first_row: int
    key: str | None
    tasks: tuple[dict[str, Any], ...] | None = None
    control: "Control | None" = None


@dataclass(eq=False)
class _Tally:
    """What has been decided so far, and what was said of the rows."""

    loads: Counter[str]
    said: Counter[str]
    ignored: tuple[str, ...]

    def __init__(self) -> None:
        self.loads, self.said, self.ignored = Counter(), Counter(), ()

    def to_dict(self, experts: tuple[str, ...]) -> dict[str, Any]:
        return {
            "rows": self.loads.total(),
            "load": {name: self.loads[name] for name in ("model", *experts)},
            "ignored_columns": list(self.ignored),
            "notes": dict(self.said),
        }


def _arrivals(
    router: "Router", table: Path, out: Path, *, key: str | None, file_format: str | None, control: str | None
) -> _Arrivals:
    from defero.core.errors import InputError
    from defero.data.formats import first_row
    from defero.data.read import read_chunks

    assert router.recipe is not None
    kind = format_of(table, file_format, remembered=router.notes.get("format"))
    if control is not None and kind != "label-studio":
        raise InputError(
            f"--control {control}: is a question of a Label Studio export, and {table} is read as {kind}; leave it "
            "out, or pass --format label-studio."
        )
    if is_tasks(out) and kind != "label-studio":
        raise InputError(
            f"--out {out}: only the tasks of a Label Studio export are written as .json; for a table of decisions "
            f"name it {out.name.split('.')[0]}.csv."
        )
    if kind == "table":
        remembered = router.notes.get("key")
        texts = [*router.recipe.categorical, *(name for name in (key or remembered,) if name is not None)]
        return _Arrivals(read_chunks(table, as_text=texts), str(table), first_row(table), remembered)
    if kind == "prodigy":
        from defero.data.prodigy_open import read_lines

        lines = read_lines(table, key=key, known=router.notes.get("key"))
        return _Arrivals(iter([lines.items]), str(table), 1, lines.key)
    from defero.data.label_studio_open import read_tasks

    asked = remembered_control(router) if control is None else None
    tasks = read_tasks(table, control=control, known=asked)
    if is_tasks(out) and tasks.control is None:
        raise InputError(
            f"{table}: nothing tells which question the model answers; no task has an answer, and the model was not "
            "fitted on an export. Write a table of decisions instead, such as --out decisions.csv."
        )
    return _Arrivals(iter([tasks.items]), str(table), 1, "task_id", tasks.tasks, tasks.control)


def _own_key(piece: "pd.DataFrame", table: Path, *, key: str | None, asked: bool) -> str | None:
    """Return the column to copy; the one that `fit` had need not be there."""
    from defero.data.columns import no_such_column

    names = list(map(str, piece.columns))
    if key is None or key in names:
        return key
    if asked:
        raise no_such_column(key, names, source=str(table), role="the key")
    return None


def _decided(
    router: "Router",
    piece: "pd.DataFrame",
    arrivals: _Arrivals,
    *,
    costs: list[float],
    available: list[bool],
    key: str | None,
    tally: _Tally,
) -> dict[str, Any]:
    """Decide the cases of a piece; return the columns of the table of decisions."""
    from defero.core.errors import InputError
    from defero.router.panel import with_decider

    assert router.recipe is not None
    scores = router.score_features(router.features(piece, source=arrivals.source, first_row=arrivals.first_row))
    decision = router.decide_scores(scores, costs=costs, available=available)
    panels = None
    if router.panel is not None and not router.panel.grouped:
        panels = with_decider(router.sets_of(scores, costs=costs, available=available), decision)
    columns = decision_columns(scores, decision, panels, router.classes)
    if key in columns:
        raise InputError(f"--key {key}: the decisions have a column of that name of their own; rename the key.")
    tally.loads.update(decision.name.tolist())
    tally.said.update(router.recipe.remarks(piece))
    ours = {*(router.notes.get(name) for name in ("label", "key", "group", "time", "split")), key, *router.expert_names}
    tally.ignored = tuple(name for name in router.recipe.extra(piece) if name not in ours)
    first = {key: piece[key].tolist()} if key else {"row": (piece.index + arrivals.first_row).tolist()}
    return {**first, **columns}


def _show(out: Path, tally: _Tally, experts: tuple[str, ...]) -> None:
    rows, loads = tally.loads.total(), tally.loads
    typer.echo(f"{rows} decisions in {out}:")
    asked = list(experts)
    if len(asked) > MOST_SHOWN:  # of a crowd only those who get something to do
        asked = sorted((name for name in experts if loads[name]), key=lambda name: -loads[name])
    lines = [f"  {name}: {loads[name]} ({percent(loads[name] / rows)})" for name in ("model", *asked)]
    show_lines(lines, most=MOST_SHOWN + 1, what="experts")
    if len(asked) < len(experts):
        typer.echo(f"  {len(experts) - len(asked)} experts: none")
    if tally.ignored:
        typer.echo(f"note: columns that the model does not know are ignored: {', '.join(tally.ignored)}.", err=True)
    for sentence, count in tally.said.items():
        typer.echo(f"note: {sentence}, in {count} rows.", err=True)


def _promise_holds(router: "Router", costs: list[float], available: list[bool]) -> bool:
    """Tell whether the panels were calibrated for these fees and these experts."""
    if router.panel is None or router.panel.grouped:
        return False
    then = router.panel.costs or (0.0,) * len(costs)
    return all(available) and tuple(costs) == tuple(then)


def fees_of(experts: tuple[str, ...], given: list[str]) -> list[float]:
    """Read NAME=FEE entries; 0 for whoever is not named."""
    from defero.core.errors import InputError

    fees = dict.fromkeys(experts, 0.0)
    if given and not experts:
        raise InputError(f"--cost {given[0]}: there are no experts to be paid; leave it out.")
    for entry in given:
        name, equals, fee = entry.partition("=")
        if not equals:
            raise InputError(f"--cost {entry}: expected NAME=FEE with a number, such as {experts[0]}=0.05.")
        if name not in fees:
            raise InputError(f"--cost {entry}: no expert {name}; there are {', '.join(experts)}.")
        try:
            fees[name] = float(fee)
        except ValueError:
            raise InputError(f"--cost {entry}: expected NAME=FEE with a number, such as {name}=0.05.") from None
        if fees[name] < 0:
            raise InputError(f"--cost {entry}: a fee must not be negative.")
        if not math.isfinite(fees[name]):
            raise InputError(f"--cost {entry}: the fee must be finite; to rule an expert out pass --absent {name}.")
    return list(fees.values())


def _present(router: "Router", absent: list[str]) -> list[bool]:
    from defero.core.errors import InputError

    if absent and not router.expert_names:
        raise InputError(f"--absent {absent[0]}: the model knows no experts; leave it out.")
    for name in absent:
        if name not in router.expert_names:
            raise InputError(f"--absent {name}: no such expert; the model knows {', '.join(router.expert_names)}.")
    return [name not in absent for name in router.expert_names]
