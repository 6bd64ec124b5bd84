"""`defero route`: who should decide each row of a table, streamed."""

import math
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from defero.cli.output import emit, percent

if TYPE_CHECKING:
    from defero.core import Decision, Scores
    from defero.core.checks import BoolArray, FloatArray
    from defero.core.labels import Labels
    from defero.router import Router


def route(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    table: Annotated[Path, typer.Argument(help="Cases to be decided; larger than memory is fine.")],
    out: Annotated[Path, typer.Option(help="The decisions: .csv, .tsv, .jsonl (each also .gz) or .parquet.")],
    key: Annotated[str | None, typer.Option(help="A column to copy, that names the cases. Default: as in fit.")] = None,
    cost: Annotated[list[str] | None, typer.Option(help="NAME=FEE in units of one error; repeat for several.")] = None,
    absent: Annotated[list[str] | None, typer.Option(help="An expert who cannot be asked; repeat for several.")] = None,
    seed: Annotated[int, typer.Option(help="Taken by every command; nothing is drawn at random here.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON.")] = False,
) -> None:
    """Say for each case who should decide it, with probabilities and the reason.

    Columns are found by name, in any order; those that the model does not know are ignored.

    Example:

    defero route model new_cases.csv --out decisions.csv --cost dr_a=0.05
    """
    from defero.core.errors import InputError
    from defero.data.columns import no_such_column
    from defero.data.formats import first_row
    from defero.data.read import read_chunks
    from defero.data.write import write_decisions
    from defero.router import Router
    from defero.router.panel import with_decider

    router = Router.load(model)
    if router.recipe is None:
        raise InputError(f"{model}: was fitted on a matrix, not on a table; call its decide in Python.")
    if out.exists() and table.exists() and out.samefile(table):
        raise InputError(f"--out {out}: is the table of cases itself; choose another name.")
    key = key or router.notes.get("key")
    costs = fees_of(router.expert_names, cost or [])
    if not cost and router.panel is not None and router.panel.costs is not None:
        costs = list(router.panel.costs)
    available = _present(router, absent or [])
    loads: Counter[str] = Counter()
    said: Counter[str] = Counter()
    ignored: tuple[str, ...] = ()
    texts = [*router.recipe.categorical, *([key] if key else [])]
    with write_decisions(out) as decisions:
        for chunk in read_chunks(table, as_text=texts):
            names = list(map(str, chunk.columns))
            if key and key not in names:
                if key != router.notes.get("key"):
                    raise no_such_column(key, names, source=str(table), role="the key")
                key = None
            matrix = router.features(chunk, source=str(table), first_row=first_row(table))
            scores = router.score_features(matrix)
            decision = router.decide_scores(scores, costs=costs, available=available)
            first = {key: chunk[key].tolist()} if key else {"row": (chunk.index + first_row(table)).tolist()}
            panels = None
            if router.panel is not None and not router.panel.grouped:
                panels = with_decider(router.sets_of(scores, costs=costs, available=available), decision)
            columns = _columns(scores, decision, panels, router.classes)
            if key in columns:
                raise InputError(f"--key {key}: the decisions have a column of that name of their own; rename the key.")
            decisions.write({**first, **columns})
            loads.update(decision.name.tolist())
            ours = {router.notes.get("label"), router.notes.get("key"), key, *router.expert_names}
            ignored = tuple(name for name in router.recipe.extra(chunk) if name not in ours)
            said.update(
                {f"{name}: a category never seen in training": n for name, n in router.recipe.unseen(chunk).items()}
            )
            said.update(
                {
                    f"{name}: blank, filled with the training median": n
                    for name, n in router.recipe.filled(chunk).items()
                }
            )
            if sys.stderr.isatty() and not as_json:
                typer.echo(f"\r{loads.total():,} rows", nl=False, err=True)
    rows = loads.total()
    if as_json:
        emit(
            {
                "decisions": str(out),
                "promise_holds": _promise_holds(router, costs, available),
                "rows": rows,
                "load": {name: loads[name] for name in ("model", *router.expert_names)},
                "ignored_columns": list(ignored),
                "notes": dict(said),
            }
        )
        return
    typer.echo(f"{rows} decisions in {out}:")
    for name in ("model", *router.expert_names):
        typer.echo(f"  {name}: {loads[name]} ({percent(loads[name] / rows)})")
    if ignored:
        typer.echo(f"note: columns that the model does not know are ignored: {', '.join(ignored)}.", err=True)
    for sentence, count in said.items():
        typer.echo(f"note: {sentence}, in {count} rows.", err=True)


def _columns(scores: "Scores", decision: "Decision", panels: "BoolArray | None", classes: "Labels") -> dict[str, Any]:
    """Lay out the decisions table: route, panel, the model's answer, probabilities, expected cost, reason."""
    who = decision.name
    asked = who.tolist() if panels is None else _joined(panels, decision.expert_names)
    return {
        "route": who.tolist(),
        "panel": ["" if name == "model" else panel for name, panel in zip(who, asked, strict=True)],
        "model_says": classes[scores.class_idx].tolist(),
        "p_model": _rounded(scores.model_proba),
        **{f"p_{name}": _rounded(scores.expert_proba[:, j]) for j, name in enumerate(decision.expert_names)},
        "expected_cost": _rounded(decision.expected_cost),
        "reason": decision.reason,
    }


def _promise_holds(router: "Router", costs: list[float], available: list[bool]) -> bool:
    """Tell whether the panels were calibrated for these fees and these experts."""
    if router.panel is None or router.panel.grouped:
        return False
    then = router.panel.costs or (0.0,) * len(costs)
    return all(available) and tuple(costs) == tuple(then)


def _joined(panels: "BoolArray", names: tuple[str, ...]) -> list[str]:
    return ["; ".join(name for name, inside in zip(names, row, strict=True) if inside) for row in panels]


def _rounded(values: "FloatArray") -> list[float]:
    """Six digits are more than anybody can know of a probability, and keep the file readable."""
    rounded: list[float] = values.round(6).tolist()
    return rounded


def fees_of(experts: tuple[str, ...], given: list[str]) -> list[float]:
    """Read NAME=FEE entries; 0 for whoever is not named."""
    from defero.core.errors import InputError

    fees = dict.fromkeys(experts, 0.0)
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

    for name in absent:
        if name not in router.expert_names:
            raise InputError(f"--absent {name}: no such expert; the model knows {', '.join(router.expert_names)}.")
    return [name not in absent for name in router.expert_names]
