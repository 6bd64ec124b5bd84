"""`defero route`: who should decide each case of a file; tables are streamed."""

import math
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.output import emit, percent, show_lines
from defero.cli.pictures import Images, with_folder
from defero.cli.reading import ControlName, FileFormat, format_of, in_options
from defero.cli.repeated_keys import RepeatedKeys
from defero.cli.route_out import decision_columns, decisions_to, is_tasks, remembered_control
from defero.cli.saved_team import saved_team

if TYPE_CHECKING:
    import pandas as pd

    from defero.data.exports.export import OpenCases
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
    uncertainty: Annotated[
        bool, typer.Option("--uncertainty", help="Beside each p_<expert>, sd_<expert>: how unsure that probability is.")
    ] = False,
    file_format: FileFormat = None,
    control: ControlName = None,
    images: Images = None,
    seed: Annotated[int, typer.Option(help="Taken by every command; nothing is drawn at random here.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name, in any order; those that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --cost dr_a=0.05
    """
    from defero.core.errors import InputError

    router = with_folder(saved_team(model), images, table)
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
    tally, repeated, own_key = _Tally(), RepeatedKeys(), None
    terms = _Terms(costs, available, doubt=uncertainty)
    with decisions_to(out, file_format=arrivals.format, cases=arrivals.cases) as write:
        for piece in arrivals.pieces:
            own_key = _own_key(piece, table, key=key or arrivals.key, asked=key is not None)
            if own_key is not None:
                repeated.add(piece[own_key])
            write(_decided(router, piece, arrivals, terms=terms, key=own_key, tally=tally))
            if sys.stderr.isatty() and not as_json:
                typer.echo(f"\r{tally.loads.total():,} rows", nl=False, err=True)
    notes = [*repeated.sentence(own_key), *_voided(router, terms), *_no_doubt(router, tally, terms)]
    if as_json:
        holds = router.panel is not None and not router.panel.grouped and not _voided(router, terms)
        told = tally.to_dict(router.expert_names)
        emit({"decisions": str(out), "promise_holds": holds, **told, "cautions": notes})
        return
    _show(out, tally, router.expert_names)
    for sentence in notes:
        typer.echo(f"note: {sentence}", err=True)


@dataclass(frozen=True, eq=False)
class _Arrivals:
    """Cases to be decided: pieces of a table, and of an export the tasks and their question."""

    pieces: "Iterator[pd.DataFrame]"
    source: str
    first_row: int
    key: str | None
    format: str = "table"
    cases: "OpenCases | None" = None


@dataclass(frozen=True)
class _Terms:
    """Fees (J,), who is there (J,), and whether the doubt about each expert is to be told."""

    costs: list[float]
    available: list[bool]
    doubt: bool


@dataclass(eq=False)
class _Tally:
    """What has been decided so far, and what was said of the rows."""

    loads: Counter[str]
    said: Counter[str]
    ignored: tuple[str, ...]
    doubted: bool

    def __init__(self) -> None:
        self.loads, self.said, self.ignored, self.doubted = Counter(), Counter(), (), False

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
    from defero.data.exports.export import EXPORTS, takes_control, writes
    from defero.data.tables.formats import first_row
    from defero.data.tables.read import read_chunks

    assert router.recipe is not None
    kind = format_of(table, file_format, remembered=router.notes.get("format"))
    if control is not None and not takes_control(kind):
        raise InputError(
            f"--control {control}: is a question of a Label Studio export, and {table} is read as {kind}; leave it "
            "out, or pass --format label-studio."
        )
    if is_tasks(out) and not writes(kind, out):
        raise InputError(
            f"--out {out}: only the tasks of a Label Studio export are written as .json; for a table of decisions "
            f"name it {out.name.split('.')[0]}.csv."
        )
    if kind == "table":
        remembered = router.notes.get("key")
        texts = [*router.recipe.categorical, *(name for name in (key or remembered,) if name is not None)]
        return _Arrivals(read_chunks(table, as_text=texts), str(table), first_row(table), remembered)
    asked = remembered_control(router) if control is None else None
    cases = EXPORTS.find(kind).read_open(
        table, key=key, control=control, known_key=router.notes.get("key"), known_control=asked
    )
    if writes(kind, out) and takes_control(kind) and cases.control is None:
        raise InputError(
            f"{table}: nothing tells which question the model answers; no task has an answer, and the model was not "
            "fitted on an export. Write a table of decisions instead, such as --out decisions.csv."
        )
    return _Arrivals(iter([cases.items]), str(table), 1, cases.key, kind, cases)


def _own_key(piece: "pd.DataFrame", table: Path, *, key: str | None, asked: bool) -> str | None:
    """Return the column to copy; the one that `fit` had need not be there."""
    from defero.data.tables.columns import no_such_column

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
    terms: _Terms,
    key: str | None,
    tally: _Tally,
) -> dict[str, Any]:
    """Decide the cases of a piece; return the columns of the table of decisions."""
    from defero.core.errors import InputError
    from defero.router.doubt import expert_sd
    from defero.router.panel import with_decider

    assert router.recipe is not None
    features = router.features(piece, source=arrivals.source, first_row=arrivals.first_row)
    scores = router.score_features(features)
    decision = router.decide_scores(scores, costs=terms.costs, available=terms.available)
    panels = None
    if router.panel is not None and not router.panel.grouped:
        with warnings.catch_warnings():  # what voids the promise is told once, in this command's words
            warnings.filterwarnings("ignore", "the panel's promise does not hold")
            sets = router.sets_of(scores, costs=terms.costs, available=terms.available)
        panels = with_decider(sets, decision)
    sd = expert_sd(router, features) if terms.doubt else None
    tally.doubted |= sd is not None and bool((sd == sd).any())
    columns = decision_columns(scores, decision, panels, router.classes, sd=sd)
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


def _voided(router: "Router", terms: _Terms) -> list[str]:
    """Say that the panels were calibrated for other fees or other experts, and what to do."""
    if router.panel is None or router.panel.grouped:
        return []
    then = router.panel.costs or (0.0,) * len(terms.costs)
    there = router.panel.available or (True,) * len(terms.available)
    why = []
    if tuple(terms.costs) != tuple(then):
        paid = [f"--cost {name}={fee:g}" for name, fee in zip(router.expert_names, terms.costs, strict=True) if fee]
        how = f"run defero fit with {' '.join(paid)}" if paid else "run defero fit without --cost"
        why.append(f"other fees than in fit ({how} for panels that keep it)")
    if any(before and not now for before, now in zip(there, terms.available, strict=True)):
        why.append("absent experts (run defero fit without them for panels that keep it)")
    return [f"the panels' promise does not hold with {' and '.join(why)}."] if why else []


def _no_doubt(router: "Router", tally: _Tally, terms: _Terms) -> list[str]:
    """Say that nothing is known of how unsure the probabilities are, where that was asked."""
    if not terms.doubt or tally.doubted or not router.expert_names:
        return []
    return ["how unsure the probabilities are is known of nobody here; run defero fit with --heads shrunk."]


def fees_of(experts: tuple[str, ...], given: list[str]) -> list[float]:
    """Read NAME=FEE entries; 0 for whoever is not named."""
    from defero.core.errors import InputError
    from defero.core.wording import did_you_mean, join_names

    fees = dict.fromkeys(experts, 0.0)
    if given and not experts:
        raise InputError(f"--cost {given[0]}: there are no experts to be paid; leave it out.")
    for entry in given:
        name, equals, fee = entry.partition("=")
        if not equals:
            raise InputError(f"--cost {entry}: expected NAME=FEE with a number, such as {experts[0]}=0.05.")
        if name not in fees:
            hint = did_you_mean(name, experts)
            raise InputError(f"--cost {entry}: no expert {name}{hint} There are {join_names(experts)}.")
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
    from defero.core.wording import did_you_mean, join_names

    if absent and not router.expert_names:
        raise InputError(f"--absent {absent[0]}: the model knows no experts; leave it out.")
    for name in absent:
        if name not in router.expert_names:
            hint = did_you_mean(name, router.expert_names)
            raise InputError(
                f"--absent {name}: no such expert{hint} The model knows {join_names(router.expert_names)}."
            )
    return [name not in absent for name in router.expert_names]
