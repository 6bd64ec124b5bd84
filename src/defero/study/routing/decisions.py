"""The columns of the table of decisions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from defero.core import Decision, Scores
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.posterior import at
from defero.data.tables.write import text_array, text_at

Columns = dict[str, Any]


def decision_columns(
    scores: Scores,
    decision: Decision,
    panels: BoolArray | None,
    classes: Labels,
    *,
    sd: FloatArray | None = None,
    model_idx: IntArray | None = None,
    ask_panel: bool = False,
) -> Columns:
    """Lay out the decisions: whom to ask or the label, the cost, the decider, probabilities, the reason.

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
    ask_panel : bool
        Whether the whole panel is asked, and not the decider alone.
    """
    class_idx, p_model = scores.class_idx, scores.model_proba
    if model_idx is not None:
        class_idx, p_model = model_idx, np.where(model_idx == class_idx, p_model, at(scores.class_proba, model_idx))
    names, who, deferred = decision.expert_names, decision.expert, decision.deferred
    alone, model_says, p_model = text_at((*names, ""), who), text_at(classes, class_idx), _rounded(p_model)
    panel = alone if panels is None else text_array(_joined(panels & deferred[:, None], names))
    return {
        "ask": panel if ask_panel else alone,
        "label": blank_where(deferred, model_says),
        "p_right": np.where(deferred, np.nan, p_model),
        "expected_cost": _rounded(decision.expected_cost),
        "route": text_at((*names, "model"), who),
        "panel": panel,
        "model_says": model_says,
        "unusual": text_array(decision.unusual),
        "p_model": p_model,
        **_expert_columns(scores, names, sd),
        "reason": text_array(decision.phrases()),
    }


def blank_where(asked: BoolArray, labels: Any) -> Any:
    """Return the labels of the cases about which nobody is asked; missing for the others.

    Numbers keep their type, also in a piece without a label: all pieces of a Parquet file have one type.

    >>> blank_where(np.array([True, False]), np.array([7, 8])).tolist()
    [<NA>, 8]
    """
    if labels.dtype.kind == "f":
        return np.where(asked, np.nan, labels)
    if not isinstance(labels, np.ndarray):  # texts as pandas keeps them
        known = labels.copy()
    else:
        known = pd.array(labels) if labels.dtype.kind in "iub" else labels.astype(object)
    known[asked] = None
    return known


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
