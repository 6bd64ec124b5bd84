"""Who gets which cases: load, accuracy and recall by the values of columns that the user names."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.wording import Plain, percent
from defero.data.tables.cells import is_blank, no_such_column, text_of
from defero.judge.intervals import Share
from defero.judge.record.figures import Cell, Figure, FigureTable, in_points
from defero.study.evaluate import Evaluation
from defero.team.deciding import decide_scored

MOST_COLUMNS = 5
MOST_CLASSES, MOST_EXPERTS = 6, 8
MOST_VALUES = 8
"""Of more values the most frequent are shown; numbers are cut at their quartiles."""
_DATE = re.compile(r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))(\D|$)", re.ASCII)
BLANK, OTHERS = "(blank)", "(other values)"


@dataclass(frozen=True)
class GroupRow(Plain):
    """The cases with one value of a column.

    Attributes
    ----------
    value : str
    team, model : Share
        Right, on recorded answers.
    recall : {class: Share}
        The share of each class's cases that the team labels so.
    load : {name: int}
        How many of the cases the model and each expert would get if everybody could be asked.
    alone : {name: Share}
        Right, of each expert's recorded answers to these cases.
    """

    MORE: ClassVar[tuple[str, ...]] = ("cases",)

    value: str
    team: Share
    model: Share
    recall: dict[str, Share]
    load: dict[str, int]
    alone: dict[str, Share]

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return self.team.total


@dataclass(frozen=True)
class GroupTable(Plain):
    """The groups of one column."""

    column: str
    rows: tuple[GroupRow, ...]

    def accuracy(self) -> FigureTable:
        """Return the accuracy of team and model."""
        rows: list[list[Cell]] = []
        for one in self.rows:
            asked = Figure.number(one.cases - one.load["model"])
            rows.append([one.value, Figure.number(one.cases), Figure.share(one.team), Figure.share(one.model), asked])
        return FigureTable([self.column, "cases", "team", "model alone", "asked about, if all could be"], rows)

    def recall(self) -> FigureTable:
        """Return accuracy, gain and recall of the team."""
        rows: list[list[Cell]] = []
        for one in self.rows:
            gain = Figure(one.team.value - one.model.value, write=in_points)
            recalls = [Figure.share(share) for share in one.recall.values()][:MOST_CLASSES]
            rows.append([one.value, Figure.number(one.cases), Figure.share(one.team), gain, *recalls])
        labels = [f"recall of {label}" for one in self.rows[:1] for label in one.recall][:MOST_CLASSES]
        return FigureTable(
            ["", "cases", "team", "gain, in points", *labels],
            rows,
            f"Accuracy and recall of the team by {self.column}, with 95 % intervals; gain over the model alone.",
        )

    def load(self) -> FigureTable:
        """Return the share of the cases that the model and each expert would get, those who get most first."""
        totals = Counter({name: 0 for one in self.rows[:1] for name in one.alone})
        for one in self.rows:
            totals.update({name: n for name, n in one.load.items() if name in one.alone})
        names = [name for name, _ in totals.most_common(MOST_EXPERTS)]
        rows: list[list[Cell]] = [
            [
                one.value,
                Figure(one.load["model"] / one.cases),
                *(f"{percent(one.load[name] / one.cases)} ({percent(one.alone[name].value)})" for name in names),
            ]
            for one in self.rows
        ]
        return FigureTable(
            ["", "model", *names],
            rows,
            f"Share of the cases that the model and each expert would get by {self.column}, and in brackets the "
            "accuracy of the expert's recorded answers there.",
        )


def check_columns(by: Sequence[str], columns: Sequence[str], *, source: str) -> None:
    """Refuse more than five columns, and columns that the table does not have."""
    if isinstance(by, str):
        raise InputError(f"must be a list of columns; pass {Argument('by', [by])}.", argument="by")
    if len(by) > MOST_COLUMNS:
        raise InputError(f"takes up to {MOST_COLUMNS} columns, got {len(by)}.", argument="by")
    for name in by:
        if name not in columns:
            raise no_such_column(name, list(columns), source=source, role="the groups of the report")


def group_tables(evaluation: Evaluation, by: Sequence[str]) -> tuple[GroupTable, ...]:
    """Return load, accuracy and recall by the values of each column."""
    check_columns(by, list(map(str, evaluation.columns.columns)), source=evaluation.table)
    team, trial = evaluation.team, evaluation.own_trial
    features = team.features(evaluation.cases.features)
    everybody = decide_scored(team, features, trial.scores, evaluation.present_terms)
    tables = []
    for name in by:
        _refuse_dates(evaluation.columns[name], name)
        values, groups = group_values(evaluation.columns[name])
        rows = [_row(evaluation, everybody.expert, one, values == one) for one in groups]
        tables.append(GroupTable(name, tuple(rows)))
    return tuple(tables)


def _refuse_dates(column: "pd.Series[Any]", name: str) -> None:
    """Refuse a column of many dates: groups of single days say nothing."""
    cells = [cell for cell in column.tolist() if not is_blank(cell)]
    dates = column.dtype.kind == "M" or all(isinstance(cell, str | date) and _DATE.match(str(cell)) for cell in cells)
    n_days = len({str(cell) for cell in cells})
    if dates and n_days > MOST_VALUES:
        raise InputError(
            f"{Argument('by', [name])}: holds {n_days} different dates, and groups of single days are too small; "
            "add a column of the year, the quarter or the month to the table and name that."
        )


def group_values(column: "pd.Series[Any]") -> tuple[Any, list[str]]:
    """Return the group of each case, (n,), and the groups in order: values, or ranges of numbers.

    >>> values, groups = group_values(pd.Series(["b", "a", None]))
    >>> values.tolist(), groups
    (['b', 'a', '(blank)'], ['a', 'b', '(blank)'])
    """
    texts = np.array([BLANK if is_blank(cell) else text_of(cell) for cell in column.tolist()], dtype=object)
    known = texts != BLANK
    distinct, counts = np.unique(texts[known].astype(str), return_counts=True)
    names = distinct.tolist()
    if len(distinct) > MOST_VALUES and column.dtype.kind in "iuf":
        numbers = column.to_numpy(dtype=np.float64)
        cuts = np.unique(np.quantile(numbers[known], [0.25, 0.5, 0.75]))
        ends = [f"{cut:g}" for cut in cuts]
        names = [f"below {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends)), f"from {ends[-1]}"]
        texts = np.where(known, np.array(names, dtype=object)[np.searchsorted(cuts, numbers, side="right")], BLANK)
    elif len(distinct) > MOST_VALUES:
        frequent = distinct[np.argsort(-counts, kind="stable")[: MOST_VALUES - 1]]
        texts = np.where(np.isin(texts.astype(str), frequent) | ~known, texts, OTHERS)
        names = [*sorted(frequent.tolist()), OTHERS]
    return texts, [name for name in (*names, BLANK) if (texts == name).any()]


def _row(evaluation: Evaluation, expert: IntArray, value: str, rows: BoolArray) -> GroupRow:
    trial, names = evaluation.own_trial, evaluation.team.expert_names
    team, observed, right = trial.team_correct, trial.observed, trial.expert_correct
    asked = expert[rows]
    members = [rows & (trial.label_idx == k) for k in range(len(trial.classes))]
    load = np.bincount(asked[asked >= 0], minlength=len(names)).tolist()
    recall = [Share(int(team[one].sum()), int(one.sum())) for one in members]
    alone = [Share(int(right[rows, j].sum()), int(observed[rows, j].sum())) for j in range(len(names))]
    return GroupRow(
        value,
        team=Share(int(team[rows].sum()), int(rows.sum())),
        model=Share(int(trial.model_correct[rows].sum()), int(rows.sum())),
        recall=dict(zip(map(str, trial.classes.tolist()), recall, strict=True)),
        load={"model": int((asked < 0).sum()), **dict(zip(names, load, strict=True))},
        alone=dict(zip(names, alone, strict=True)),
    )
