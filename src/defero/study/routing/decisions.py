"""What was decided for the cases of a file: the table, where it goes, and counts and notes."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.util import hash_pandas_object

from defero.core import Decision, Scores
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.results import MODEL
from defero.core.wording import HTML_ROWS, count_of, html_table, join_names, money, percent
from defero.data.exports.export import EXPORTS, TABLE, OpenCases, writes
from defero.data.recipes.columns import remark_sentences
from defero.data.tables.bad_rows import BadCells, BadRows, list_of_bad_rows
from defero.data.tables.read import read_frame
from defero.data.tables.write import write_decisions
from defero.team.asking import proba_of_label

Columns = dict[str, Any]
SETTLED = "settled"
"""The route of a case whose label rests on experts' answers so far."""
MOST_SHOWN = 20
"""Of more experts those who get most are shown."""
SHOWN = ("ask", "label", "p_right", "route", "fee", "model_says", "expected_cost", "reason")
"""Columns of decisions that a notebook shows beside the case; all others are in `to_frame`."""


def decisions_html(decisions: pd.DataFrame) -> str:
    """Return the case, the decision and the reason of the first decisions as an HTML table."""
    names = [str(decisions.columns[0]), *(name for name in SHOWN if name in decisions.columns[1:])]
    names = [*names[:5], "reason"] if len(names) > 6 else names
    head = decisions.head(HTML_ROWS)
    return html_table({name: head[name].tolist() for name in names}, n_rows=len(decisions))


@dataclass(eq=False, repr=False)
class Routing:
    """What was decided for the cases of a file.

    Attributes
    ----------
    out : Path or None
        The file of decisions.
    expert_names : J names
    load : Counter
        How many cases the model (or "nobody", in a team without one) and each expert get; "settled": how many are
        settled by the answers so far.
    decisions : DataFrame, optional
        The decisions, where there is no file.
    bad_rows : BadCells or None
        The rows that were left out, counted by kind; None where bad rows are an error.
    bad_list : Path, DataFrame or None
        The list of these rows: row, column, value, why.
    remarks : Counter
        Clauses on blank or unknown cells, with the number of rows.
    ignored_columns : names
        Columns that the team does not know.
    unusual : int
        How many cases are unlike those that were learned from.
    cautions : sentences
    promise_holds : bool
        Whether the panels keep what they promised in `fit`.
    any_doubt : bool
        Whether some probability has a standard deviation.
    otherwise : str
        "model", or "nobody".
    right, spent : float
        Of experts who have only scores: the sums of P(right) and of the fees of those who are asked.
    below_floor : int
        How many cases have nobody whose P(right) reaches the floor.
    files : int, optional
        How many files of a folder were routed, each to one of its own in the folder `out`.
    """

    out: Path | None
    expert_names: tuple[str, ...]
    load: Counter[str] = field(default_factory=Counter)
    decisions: pd.DataFrame | None = None
    bad_rows: BadCells | None = None
    bad_list: Path | pd.DataFrame | None = None
    remarks: Counter[str] = field(default_factory=Counter)
    ignored_columns: tuple[str, ...] = ()
    unusual: int = 0
    cautions: tuple[str, ...] = ()
    promise_holds: bool = False
    any_doubt: bool = False
    otherwise: str = "model"
    right: float = 0.0
    spent: float = 0.0
    below_floor: int = 0
    files: int | None = None

    @property
    def rows(self) -> int:
        """How many cases were decided."""
        return self.load.total()

    def to_frame(self) -> pd.DataFrame:
        """Return the decisions, a row for each case; those in a file are read from it."""
        return self.decisions if self.decisions is not None else read_frame(str(self.out))

    def _repr_html_(self) -> str:
        # Decisions in a file may be larger than memory: these are not read for a display.
        shown = "" if self.decisions is None else decisions_html(self.decisions)
        return f"<p>{escape(repr(self))}</p>{shown}"

    def count(self, columns: Columns) -> None:
        """Count the decisions of the next cases."""
        counts = pd.Series(columns["route"]).value_counts()
        self.load.update(dict(zip(map(str, counts.index), counts.tolist(), strict=True)))
        self.unusual += int((columns["unusual"] != "").sum()) if "unusual" in columns else 0
        if self.otherwise != "model":
            self.right += float(np.nansum(columns["p_right"]))
            self.spent += float(columns["fee"].sum())
            self.below_floor += sum(", none reaches " in reason for reason in columns["reason"])
        self.any_doubt |= any(bool((columns[name] == columns[name]).any()) for name in columns if name[:3] == "sd_")

    def __repr__(self) -> str:
        if self.files is not None:
            return self.text()
        where = "" if self.out is None else f" in {self.out}"
        shown = [f"{name} {count}" for name, count in self.load.most_common()]
        return f"Routing: {count_of(self.rows, 'decision')}{where} ({join_names(shown, most=6)}); to_frame() has them."

    @property
    def deciders(self) -> tuple[str, ...]:
        """The model, the answers so far if there are any ("settled"), and the experts."""
        return (self.otherwise, *([SETTLED] if SETTLED in self.load else []), *self.expert_names)

    @property
    def expected_score(self) -> float:
        """The mean P(right) of those who are asked, where experts have only scores."""
        return self.right / max(self.rows - self.load[self.otherwise], 1)

    def text(self) -> str:
        """Return who gets how many cases; of a crowd only those who get something to do."""
        in_files = "" if self.files is None else f"{count_of(self.files, 'file')} of "
        busy = sorted((name for name in self.expert_names if self.load[name]), key=lambda name: -self.load[name])
        experts = list(self.expert_names) if len(self.expert_names) <= MOST_SHOWN else busy
        first = self.deciders[: len(self.deciders) - len(self.expert_names)]
        lines = [f"  {name}: {self.load[name]} ({percent(self.load[name] / self.rows)})" for name in (*first, *experts)]
        more, silent = len(lines) - MOST_SHOWN - 1, len(self.expert_names) - len(experts)
        lines[MOST_SHOWN + 1 :] = [f"  ... and {more} more experts; --json tells of all."] if more > 0 else []
        lines += [f"  {silent} experts: none"] if silent else []
        if self.otherwise != "model":
            price = "" if np.isnan(self.spent) or self.spent == 0 else f", price {money(self.spent)} in total"
            lines.append(f"Expected score {self.expected_score:.4f}{price}.")
        return "\n".join([f"{count_of(self.rows, 'decision')} in {in_files}{self.out}:", *lines])

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know, a sentence each."""
        columns = ", ".join(self.ignored_columns)
        ignored = [f"columns that the model does not know are ignored: {columns}."] if columns else []
        list_file = self.bad_list if isinstance(self.bad_list, Path) else None
        bad = [self.bad_rows.note(list_file)] if self.bad_rows else []
        return [*bad, *ignored, *remark_sentences(self.remarks), *self.cautions]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero route --json` prints."""
        if self.files is not None:
            counts = {"files": self.files, "cases": self.rows, "load": dict(self.load), "unusual": self.unusual}
            return {"out": str(self.out), **counts, "cautions": list(self.cautions)}
        if self.otherwise != "model":
            return {
                "decisions": None if self.out is None else str(self.out),
                "rows": self.rows,
                "load": {name: self.load[name] for name in self.expert_names},
                "nobody": self.load[self.otherwise],
                "expected_score": round(self.expected_score, 6),
                "price": None if np.isnan(self.spent) else self.spent,
                "notes": self.notes,
                "bad_rows": None if self.bad_rows is None else self.bad_rows.to_dict(self.bad_list),
            }
        return {
            "decisions": None if self.out is None else str(self.out),
            "promise_holds": self.promise_holds,
            "rows": self.rows,
            "load": {name: self.load[name] for name in self.deciders},
            "unusual": self.unusual,
            "ignored_columns": list(self.ignored_columns),
            "notes": dict(self.remarks),
            "cautions": list(self.cautions),
            "bad_rows": None if self.bad_rows is None else self.bad_rows.to_dict(self.bad_list),
        }


@contextmanager
def decisions_to(
    out: Path | None, routing: Routing, bad: BadRows, *, file_format: str = TABLE, cases: OpenCases | None = None
) -> Iterator[Callable[[Columns], None]]:
    """Give a function that takes decisions piece by piece, which appear when the block ends without an error.

    `routing` then has the list of bad rows, and without a file the decisions too.

    Parameters
    ----------
    out : Path, optional
        The file; by default decisions are kept as a frame.
    routing : Routing
    bad : BadRows
    file_format, cases
        Of an export: the tasks, which may be written; they are when all decisions have come.
    """
    tasks = cases if out is not None and writes(file_format, out) else None
    decided, listed = list[pd.DataFrame](), list[pd.DataFrame]()
    with ExitStack() as files:
        put = _to_table(out if tasks is None else None, decided, files)
        list_file = None if out is None else list_of_bad_rows(out)
        put_bad = _to_table(list_file, listed, files) if bad.skip else lambda _: None

        def take(columns: Columns) -> None:
            put(columns)
            put_bad(bad.new_rows())

        yield take
        put_bad(bad.new_rows())
        if out is not None and tasks is not None:
            EXPORTS.find(file_format).write(out, tasks, pd.concat(decided, ignore_index=True))
    if out is None:
        routing.decisions = pd.concat(decided, ignore_index=True)
    if bad.skip:
        routing.bad_rows, routing.bad_list = bad.cells, list_file or pd.concat(listed, ignore_index=True)


def _to_table(path: Path | None, kept: list[pd.DataFrame], files: ExitStack) -> Callable[[Columns], None]:
    """Return a function that appends rows to a file, or without one to the frames that are kept."""
    if path is not None:
        return files.enter_context(write_decisions(path)).write
    return lambda columns: kept.append(pd.DataFrame(columns))


class KeyCount:
    """Counts rows whose key stood in an earlier row; eight bytes are kept of each key.

    >>> count = KeyCount()
    >>> count.add(pd.Series(["a", "b"])), count.add(pd.Series(["a", None]))
    (None, None)
    >>> count.n_repeated()
    1
    """

    def __init__(self) -> None:
        self._marks: list[NDArray[Any]] = [np.zeros(0, dtype=np.uint64)]

    def add(self, keys: "pd.Series[Any]") -> None:
        """Take the keys of the next rows; blank ones are nobody's."""
        self._marks.append(hash_pandas_object(keys.dropna().astype(str), index=False, categorize=False).to_numpy())

    def n_repeated(self) -> int:
        """Return how many rows have a key that an earlier row has too."""
        marks = np.concatenate(self._marks)
        marks.sort()
        return int((marks[1:] == marks[:-1]).sum())


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
        class_idx, p_model = model_idx, proba_of_label(scores, model_idx)
    names, who, deferred = decision.expert_names, decision.expert, decision.deferred
    model_says, p_model = text_at(classes, class_idx), p_model.round(6)
    # Six digits are more than anybody can know of a probability, and keep the file readable.
    probabilities = {}
    for j, name in enumerate(names):
        probabilities[f"p_{name}"] = scores.expert_proba[:, j].round(6)
        if sd is not None:
            probabilities[f"sd_{name}"] = sd[:, j].round(6)
    panel = None if panels is None else text_array(_joined(panels & deferred[:, None], names))
    columns = who_columns(names, who, model_says, p_model, decision.expected_cost, decision.phrases(), panel=panel)
    reason, unusual = columns.pop("reason"), text_array(decision.unusual)
    if ask_panel:
        columns["ask"] = columns["panel"]
    beside = {"model_says": model_says, "unusual": unusual, "p_model": p_model}
    return {**columns, **beside, **probabilities, "reason": reason}


def who_columns(
    expert_names: tuple[str, ...],
    ask: IntArray,
    label: Labels,
    p_right: FloatArray,
    expected_cost: FloatArray,
    reason: Any,
    *,
    p_used: FloatArray | None = None,
    settled: BoolArray | None = None,
    panel: Any = None,
) -> Columns:
    """Lay out whom to ask (n,), -1: nobody, the label, P(it is right), and whether answers so far have settled it.

    `p_used` is the P(it is right) that decided, where that is another; `panel` (n,) are names.
    """
    is_asked, alone = ask != MODEL, text_at((*expert_names, ""), ask)
    p_right = np.where(is_asked, np.nan, p_right).round(6)
    by_answers = np.zeros(len(ask), dtype=np.bool_) if settled is None else settled & ~is_asked
    return {
        "ask": alone,
        "label": blank_where(is_asked, label),
        "p_right": p_right,
        "p_used": p_right if p_used is None else np.where(is_asked, np.nan, p_used).round(6),
        "expected_cost": expected_cost.round(6),
        "route": text_at((*expert_names, SETTLED, "model"), np.where(by_answers, len(expert_names), ask)),
        "panel": alone if panel is None else panel,
        "reason": text_array(reason),
    }


def score_columns(
    scores: Scores, expert_names: tuple[str, ...], *, route: Labels, p_right: FloatArray, fee: FloatArray, **more: Any
) -> Columns:
    """Lay out the decisions of a team whose experts have only scores: whom to ask, P(right), the fee, and `more`."""
    proba = {f"p_{name}": scores.expert_proba[:, j].round(6) for j, name in enumerate(expert_names)}
    return {"route": route, "p_right": p_right.round(6), "fee": fee, **more, **proba}


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


def _joined(panels: BoolArray, names: tuple[str, ...]) -> Any:
    """Return the names of each panel as an Arrow array of n texts."""
    ends = np.concatenate([[0], np.cumsum(panels.sum(axis=1))]).astype(np.int32)
    members = pa.array(names, pa.string()).take(pa.array(np.nonzero(panels)[1]))
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), members), "; ")


TEXT = pd.Series(["a"]).dtype
"""The type that pandas gives to texts."""


def text_array(texts: Any) -> Any:
    """Return the column that pandas makes of texts, an array (n,) of str or an Arrow array.

    >>> pd.Series(text_array(np.array(["ann", "bob"], dtype=object))).tolist()
    ['ann', 'bob']
    """
    return pd.array(texts, dtype=TEXT)


def text_at(values: Sequence[Any] | np.ndarray[Any, Any], idx: IntArray) -> Any:
    """Return `values[idx]`, (n,), as the column that pandas makes of it; -1 is the last value.

    >>> pd.Series(text_at(("ann", "bob", "model"), np.array([1, -1]))).tolist()
    ['bob', 'model']
    """
    labels = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
    is_text = labels.dtype == object and all(type(one) is str for one in labels.tolist())
    return text_array(labels).take(idx) if is_text else labels[idx]
