"""What was decided for the cases of a file: counts, notes, and where the decisions are."""

from collections import Counter
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from defero.core.display import HTML_ROWS, html_table
from defero.core.wording import count_of, join_names
from defero.data.recipes.recipe import remark_sentences
from defero.data.tables.bad_cells import BadCells
from defero.data.tables.read import read_frame
from defero.study.routing.file_plan import SETTLED

SHOWN = ("ask", "label", "p_right", "route", "score", "price", "model_says", "expected_cost", "reason")
"""Columns of decisions that a notebook shows beside the case; all others are in `to_frame`."""


def decisions_html(decisions: pd.DataFrame) -> str:
    """Return the case, the decision and the reason of the first decisions as an HTML table."""
    names = [str(decisions.columns[0]), *(name for name in SHOWN if name in decisions.columns[1:])]
    names = [*names[:5], "reason"] if len(names) > 6 else names
    head = decisions.head(HTML_ROWS)
    return html_table({name: head[name].tolist() for name in names}, n_rows=len(decisions))


@dataclass(eq=False, repr=False)
class RoutedFile:
    """What is known of the decisions for a file, of a team or of a pool.

    Attributes
    ----------
    out : Path or None
        The file of decisions.
    expert_names : J names
    load : Counter
        How many cases each decider gets.
    decisions : DataFrame, optional
        The decisions, where there is no file.
    bad_rows : BadCells or None
        The rows that were left out, counted by kind; None where bad rows are an error.
    bad_list : Path, DataFrame or None
        The list of these rows: row, column, value, why.
    """

    out: Path | None
    expert_names: tuple[str, ...]
    load: Counter[str] = field(default_factory=Counter)
    decisions: pd.DataFrame | None = field(default=None, kw_only=True)
    bad_rows: BadCells | None = field(default=None, kw_only=True)
    bad_list: Path | pd.DataFrame | None = field(default=None, kw_only=True)

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


@dataclass(eq=False, repr=False)
class Routing(RoutedFile):
    """What was decided for the cases of a file.

    Attributes
    ----------
    out, expert_names, decisions, bad_rows, bad_list
        As in `RoutedFile`.
    load : Counter
        How many cases the model and each expert get; "settled": how many are settled by the answers so far.
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
    resumed : int
        How many of the decisions an earlier run had made that was stopped.
    """

    remarks: Counter[str] = field(default_factory=Counter)
    ignored_columns: tuple[str, ...] = ()
    unusual: int = 0
    cautions: tuple[str, ...] = ()
    promise_holds: bool = False
    any_doubt: bool = False
    resumed: int = 0

    def state(self) -> dict[str, Any]:
        """Return the counts so far as plain values; `go_on` takes them."""
        counts = {"load": dict(self.load), "remarks": dict(self.remarks), "unusual": self.unusual}
        return {**counts, "ignored_columns": list(self.ignored_columns), "any_doubt": self.any_doubt}

    def go_on(self, state: dict[str, Any]) -> None:
        """Count on from where an earlier run stopped."""
        self.load, self.remarks = Counter(state["load"]), Counter(state["remarks"])
        self.unusual, self.any_doubt = state["unusual"], state["any_doubt"]
        self.ignored_columns, self.resumed = tuple(state["ignored_columns"]), self.rows

    def __repr__(self) -> str:
        where = "" if self.out is None else f" in {self.out}"
        shown = [f"{name} {count}" for name, count in self.load.most_common()]
        return f"Routing: {count_of(self.rows, 'decision')}{where} ({join_names(shown, most=6)}); to_frame() has them."

    @property
    def deciders(self) -> tuple[str, ...]:
        """The model, the answers so far if there are any ("settled"), and the experts."""
        return ("model", *([SETTLED] if SETTLED in self.load else []), *self.expert_names)

    @property
    def notes(self) -> list[str]:
        """Everything a reader should know, a sentence each."""
        columns = ", ".join(self.ignored_columns)
        ignored = [f"columns that the model does not know are ignored: {columns}."] if columns else []
        list_file = self.bad_list if isinstance(self.bad_list, Path) else None
        bad = [self.bad_rows.note(list_file)] if self.bad_rows else []
        if self.resumed:
            bad = [f"{count_of(self.resumed, 'decision')} had been made by an earlier run that was stopped.", *bad]
        return [*bad, *ignored, *remark_sentences(self.remarks), *self.cautions]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: what `defero route --json` prints."""
        return {
            "decisions": None if self.out is None else str(self.out),
            "promise_holds": self.promise_holds,
            "rows": self.rows,
            "resumed": self.resumed,
            "load": {name: self.load[name] for name in self.deciders},
            "unusual": self.unusual,
            "ignored_columns": list(self.ignored_columns),
            "notes": dict(self.remarks),
            "cautions": list(self.cautions),
            "bad_rows": None if self.bad_rows is None else self.bad_rows.to_dict(self.bad_list),
        }
