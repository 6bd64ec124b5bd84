"""What `defero reproduce` prints: published and ours side by side."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from defero_verma2023.figures.comparison import Comparison
    from defero_verma2023.reproduction import Reproduction


def show_numbers(made: "Iterable[Reproduction]", *, word: str) -> None:
    """Print every number of a figure, measure by measure; `word` heads the column of ours."""
    header = ["method", "x", "published", "", "same runs", word, "", "seeds", "difference"]
    for one in made:
        title = f"{one.figure.title} ({one.mark})" if one.mark else one.figure.title
        typer.echo(f"{title}.\nThe paper: {one.figure.claim}\nx: {one.figure.x_label}; ±: standard errors over seeds")
        for measure, rows in _by_measure(one.rows).items():
            known = any(not math.isnan(row.same_seeds) for row in rows)
            columns = [place for place in range(len(header)) if known or place != 4]
            cells = [[line[place] for place in columns] for line in map(_cells, rows)]
            above = f"{measure}; {one.mark}" if one.mark else measure
            typer.echo(f"\n{above}\n{table([header[place] for place in columns], cells)}")
        _show_files(one.files)


def show_summary(made: "Iterable[Reproduction]", *, word: str) -> None:
    """Print one line for each published measure and method: how many numbers, and how far ours are from them."""
    lines: list[list[str]] = []
    files: list[Path] = []
    marks: dict[str, None] = {}
    for one in made:
        files += one.files
        marks |= dict.fromkeys([one.mark] if one.mark else [])
        published = [row for row in one.rows if not math.isnan(row.published)]
        for title, rows in _by_measure(published).items():
            for method in dict.fromkeys(row.method for row in rows):
                apart = [abs(row.difference) for row in rows if row.method == method]
                known = sorted(value for value in apart if not math.isnan(value))
                spread = [f"{known[len(known) // 2]:.3f}", f"{known[-1]:.3f}"] if known else ["", ""]
                lines.append([f"{one.figure.name:15}  {method:14}  {title}", str(len(apart)), str(len(known)), *spread])
    head = f"{'figure':15}  {'method':14}  measure"
    for mark in marks:
        typer.echo(f"{mark}.\n")
    typer.echo(table([head, "published", word, "median difference", "largest"], lines))
    typer.echo(
        "\nThe tables hold every number. docs/explanation/errata.md and papers/verma2023/conformal.md say where the "
        "larger differences come from."
    )
    _show_files(files)


def as_json_text(made: "Iterable[Reproduction]") -> str:
    """Return reproductions as one JSON object; nan is null there."""
    return json.dumps({"figures": [as_dict(one) for one in made]}, indent=1, ensure_ascii=False, allow_nan=False)


def as_dict(one: "Reproduction") -> dict[str, Any]:
    """Return a reproduction for JSON; nan is null there."""
    rows = [
        {name: _plain(value) for name, value in (*vars(row).items(), ("difference", row.difference))}
        for row in one.rows
    ]
    files = [str(path) for path in one.files]
    about = {"figure": one.figure.name, "claim": one.figure.claim, "net": one.net, "mark": one.mark}
    return {**about, "files": files, "rows": rows}


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out cells in columns: the first to the left, the others to the right.

    >>> print(table(["who", "n"], [["ann", "12"], ["bob", "3"]]))
    who   n
    ann  12
    bob   3
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def _by_measure(rows: "Iterable[Comparison]") -> "dict[str, list[Comparison]]":
    by_measure: dict[str, list[Comparison]] = {}
    for row in rows:
        run = f", the authors' {row.run} run" if row.run else ""
        name = "system_accuracy" if row.metric == "best_expert" else row.metric
        by_measure.setdefault(f"{name} ({row.unit}{run})", []).append(row)
    return by_measure


def _cells(row: "Comparison") -> list[str]:
    return [
        row.method,
        "" if math.isnan(row.x) else f"{row.x:g}",
        _number(row.published),
        _error(row.published_error),
        _number(row.same_seeds),
        _number(row.ours),
        _error(row.error),
        str(row.n_seeds or ""),
        _number(row.difference, sign="+"),
    ]


def _number(value: float, *, sign: str = "") -> str:
    """Write a number with three digits.

    >>> _number(-0.0001, sign="+"), _number(float("nan"))
    ('+0.000', '')
    """
    return "" if math.isnan(value) else f"{round(value, 3) + 0.0:{sign}.3f}"  # + 0.0: no minus before nothing


def _error(value: float) -> str:
    return "" if math.isnan(value) else f"± {value:.3f}"


def _show_files(files: Iterable[Path]) -> None:
    typer.echo("\n" + "\n".join(f"wrote {path}" for path in files))


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
