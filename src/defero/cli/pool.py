"""Commands on pools: what `fit --scores` makes, and what the other commands do with its folder."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.cli.options import split_names
from defero.cli.output import echo, emit, show_notes

if TYPE_CHECKING:
    from defero.study.pools.pool_study import PoolStudy


def is_pool(study: Any) -> bool:
    """Tell a pool from a team."""
    return not hasattr(study, "read")


def refuse(options: dict[str, Any], *, why: str = "is for teams with labels, not for a pool") -> None:
    """Raise for the first option that has been given and is not for pools."""
    from defero.core.errors import Argument, InputError

    for name, value in options.items():
        if value not in (None, False, [], ()):
            raise InputError(Argument(name), f": {why}; leave it out.")


def fit_pool(
    table: Path,
    out: Path,
    *,
    experts: str | None,
    features: str | None,
    text: list[str] | None,
    seed: int,
    forget_rows: bool,
    as_json: bool,
    **terms: Any,
) -> None:
    """Learn a pool from a table of scores, and save it."""
    from defero.data.model_folder import writable
    from defero.study.pools.pool_study import PoolStudy

    replaced = writable(out)
    study = PoolStudy.fit(
        table,
        expert_names=split_names(experts),
        features=split_names(features),
        text=text or (),
        random_state=seed,
        **terms,
    )
    study.save(out, forget_rows=forget_rows)
    study.notes += replaced
    if as_json:
        emit(study.to_dict())
        return
    echo("\n".join([*study.describe(), "", *study.evaluate().lines()]))
    show_notes(study.notes)
    echo(f"\nSaved in {study.name}. Next: defero route {study.name} NEW_CASES --out decisions.csv")


def evaluate_pool(study: "PoolStudy", table: Path, *, as_json: bool, **terms: Any) -> None:
    """Judge a pool on a table of scores."""
    judged = study.evaluate(table, **terms)
    if as_json:
        emit(judged.to_dict())
        return
    _left_out(judged.seen_by_fit)
    echo("\n".join(judged.lines()))
    show_notes(judged.notes)


def report_pool(study: "PoolStudy", table: Path, out: Path, *, as_json: bool, **terms: Any) -> None:
    """Judge a pool and write its page."""
    command = shlex.join(["defero", *sys.argv[1:]])
    judged = study.report(out, table, command=command, **terms)
    if as_json:
        emit({"report": str(out), **judged.to_dict()})
        return
    _left_out(judged.seen_by_fit)
    echo("\n".join(judged.lines()))
    show_notes(judged.notes)
    echo(f"\nWritten to {out}: open it in a browser.")


def route_pool(study: "PoolStudy", table: Path, out: Path, *, as_json: bool, **terms: Any) -> None:
    """Decide the items of a file."""
    routing = study.route(table, out, **terms)
    if as_json:
        emit(routing.to_dict())
        return
    echo("\n".join(routing.lines()))
    show_notes(routing.notes)


def _left_out(n_seen: int) -> None:
    if n_seen:
        echo(f"{n_seen:,} rows were used to fit this pool and are left out.")
