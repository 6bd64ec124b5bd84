"""Run the cells of a notebook in this process, and show what each ends with as Jupyter would."""

import ast
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A cell of code."""

    source: str
    outputs: list[Any] = field(default_factory=list)
    execution_count: int | None = None


def read_cells(path: Path) -> list[Cell]:
    """Return the cells of code of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = (cell for cell in cells if cell["cell_type"] == "code")
    return [Cell("".join(cell["source"]), cell["outputs"], cell["execution_count"]) for cell in code]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell in a namespace; returns the value of its last expression, None where it ends with a statement."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def html_of(value: Any) -> str:
    """Return the HTML view of a value, blank where it has none."""
    if hasattr(value, "_repr_mimebundle_"):
        return str(value._repr_mimebundle_().get("text/html", ""))
    view = getattr(value, "_repr_html_", None)
    return "" if view is None else str(view())
