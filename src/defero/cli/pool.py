"""Commands on pools: what `fit --scores` makes, and what the other commands do with its folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from defero.cli.output import echo, emit, show_notes, this_command

if TYPE_CHECKING:
    from defero.decide.terms import Terms
    from defero.study.pools.pool_study import PoolStudy


def is_pool(study: Any) -> bool:
    """Tell a pool from a team."""
    return not hasattr(study, "read")


def refuse(options: dict[str, Any], *, why: str = "is for teams with labels, not for a pool") -> None:
    """Raise for the first option that has been given and is not for pools."""
    from defero.core.errors import Argument, InputError

    for name, value in options.items():
        if value not in (None, False, [], ()):
            raise InputError(f"{Argument(name)}: {why}; leave it out.")


def fit_pool(table: Path, out: Path, *, forget_rows: bool, as_json: bool, **words: Any) -> None:
    """Learn a pool from a table of scores, and save it; the words are those of `PoolStudy.fit`."""
    from defero.data.model_folder import writable
    from defero.study.pools.pool_study import PoolStudy

    replaced = writable(out)
    study = PoolStudy.fit(table, **words)
    study.save(out, forget_rows=forget_rows)
    study.notes += replaced
    if as_json:
        emit(study.to_dict())
        return
    echo("\n".join([*study.describe(), "", *study.evaluate().lines()]))
    show_notes(study.notes)
    echo(f"\nSaved in {study.name}. Next: defero route {study.name} NEW_CASES --out decisions.csv")


def judge_pool(
    study: "PoolStudy",
    table: Path,
    terms: "Terms",
    trial: dict[str, Any],
    said: dict[str, Any],
    *,
    out: Path | None = None,
    as_json: bool,
) -> None:
    """Judge a pool on a table of scores, and write its page if there is a place for it."""
    refuse({name: said[name] for name in ("label", "answers", "rename")})
    ask = None if trial["ask"] == "one" else trial["ask"]
    refuse({"ask": ask, "by": trial["by"], "cost_matrix": terms.cost_matrix})
    words: dict[str, Any] = {"fees": terms.fees, "error_cost": terms.error_cost, "absent": terms.absent}
    words |= {"blank": said["blank"], "bad_rows": said["bad_rows"], "all_rows_new": trial["all_rows_new"]}
    if out is None:
        judged = study.evaluate(table, **words)
    else:
        judged = study.report(out, table, command=this_command(), **words)
    if as_json:
        emit({**({} if out is None else {"report": str(out)}), **judged.to_dict()})
        return
    if judged.seen_by_fit:
        echo(f"{judged.seen_by_fit:,} rows were used to fit this pool and are left out.")
    echo("\n".join(judged.lines()))
    show_notes(judged.notes)
    if out is not None:
        echo(f"\nWritten to {out}: open it in a browser.")


def route_pool(study: "PoolStudy", table: Path, out: Path, *, as_json: bool, **words: Any) -> None:
    """Decide the items of a file; the words are those of `PoolStudy.route`."""
    routing = study.route(table, out, **words)
    if as_json:
        emit(routing.to_dict())
        return
    echo("\n".join(routing.lines()))
    show_notes(routing.notes)
