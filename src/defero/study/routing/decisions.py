"""The table of decisions, and how decisions are written: as a table, or as tasks to import into Label Studio."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.util import hash_pandas_object

from defero.core import Decision, Scores
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.posterior import at
from defero.data.exports.export import EXPORTS, OpenCases, writes
from defero.data.tables.write import write_decisions
from defero.study.bad_rows import list_of_bad_rows

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


@contextmanager
def decisions_to(
    out: Path | None, pieces: list[pd.DataFrame], *, file_format: str, cases: OpenCases | None
) -> Iterator[Callable[[Columns], None]]:
    """Give a function that takes decisions column by column; without a file they are collected in `pieces`.

    Tasks are written when all decisions have come.
    """
    if out is not None and (cases is None or not writes(file_format, out)):
        with write_decisions(out) as decisions:
            yield decisions.write
        return
    yield lambda columns: pieces.append(pd.DataFrame(columns))
    if out is not None and cases is not None:
        EXPORTS.find(file_format).write(out, cases, pd.concat(pieces, ignore_index=True))


@contextmanager
def bad_list_to(out: Path | None, routing: Any) -> Iterator[Callable[[Columns], None]]:
    """Give a function that takes bad cells column by column; without a file of decisions they are kept as a frame.

    The `bad_list` of a `Routing` or `PoolRouting` is then the file or the frame.
    """
    if out is None:
        pieces: list[pd.DataFrame] = []
        yield lambda columns: pieces.append(pd.DataFrame(columns))
        routing.bad_list = pd.concat(pieces, ignore_index=True)
        return
    routing.bad_list = list_of_bad_rows(out)
    with write_decisions(routing.bad_list) as rows:
        yield rows.write


class RepeatedKeys:
    """Count rows whose key stood in an earlier row; eight bytes are kept of each, whatever the keys are."""

    def __init__(self) -> None:
        self._marks: list[Any] = []

    def add(self, keys: "pd.Series[Any]") -> None:
        """Take the keys of the next rows; blank ones are nobody's."""
        texts = keys.dropna().astype(str)
        self._marks.append(hash_pandas_object(texts, index=False, categorize=False).to_numpy())

    def sentence(self, key: str | None) -> list[str]:
        """Say how many there are; nothing where every key stands once."""
        if not self._marks:
            return []
        marks = np.concatenate(self._marks)
        count = len(marks) - len(np.unique(marks))
        rows = "1 row has" if count == 1 else f"{count} rows have"
        return [f"column {key}: {rows} a key that an earlier row has too; each row has a decision."] if count else []
