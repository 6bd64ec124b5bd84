"""How the cases of a file are settled that do not stand for themselves: limits, answers so far, asking in turn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING, encode_labels
from defero.core.results import MODEL, Assignment
from defero.core.scores import Scores
from defero.core.wording import did_you_mean, join_names
from defero.data.answers.read_log import join_answers, long_columns
from defero.data.answers.spellings import Spellings, missing_answers_note
from defero.data.tables.read import NoRowsError
from defero.decide.assigning.limits import capacity_of, most_asked
from defero.decide.terms import TeamTerms
from defero.study.money import on_cases
from defero.study.reading import Reading
from defero.study.routing.arrivals import Arrivals
from defero.study.routing.decisions import score_columns, who_columns
from defero.team import Team
from defero.team.asking import (
    Gains,
    assign_gains,
    gains_of,
    joined,
    next_gains_of,
    next_step_of,
    proba_of_label,
    with_prices,
)
from defero.team.score_facts import facts_of


def answers_so_far(team: Team, arrivals: Arrivals, reading: Reading) -> tuple[IntArray, list[str]]:
    """Return the answers of a log to the good rows of a file as class numbers (n, J), and notes on the log.

    Of several answers of one person to one case the last counts. Unknown names and cases are errors, but an answer to
    a bad row is none. A log without rows is the first round. The columns of the log are those that are named, else
    those of `fit`, or found by name; so is the key of the cases.
    """
    assert reading.answers is not None
    log, spellings, key = reading.answers, Spellings(reading.spec(team).meant), reading.said.key or arrivals.key
    pieces, good_mask = list[pd.DataFrame](), list[BoolArray]()
    for piece in arrivals.read():
        good_mask.append(arrivals.bad.keep(piece))
        pieces.append(piece[[key]] if key is not None else piece)
    keys, good = pd.concat(pieces), np.concatenate(good_mask)
    answer_idx = np.full((len(keys), len(team.expert_names)), MISSING)
    try:
        columns = long_columns(log.head(), **reading.log_columns(team), source=log.name)
    except NoRowsError:  # the first round: nobody has answered yet
        return answer_idx[good], []
    frame = log.read(as_text=[columns.item, columns.annotator, columns.answer])
    frame = spellings.apply_to(frame, [columns.answer])
    log_answers = join_answers(
        keys,
        frame,
        key=key,
        **vars(columns),
        source=log.name,
        items_source=arrivals.source,
        first_row=log.first_row,
        items_first_row=arrivals.first_row,
    )
    log_answers, missing = log_answers.without_missing(team.classes)
    strangers = [name for name in log_answers.expert_names if name not in team.expert_names]
    if strangers:
        hint = did_you_mean(strangers[0], team.expert_names)
        raise InputError(
            f"{Argument('answers', log.name)}: no expert {join_names(strangers)}{hint} The model knows "
            f"{join_names(team.expert_names)}."
        )
    place = np.array([team.expert_names.index(name) for name in log_answers.expert_names], dtype=np.int64)
    if len(log_answers):
        codes = log_answers.class_idx(team.classes, renamed=spellings.meant)
        answer_idx[log_answers.item_idx, place[log_answers.expert_idx]] = codes
    return answer_idx[good], [*missing_answers_note(missing, source=log.name), *log_answers.notes()]


@dataclass(frozen=True, eq=False)
class FilePlan:
    """What is known of all cases of a file: whom each is assigned to under limits, and the answers so far.

    With neither, each case gets its first question of asking one after the other.

    Attributes
    ----------
    assignment : Assignment, optional
    answer_idx : (n, J), optional
        The answers so far as class numbers, -1 where there is none.
    notes : sentences
        On the log of the answers.
    """

    assignment: Assignment | None = None
    answer_idx: IntArray | None = None
    notes: Sequence[str] = ()

    @property
    def cautions(self) -> list[str]:
        """What a reader should know: rows of the log that do not count, and what the limits cost."""
        return [*self.notes, *([] if self.assignment is None else self.assignment.sentences(most=10))]

    def columns(self, rows: slice, team: Team, features: Any, scores: Scores, terms: TeamTerms) -> dict[str, Any]:
        """Return the columns of a table of decisions for some cases, whose features and scores are at hand."""
        batch, names = self.assignment, team.expert_names
        if team.scored_only and batch is not None:
            return _asked(team, batch, rows, scores, with_prices(team, features, terms))
        if self.answer_idx is None and batch is not None:
            return _assigned(batch, rows, team, scores)
        answer_idx = np.full((len(scores), len(names)), MISSING) if self.answer_idx is None else self.answer_idx[rows]
        if batch is None:
            now = next_step_of(team, features, scores, answer_idx, terms)
            reason = now.reason
        else:
            nobody = np.zeros(len(names), dtype=np.bool_)
            now = next_step_of(team, features, scores, answer_idx, terms.among(nobody))
            ask = batch.expert[rows]
            now = replace(
                now, ask=ask, expected_cost=np.where(ask == MODEL, now.answer_cost, batch.expected_cost[rows])
            )
            reason = now.reasons(batch.whys(rows))
        more: dict[str, Any] = {"p_used": now.p_used, "settled": now.settled}
        return who_columns(names, now.ask, now.label, now.p_right, now.expected_cost, reason, **more)


def _asked(team: Team, batch: Assignment, rows: slice, scores: Scores, terms: TeamTerms) -> dict[str, Any]:
    """Lay out an assignment to experts who have only scores."""
    expert, items = batch.expert[rows], np.arange(len(scores))
    is_asked, paid = expert != MODEL, terms.paid(len(scores))
    p_right = facts_of(team).promised(scores.expert_proba[items, expert], scores.expert_proba, terms.available)
    return score_columns(
        scores,
        batch.expert_names,
        route=batch.name[rows],
        p_right=np.where(is_asked, p_right, np.nan),
        fee=np.where(is_asked, paid[items, expert], 0.0),
        expected_cost=batch.expected_cost[rows].round(6),
        reason=np.array(batch.reasons(rows), dtype=object),
    )


def _assigned(batch: Assignment, rows: slice, team: Team, scores: Scores) -> dict[str, Any]:
    assert batch.label is not None
    label = batch.label[rows]
    p_right = proba_of_label(scores, encode_labels(label, team.classes))
    cost, reason = batch.expected_cost[rows], batch.reasons(rows)
    return who_columns(team.expert_names, batch.expert[rows], label, p_right, cost, reason)


def assign_file(team: Team, arrivals: Arrivals, terms: TeamTerms, *, answer_idx: IntArray | None = None) -> Assignment:
    """Assign all cases of a file, read piece by piece; of each case only the gains are kept.

    With answers so far (n, J) the next question of each case is assigned, and the answers count toward the limits.
    """
    parts: list[Gains] = []
    fees: list[FloatArray | None] = []
    start = 0
    for piece in arrivals.good():
        features = team.features(piece, **arrivals.where)
        here = with_prices(team, features, on_cases(terms, piece, **arrivals.where))
        scores = team.score_features(features)
        if answer_idx is None:
            parts.append(gains_of(team, features, scores, here))
        else:
            answers_here = answer_idx[start : start + len(piece)]
            parts.append(next_gains_of(team, features, scores, answers_here, here))
        fees.append(here.fees if here.fees is None or here.fees.ndim == 2 else np.tile(here.fees, (len(piece), 1)))
        start += len(piece)
    whole = joined(parts)
    del parts
    if terms.columns or (team.scored_only and fees[0] is not None):
        terms = replace(terms, fees=np.concatenate([one for one in fees if one is not None]))
    if answer_idx is not None:
        return _assign_next(team, whole, terms, answer_idx)
    return assign_gains(team, whole, terms)


def _assign_next(team: Team, gains: Gains, terms: TeamTerms, answer_idx: IntArray) -> Assignment:
    """Assign the next questions with what the answers so far leave of the limits.

    `at_most_asked` limits the cases that anybody is asked about, so a second question about a case is not limited by
    it. Where too many new cases would be asked about, those stay that gain most.
    """
    heard_mask = answer_idx != MISSING
    n_items, names = len(heard_mask), team.expert_names
    lower, upper = (
        np.maximum(most - heard_mask.sum(axis=0), 0) for most in capacity_of(terms.capacity, names, n_items=n_items)
    )
    budget = terms.budget
    if budget is not None:
        budget = max(budget - float(terms.paid(n_items)[heard_mask].sum()), 0.0)
    capacity = list(zip(lower.tolist(), upper.tolist(), strict=True))
    left = replace(terms, capacity=capacity, budget=budget, at_most_asked=None)
    batch = assign_gains(team, gains, left)
    if terms.at_most_asked is None:
        return batch
    n_new = max(most_asked(terms.at_most_asked, n_items) - int(heard_mask.any(axis=1).sum()), 0)
    new = np.flatnonzero(batch.deferred & ~heard_mask.any(axis=1))
    if len(new) <= n_new:
        return batch
    saved = (batch.answer_cost - batch.expected_cost)[new]
    dropped = ~heard_mask.any(axis=1)
    dropped[new[np.argsort(-saved, kind="stable")[:n_new]]] = False
    rest = replace(gains, gain=np.where(dropped[:, None], -np.inf, gains.gain))
    fewer = assign_gains(team, rest, left)
    wanted = dropped & (gains.gain.max(axis=1, initial=-np.inf) > 0)
    limit = np.full(n_items, MODEL) if fewer.limit is None else fewer.limit
    why = None if gains.stopped else np.where(wanted, len(names), limit)
    return replace(fewer, limit=why, gap=max(batch.saved + batch.gap - fewer.saved, 0.0))
