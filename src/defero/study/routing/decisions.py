"""The columns of the table of decisions."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from defero.core import Decision, Scores
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.posterior import at
from defero.data.tables.text_arrays import text_array, text_at

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
    names, who = decision.expert_names, decision.expert
    alone = text_at((*names, ""), who)
    return {
        "route": text_at((*names, "model"), who),
        "panel": alone if panels is None else text_array(_joined(panels & decision.deferred[:, None], names)),
        "model_says": text_at(classes, class_idx),
        "unusual": text_array(decision.unusual),
        "p_model": _rounded(p_model),
        **_expert_columns(scores, decision.expert_names, sd),
        "expected_cost": _rounded(decision.expected_cost),
        "reason": text_array(decision.phrases()),
    }


def _expert_columns(scores: Scores, names: tuple[str, ...], sd: FloatArray | None) -> dict[str, FloatArray]:
    columns = {}
    for j, name in enumerate(names):
        columns[f"p_{name}"] = _rounded(scores.expert_proba[:, j])
        if sd is not None:
            columns[f"sd_{name}"] = _rounded(sd[:, j])
    return columns


def _joined(panels: BoolArray, names: tuple[str, ...]) -> Any:
    """Return the names of each panel as an Arrow array of n texts."""
    ends = np.concatenate([[0], np.cumsum(panels.sum(axis=1))]).astype(np.int32)
    members = pa.array(names, pa.string()).take(pa.array(np.nonzero(panels)[1]))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), members), "; ")


def _rounded(values: FloatArray) -> FloatArray:
    """Six digits are more than anybody can know of a probability, and keep the file readable."""
    return values.round(6)


def is_tasks(path: Path) -> bool:
    """Tell a file of tasks from a table of decisions by its ending.

    >>> is_tasks(Path("tasks.json")), is_tasks(Path("decisions.jsonl"))
    (True, False)
    """
    return path.name.lower().removesuffix(".gz").endswith(".json")
