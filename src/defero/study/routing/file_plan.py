"""How the cases of a file are settled that do not stand for themselves: limits, answers so far, asking in turn."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING, Labels, encode_labels
from defero.core.results import MODEL, Assignment, NextSteps
from defero.core.scores import Scores
from defero.core.wording import did_you_mean, join_names
from defero.data.answers.read_log import join_answers, long_columns
from defero.data.answers.spellings import Spellings, missing_answers_note
from defero.data.tables.read import NoRowsError
from defero.decide.terms import TeamTerms
from defero.study.routing.decisions import SETTLED, blank_where
from defero.study.team_cases import Reading
from defero.team import Team
from defero.team.asking import next_step_of


@dataclass(frozen=True, eq=False)
class AnswersSoFar:
    """Answers to the cases of a file as class numbers (n, J), -1 where there is none, and notes on the log."""

    answer_idx: IntArray
    notes: tuple[str, ...] = ()


def answers_so_far(
    team: Team, pieces: Iterable[pd.DataFrame], reading: Reading, *, key: str | None, source: str, first_row: int
) -> AnswersSoFar:
    """Return the answers of a log to the cases of a file.

    Of several answers of one person to one case the last counts. Unknown names and cases are errors. A log without
    rows is the first round.

    Parameters
    ----------
    team : Team
    pieces : tables
        The cases, piece by piece; only their key is kept.
    reading : Reading
        With the log, one answer per row, and the names of its columns; else they are as in `fit`, or found by name.
    key : str, optional
        The column that names the cases; else found by name.
    source, first_row
        What a message calls the cases, and the number of their first row.
    """
    assert reading.answers is not None
    log, spellings = reading.answers, Spellings(reading.spec(team).meant)
    keys = pd.concat([piece[[key]] if key is not None else piece for piece in pieces])
    answer_idx = np.full((len(keys), len(team.expert_names)), MISSING)
    try:
        columns = long_columns(log.head(), **reading.log_columns(team), source=log.name)
    except NoRowsError:  # the first round: nobody has answered yet
        return AnswersSoFar(answer_idx)
    frame = log.read(as_text=[columns.item, columns.annotator, columns.answer])
    frame = spellings.apply_to(frame, [columns.answer])
    joined = join_answers(
        keys,
        frame,
        key=key,
        **vars(columns),
        source=log.name,
        items_source=source,
        first_row=log.first_row,
        items_first_row=first_row,
    )
    joined, missing = joined.without_missing(team.classes)
    strangers = [name for name in joined.expert_names if name not in team.expert_names]
    if strangers:
        hint = did_you_mean(strangers[0], team.expert_names)
        raise InputError(
            Argument("answers", log.name),
            f": no expert {join_names(strangers)}{hint} The model knows {join_names(team.expert_names)}.",
        )
    place = np.array([team.expert_names.index(name) for name in joined.expert_names], dtype=np.int64)
    if len(joined):
        with spellings.in_errors():
            answer_idx[joined.item_idx, place[joined.expert_idx]] = joined.class_idx(team.classes)
    return AnswersSoFar(answer_idx, (*missing_answers_note(missing, source=log.name), *joined.notes()))


@dataclass(frozen=True, eq=False)
class FilePlan:
    """What is known of all cases of a file: whom each is assigned to under limits, and the answers so far.

    With neither, each case gets its first question of asking one after the other.
    """

    assignment: Assignment | None = None
    so_far: AnswersSoFar | None = None

    @property
    def cautions(self) -> list[str]:
        """What a reader should know: rows of the log that do not count, and what the limits cost."""
        notes = [] if self.so_far is None else list(self.so_far.notes)
        return [*notes, *([] if self.assignment is None else self.assignment.sentences(most=10))]

    def steps(self, rows: slice, team: Team, features: Any, scores: Scores, terms: TeamTerms) -> "FileSteps":
        """Return what is decided for some cases, whose features and scores are at hand."""
        batch = self.assignment
        if self.so_far is None and batch is not None:
            return _assigned(batch, rows, team, scores)
        nothing = np.full((len(scores), len(team.expert_names)), MISSING)
        answer_idx = nothing if self.so_far is None else self.so_far.answer_idx[rows]
        if batch is None:
            steps = next_step_of(team, features, scores, answer_idx, terms)
            return FileSteps.of(steps, steps.reason)
        terms = terms.among(np.zeros(len(team.expert_names), dtype=np.bool_))
        now = next_step_of(team, features, scores, answer_idx, terms)
        ask = batch.expert[rows]
        cost = np.where(ask == MODEL, now.answer_cost, batch.expected_cost[rows])
        steps = replace(now, ask=ask, expected_cost=cost)
        return FileSteps.of(steps, steps.reasons(batch.whys(rows)))


def _assigned(batch: Assignment, rows: slice, team: Team, scores: Scores) -> "FileSteps":
    assert batch.label is not None
    label = batch.label[rows]
    label_idx = encode_labels(label, team.classes)
    p_label = scores.class_proba[np.arange(len(label)), label_idx]
    p_right = np.where(label_idx == scores.class_idx, scores.model_proba, p_label)
    none = np.zeros(len(label), dtype=np.bool_)
    return FileSteps(batch.expert[rows], none, label, p_right, batch.expected_cost[rows], batch.reasons(rows))


@dataclass(frozen=True, eq=False)
class FileSteps:
    """For some cases whom to ask (n,), -1: nobody, whether answers have settled them, the label, its P(right), ..."""

    ask: IntArray
    settled: BoolArray
    label: Labels
    p_right: FloatArray
    expected_cost: FloatArray
    reason: list[str]

    @classmethod
    def of(cls, steps: NextSteps, reason: list[str]) -> "FileSteps":
        """Return next steps with their reasons."""
        return cls(steps.ask, steps.settled, steps.label, steps.p_right, steps.expected_cost, reason)

    def columns(self, columns: dict[str, Any], expert_names: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns of a table of decisions with these steps in them."""
        is_asked = self.ask != MODEL
        names = np.array([*expert_names, ""], dtype=object)[self.ask]
        steps = {
            "ask": names,
            "label": blank_where(is_asked, self.label),
            "p_right": np.where(is_asked, np.nan, self.p_right).round(6),
            "expected_cost": self.expected_cost.round(6),
            "route": np.where(is_asked, names, np.where(self.settled, SETTLED, "model")),
            "panel": names,
        }
        rest = {name: values for name, values in columns.items() if name not in steps}
        return {**steps, **rest, "reason": self.reason}
