"""Routing under limits and round by round: what must be known of the whole file before the first decision."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from defero.core.assignment import Assignment
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.labels import MISSING, Labels, encode_labels
from defero.core.results import MODEL
from defero.core.scores import Scores
from defero.core.wording import did_you_mean, join_names
from defero.data.answers.read_log import join_answers, long_columns
from defero.data.case_file import TableSource
from defero.data.tables.read import NoRowsError
from defero.router import Router
from defero.router.asking import Gains
from defero.study.money.given import TeamTerms


@dataclass(frozen=True)
class FileLimits:
    """Limits for all cases of a file.

    Attributes
    ----------
    capacity : {name: most or (fewest, most)}, optional
        The name "all" stands for every expert who has no entry.
    defer_at_most : float, optional
        Largest share of the cases that experts may be asked about.
    budget : float, optional
        The most that all questions may cost.
    """

    capacity: Mapping[str, Any] | None = None
    defer_at_most: float | None = None
    budget: float | None = None

    @property
    def given(self) -> bool:
        """Whether there is any limit."""
        return bool(self.capacity) or self.defer_at_most is not None or self.budget is not None

    def by_expert(self, expert_names: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the capacity of every expert who has one."""
        if not self.capacity:
            return None
        own = dict(self.capacity)
        everybody = own.pop("all", None) if "all" not in expert_names else None
        rest = {} if everybody is None else {name: everybody for name in expert_names if name not in own}
        return {**own, **rest}


@dataclass(frozen=True, eq=False)
class FilePlan:
    """What is settled for all cases of a file: who answers each of them, or the answers so far (n, J)."""

    assignment: Assignment | None = None
    answer_idx: IntArray | None = None

    def steps(self, rows: slice, router: Router, features: Any, scores: Scores, **terms: Any) -> "FileSteps":
        """Return what is decided for some cases, whose features and scores are at hand."""
        if self.assignment is None:
            assert self.answer_idx is not None
            steps = router.next_step_of(features, scores, self.answer_idx[rows], **terms)
            return FileSteps(steps.ask, steps.label, steps.p_right, steps.expected_cost, steps.reason)
        batch = self.assignment
        assert batch.label is not None
        label = batch.label[rows]
        label_idx = encode_labels(label, router.classes)
        p_label = scores.class_proba[np.arange(len(label)), label_idx]
        p_right = np.where(label_idx == scores.class_idx, scores.model_proba, p_label)
        return FileSteps(batch.expert[rows], label, p_right, batch.expected_cost[rows], batch.reasons(rows))


@dataclass(frozen=True, eq=False)
class FileSteps:
    """For some cases whom to ask (n,), -1: nobody, the label and its P(right) without that, the cost and the reason."""

    ask: IntArray
    label: Labels
    p_right: FloatArray
    expected_cost: FloatArray
    reason: list[str]

    def columns(self, columns: dict[str, Any], expert_names: tuple[str, ...]) -> dict[str, Any]:
        """Return the columns of a table of decisions with these steps in them."""
        asked = self.ask != MODEL
        names = np.array([*expert_names, ""], dtype=object)[self.ask]
        label = self.label.astype(object)
        label[asked] = None
        steps = {
            "ask": names,
            "label": label,
            "p_right": np.where(asked, np.nan, self.p_right).round(6),
            "expected_cost": self.expected_cost.round(6),
            "route": np.where(asked, names, "model"),
            "panel": names,
        }
        rest = {name: values for name, values in columns.items() if name not in steps}
        return {**steps, **rest, "reason": self.reason}


def assign_file(
    router: Router,
    pieces: Iterable[pd.DataFrame],
    limits: FileLimits,
    *,
    source: str,
    first_row: int,
    money: TeamTerms,
    available: list[bool],
) -> Assignment:
    """Assign all cases of a file, read piece by piece; of each case only the gains are kept."""
    parts, fees = [], []
    for piece in pieces:
        features = router.features(piece, source=source, first_row=first_row)
        here = money.on(piece, source=source, first_row=first_row)
        gains = router.gains_of(
            features,
            router.score_features(features),
            fees=here.fees,
            cost_matrix=here.costs.matrix,
            available=available,
        )
        parts.append(gains)
        fees.append(here.fees)
    whole = Gains(
        np.concatenate([one.gain for one in parts]),
        np.concatenate([one.answer_cost for one in parts]),
        np.concatenate([one.label_idx for one in parts]),
    )
    del parts
    return router.assign_gains(
        whole,
        capacity=limits.by_expert(router.expert_names),
        budget=limits.budget,
        defer_at_most=limits.defer_at_most,
        fees=np.concatenate([one for one in fees if one is not None]) if money.columns else money.terms.fees,
    )


def answers_so_far(
    router: Router, pieces: Iterable[pd.DataFrame], log: TableSource, *, key: str | None, source: str, first_row: int
) -> IntArray:
    """Return the answers of a log to the cases of a file as class numbers (n, J), -1 where there is none.

    Of several answers of one person to one case the last counts. Unknown names and cases are errors. A log without
    rows is the first round.

    Parameters
    ----------
    router : Router
    pieces : tables
        The cases, piece by piece; only their key is kept.
    log : TableSource
        One answer per row.
    key : str, optional
        The column that names the cases; else found by name.
    source, first_row
        What a message calls the cases, and the number of their first row.
    """
    keys = pd.concat([piece[[key]] if key is not None else piece for piece in pieces])
    answer_idx = np.full((len(keys), len(router.expert_names)), MISSING)
    known = router.facts.log_columns or {}
    try:
        head = log.columns()
    except NoRowsError:  # the first round: nobody has answered yet
        return answer_idx
    item, annotator, answer = (
        known[role] if known.get(role) in head else None for role in ("item", "annotator", "answer")
    )
    columns = long_columns(
        pd.DataFrame(columns=head), item=item, annotator=annotator, answer=answer, time=None, source=log.name
    )
    frame = log.read(as_text=[columns.item, columns.annotator, columns.answer])
    joined = join_answers(
        keys,
        frame,
        key=key,
        item=columns.item,
        annotator=columns.annotator,
        answer=columns.answer,
        source=log.name,
        items_source=source,
        first_row=log.first_row,
        items_first_row=first_row,
    )
    strangers = [name for name in joined.expert_names if name not in router.expert_names]
    if strangers:
        hint = did_you_mean(strangers[0], router.expert_names)
        raise InputError(
            Argument("answers", log.name),
            f": no expert {join_names(strangers)}{hint} The model knows {join_names(router.expert_names)}.",
        )
    place = np.array([router.expert_names.index(name) for name in joined.expert_names], dtype=np.int64)
    if len(joined):
        answer_idx[joined.item_idx, place[joined.expert_idx]] = joined.class_idx(router.classes)
    return answer_idx
