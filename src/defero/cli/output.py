"""What commands print: tables for people, JSON for machines."""

import json
import math
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from defero.metrics.panel import PanelRecord
    from defero.metrics.share import Share
    from defero.metrics.team import TeamRecord

_COLUMNS = """
  right              on every case that they answered, were they alone
  decides            the share of the cases that the team gives them
  right there        on those cases
  promised there     the mean probability of being right that the team went by, on those cases
  calibration error  how far such probabilities are from the truth, on every case that they answered;
                     chance alone makes it large where these are few"""

FEW_CASES = 50


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object to standard output."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def percent(value: float) -> str:
    """Write a share as a percentage.

    >>> percent(0.9666), percent(float("nan"))
    ('96.7 %', '-')
    """
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def with_interval(share: "Share") -> str:
    """Write a share with its interval."""
    low, high = share.interval
    return "-" if math.isnan(share.value) else f"{percent(share.value)}  ({100 * low:.1f} to {100 * high:.1f})"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out cells in columns: the first to the left, the others to the right.

    >>> print(table(["who", "n"], [["ann", "12"], ["bob", "3"]]))
    who   n
    ann  12
    bob   3
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def show_record(record: "TeamRecord") -> None:
    """Print a team's record for a person."""
    experts, all_recorded = record.experts, record.recorded == len(record.experts)
    rows = [
        ["team", with_interval(record.team), "", "", "", ""],
        ["model", with_interval(record.model), percent(record.coverage), "", "", ""],
    ]
    for expert in experts:
        share = expert.asked.total / record.team.total if record.team.total else math.nan
        rows.append(
            [
                expert.name,
                with_interval(expert.alone),
                percent(share),
                percent(expert.asked.value),
                percent(expert.promised),
                percent(expert.calibration_error),
            ]
        )
    typer.echo(f"On {record.team.total} held-out cases (95 % intervals):\n")
    typer.echo(table(["", "right", "decides", "right there", "promised there", "calibration error"], rows))
    if experts:
        typer.echo(_COLUMNS)
    typer.echo(
        f"\nThe team is right where the model alone is wrong on {record.only_team_right} cases, "
        f"and wrong where it is right on {record.only_model_right}."
    )
    if not all_recorded:
        typer.echo(
            f"Only recorded answers can be asked for: {record.recorded:.1f} of {len(experts)} experts answered a case "
            "on average, and the team chose among those."
        )
    if record.panel is not None:
        show_panel(record.panel)
    if record.above_one > 0:
        typer.echo(f"Softmax estimates exceed 1 on {percent(record.above_one)} of the cells.")
    recall = [
        [str(label), str(count), percent(team), percent(model)]
        for label, count, team, model in zip(
            record.classes, record.class_counts, record.team_recall, record.model_recall, strict=True
        )
    ]
    typer.echo("\n" + table(["class", "cases", "found by the team", "by the model"], recall))
    if record.team.total < FEW_CASES:
        typer.echo(f"\n{record.team.total} cases are too few to judge by: look at the intervals.")


def show_panel(panel: "PanelRecord") -> None:
    """Print what the panels promised and kept."""
    kept = "-"
    if not math.isnan(panel.kept):
        kept = f"{percent(panel.kept)} ({100 * panel.low:.1f} to {100 * panel.high:.1f})"
    least = "at most" if panel.target == "missed-share" else "at least"
    typer.echo(f"\nPanels ({panel.target}). {panel.promise}")
    typer.echo(
        f"Promised {least} {percent(panel.asked_for)}, kept {kept}. {panel.deferred} cases would be deferred if "
        f"everybody could be asked; these are the {panel.cases} of them that a recorded expert got right."
    )
    if panel.deferred:
        typer.echo(
            f"A panel has {panel.raw_size:.1f} ± {panel.raw_size_half:.1f} experts on average, "
            f"{panel.filled_size:.1f} ± {panel.filled_size_half:.1f} once empty ones get the top expert. "
            f"With panels voting the team is right on {with_interval(panel.accuracy)}."
        )
