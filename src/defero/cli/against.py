"""A judged team beside other saved teams, case by case, on rows that neither has seen."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from defero.cli.held_out import HeldOut, judge_held_out
from defero.cli.output import percent, points, table
from defero.cli.reading import Given
from defero.cli.saved_team import refuse_file

if TYPE_CHECKING:
    from defero.metrics.statistics.paired import Comparison
    from defero.router import Router


@dataclass(frozen=True)
class Rival:
    """Another team, and the comparison with it: ours is the first.

    Attributes
    ----------
    model : Path
    comparison : Comparison
        On the rows that neither team saw.
    adjusted : float
        Its p value, adjusted for all comparisons of this run (Holm).
    """

    model: Path
    comparison: "Comparison"
    adjusted: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"model": str(self.model), **self.comparison.to_dict(), "p_value_adjusted": self.adjusted}


def compare_teams(ours: HeldOut, others: Sequence[Path], *, given: Given, seed: int) -> tuple[Rival, ...]:
    """Compare a team with other saved ones on the same table."""
    from defero.metrics.statistics.paired import holm
    from defero.router import Router

    for other in others:  # what is wrong with any of them shows before the first is tried
        refuse_file(other, "--against takes a folder that `defero fit` wrote.")
        _check_alike(ours, other, Router.load(other), label=given.label)
    told = replace(given, label=given.label or ours.router.notes.get("label"))
    comparisons = [_comparison(ours, _judged(ours, other, given=told, seed=seed), seed=seed) for other in others]
    adjusted = holm([comparison.p_value for comparison in comparisons]).tolist()
    return tuple(
        Rival(other, comparison, p_value)
        for other, comparison, p_value in zip(others, comparisons, adjusted, strict=True)
    )


def show_rivals(rivals: Sequence[Rival]) -> None:
    """Print the comparisons for a person."""
    several = len(rivals) > 1
    level = f"{100 * rivals[0].comparison.level:g} %"
    rows = []
    for rival in rivals:
        found = rival.comparison
        shown = [str(rival.model), str(found.n), percent(found.first), percent(found.second), points(found)]
        rows.append([*shown, f"{found.p_value:.3g}", *([f"{rival.adjusted:.3g}"] if several else [])])
    head = [
        "against",
        "cases",
        "this team",
        "the other",
        "difference, in points",
        "p",
        *(["p, adjusted"] if several else []),
    ]
    typer.echo(f"\nOn the cases that neither team saw ({level} intervals, paired bootstrap; McNemar's exact p):\n")
    typer.echo(table(head, rows))
    if several:
        typer.echo(f"\nThe p values are adjusted for being {len(rivals)} (Holm).")


def _check_alike(ours: HeldOut, other: Path, router: "Router", *, label: str | None) -> None:
    """Refuse a team that decides something else."""
    from defero.core.errors import InputError
    from defero.core.wording import join_names
    from defero.data.tables.cells import text_of

    mine, theirs = ours.router.notes.get("label"), router.notes.get("label")
    if label is None and theirs is not None and theirs != mine:
        raise InputError(
            f"--against {other}: was fitted on the label column {theirs!r}, {ours.model} on {mine!r}; if one column "
            "holds the truth for both, name it with --label."
        )
    classes = [[text_of(label) for label in team.classes.tolist()] for team in (ours.router, router)]
    if set(classes[0]) != set(classes[1]):
        raise InputError(
            f"--against {other}: has the classes {join_names(classes[1])}, {ours.model} has "
            f"{join_names(classes[0])}; only "
            "teams with the same classes can be compared, so fit one of them anew."
        )


def _judged(ours: HeldOut, other: Path, *, given: Given, seed: int) -> HeldOut:
    from defero.core.errors import InputError

    try:
        return judge_held_out(other, ours.table, given=given, seed=seed)
    except InputError as error:
        raise type(error)(f"--against {other}: {error}") from error


def _comparison(ours: HeldOut, theirs: HeldOut, *, seed: int) -> "Comparison":
    """Compare two teams on the rows that are fresh to both; the frames' index is the rows' place in the table."""
    import numpy as np

    from defero.core.errors import TableError
    from defero.metrics.statistics.paired import compare

    mine, others = (np.asarray(side.cases.features.index) for side in (ours, theirs))
    common, first, second = np.intersect1d(mine, others, assume_unique=True, return_indices=True)
    if not len(common):
        raise TableError(
            f"--against {theirs.model}: no row of {ours.table} is new to both {ours.model} and {theirs.model}; "
            "pass other cases."
        )
    return compare(ours.trial.team_correct[first], theirs.trial.team_correct[second], rng=np.random.default_rng(seed))
