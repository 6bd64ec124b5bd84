"""The columns of the table of decisions."""

from pathlib import Path
from typing import Any

import numpy as np

from defero.core import Decision, Scores
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.posterior import at

Columns = dict[str, Any]


def decision_columns(
    scores: Scores,
    decision: Decision,
    panels: BoolArray | None,
    classes: Labels,
    *,
    sd: FloatArray | None = None,
    model_idx: IntArray | None = None,
) -> Columns:
    """Lay out the decisions: route, panel, the model's answer, what is unusual, probabilities, expected cost, reason.

    Parameters
    ----------
    scores, decision : of n cases
    panels : (n, J) bool, optional
        Who is on each panel.
    classes : (K,)
    sd : (n, J), optional
        The standard deviation of each expert's probability, to stand beside it.
    model_idx : (n,), optional
        The model's labels, where they are not its most likely classes; p_model is P(they are right).
    """
    class_idx, p_model = scores.class_idx, scores.model_proba
    if model_idx is not None:
        class_idx, p_model = model_idx, np.where(model_idx == class_idx, p_model, at(scores.class_proba, model_idx))
    who = decision.name
    asked = who if panels is None else _joined(panels, decision.expert_names)
    return {
        "route": who,
        "panel": np.where(decision.deferred, asked, ""),
        "model_says": classes[class_idx],
        "unusual": decision.unusual,
        "p_model": _rounded(p_model),
        **_expert_columns(scores, decision.expert_names, sd),
        "expected_cost": _rounded(decision.expected_cost),
        "reason": decision.reason,
    }


def _expert_columns(scores: Scores, names: tuple[str, ...], sd: FloatArray | None) -> dict[str, FloatArray]:
    columns = {}
    for j, name in enumerate(names):
        columns[f"p_{name}"] = _rounded(scores.expert_proba[:, j])
        if sd is not None:
            columns[f"sd_{name}"] = _rounded(sd[:, j])
    return columns


def _joined(panels: BoolArray, names: tuple[str, ...]) -> Labels:
    """Return the names of each panel, (n,); many cases have the same panel."""
    packed = np.ascontiguousarray(np.packbits(panels, axis=1))
    if not packed.size:
        return np.full(len(panels), "", dtype=object)
    keys = packed[:, 0] if packed.shape[1] == 1 else packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    texts = ["; ".join(name for name, inside in zip(names, row, strict=True) if inside) for row in panels[first]]
    return np.array(texts, dtype=object)[place]


def _rounded(values: FloatArray) -> FloatArray:
    """Six digits are more than anybody can know of a probability, and keep the file readable."""
    return values.round(6)


def is_tasks(path: Path) -> bool:
    """Tell a file of tasks from a table of decisions by its ending.

    >>> is_tasks(Path("tasks.json")), is_tasks(Path("decisions.jsonl"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(".json")
