"""Decisions as they leave the program: the columns of the table, and tasks to import into Label Studio."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from defero.core import Decision, Scores
    from defero.core.checks import BoolArray, FloatArray
    from defero.core.labels import Labels
    from defero.data.exports.export import OpenCases
    from defero.data.exports.label_studio_results import Control
    from defero.router import Router


def decision_columns(
    scores: "Scores",
    decision: "Decision",
    panels: "BoolArray | None",
    classes: "Labels",
    *,
    sd: "FloatArray | None" = None,
) -> dict[str, Any]:
    """Lay out the decisions table: route, panel, the model's answer, probabilities, expected cost, reason.

    With `sd` (n, J) each expert's probability has its standard deviation beside it.
    """
    who = decision.name
    asked = who.tolist() if panels is None else _joined(panels, decision.expert_names)
    return {
        "route": who.tolist(),
        "panel": ["" if name == "model" else panel for name, panel in zip(who, asked, strict=True)],
        "model_says": classes[scores.class_idx].tolist(),
        "p_model": _rounded(scores.model_proba),
        **_expert_columns(scores, decision.expert_names, sd),
        "expected_cost": _rounded(decision.expected_cost),
        "reason": decision.reason,
    }


def _expert_columns(scores: "Scores", names: tuple[str, ...], sd: "FloatArray | None") -> dict[str, list[float]]:
    columns = {}
    for j, name in enumerate(names):
        columns[f"p_{name}"] = _rounded(scores.expert_proba[:, j])
        if sd is not None:
            columns[f"sd_{name}"] = _rounded(sd[:, j])
    return columns


def _joined(panels: "BoolArray", names: tuple[str, ...]) -> list[str]:
    known: dict[bytes, str] = {}
    joined = []
    for row in panels:
        mark = row.tobytes()
        if mark not in known:  # many cases have the same panel
            known[mark] = "; ".join(name for name, inside in zip(names, row, strict=True) if inside)
        joined.append(known[mark])
    return joined


def _rounded(values: "FloatArray") -> list[float]:
    """Six digits are more than anybody can know of a probability, and keep the file readable."""
    rounded: list[float] = values.round(6).tolist()
    return rounded


def is_tasks(path: Path) -> bool:
    """Tell a file of tasks from a table of decisions by its ending.

    >>> is_tasks(Path("tasks.json")), is_tasks(Path("decisions.jsonl"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(".json")


@contextmanager
def decisions_to(
    out: Path, *, file_format: str, cases: "OpenCases | None"
) -> "Iterator[Callable[[dict[str, Any]], None]]":
    """Give a function that takes decisions column by column; tasks are written when all have come."""
    from defero.data.exports.export import EXPORTS, writes
    from defero.data.tables.write import write_decisions

    if cases is None or not writes(file_format, out):
        with write_decisions(out) as decisions:
            yield decisions.write
        return
    import pandas as pd

    pieces: list[pd.DataFrame] = []
    yield lambda columns: pieces.append(pd.DataFrame(columns))
    EXPORTS.find(file_format).write(out, cases, pd.concat(pieces, ignore_index=True))


def remembered_control(router: "Router") -> "Control | None":
    """Return the question of the export that the model was fitted on."""
    from defero.data.exports.label_studio_results import Control

    said = router.notes.get("control")
    return None if said is None else Control(said["from_name"], said["to_name"], said["kind"])
