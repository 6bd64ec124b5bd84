"""Ours: what `Study.fit()` gives, by default and with each learner alone."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.tables.outcome import Answering, InTurn, Outcome, System
from benchmarks.tables.split import Rows, Split
from defero import Study, Team, read_cases
from defero.core.checks.arrays import IntArray
from defero.core.labels import encode_labels
from defero.decide.terms import Terms

LABEL, PART, GROUP = "true_label", "part_of_the_study", "group_id"
N_SHOWN = 50
"""Test rows in the study, which wants some; it learns nothing from them, and the team is judged outside of it."""


def names_of(idx: IntArray) -> Any:
    """Return class numbers as words; None where missing."""
    words = np.array([*(f"class {k}" for k in range(int(idx.max(initial=0)) + 1)), None], dtype=object)
    return words[idx]


def expert_names(rows: Rows) -> list[str]:
    """Return a name for each expert."""
    return [f"expert {j}" for j in range(rows.n_experts)]


def study_of(split: Split) -> Study:
    """Return a study of the training rows."""
    shown = split.test.take(np.arange(min(N_SHOWN, len(split.test))))
    frames = []
    for part, rows in (("train", split.train), ("test", shown)):
        answers = pd.DataFrame(names_of(rows.answer_idx), columns=pd.Index(expert_names(rows)))
        columns: dict[str, Any] = {LABEL: names_of(rows.label_idx), PART: part}
        if rows.groups is not None:
            columns[GROUP] = [f"group {group}" for group in rows.groups]
        frames.append(pd.concat([rows.features.assign(**columns), answers], axis=1))
    cases = read_cases(pd.concat(frames, ignore_index=True), label=LABEL, expert_names=expert_names(split.train))
    return Study(cases, split=PART, groups=None if split.train.groups is None else GROUP, random_state=split.seed)


def fit(net: str, split: Split) -> tuple[Answering, str]:
    """Fit by `Study.fit`, and leave everything but the net at its default."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of silent experts and small parts, on every split
        study = study_of(split)
        team = study.fit(net)
    chosen = [sentence for sentence in study.describe() if sentence.startswith("Model of the classes")]
    return partial(answer, team), " ".join(chosen)


def answer(team: Team, test: Rows) -> Outcome:
    """Decide the test rows, one expert at most; and once more asking one after the other."""
    answers = pd.DataFrame(names_of(test.answer_idx), columns=pd.Index(expert_names(test)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        decision = team.decide(test.features, terms=Terms(available=test.observed))
        in_turn = team.answer(test.features, answers, vote="sequential")
    # The chosen decider's P(right) after selection; without fees it is what the expected cost leaves.
    p_right = getattr(decision, "p_right", 1 - decision.expected_cost)
    return Outcome(
        decision.expert,
        p_right,
        encode_labels(team.predict(test.features), team.classes),
        InTurn(encode_labels(in_turn.label, team.classes), in_turn.confidence, in_turn.heard.sum(axis=1)),
    )


SYSTEMS = (
    System("default", partial(fit, "auto"), ours=True),
    System("linear", partial(fit, "linear"), ours=True, most_splits=3),
    System("mlp", partial(fit, "mlp"), ours=True, most_splits=3),
)
