"""Routing under limits: who is asked about each case of a file, settled before the first decision is written."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray, probability
from defero.core.labels import MISSING
from defero.core.results import MODEL, Assignment
from defero.decide.assigning.limits import capacity_of
from defero.decide.terms import TeamTerms
from defero.study.money import on_cases
from defero.team import Team
from defero.team.asking import Gains, assign_gains, gains_of, next_gains_of


def assign_file(
    team: Team,
    pieces: Iterable[pd.DataFrame],
    terms: TeamTerms,
    *,
    source: str,
    first_row: int,
    answer_idx: IntArray | None = None,
) -> Assignment:
    """Assign all cases of a file, read piece by piece; of each case only the gains are kept.

    With answers so far (n, J) the next question of each case is assigned, and the answers count toward the limits.
    """
    parts: list[Gains] = []
    fees: list[FloatArray | None] = []
    start = 0
    for piece in pieces:
        features = team.features(piece, source=source, first_row=first_row)
        here = on_cases(terms, piece, source=source, first_row=first_row)
        scores = team.score_features(features)
        if answer_idx is None:
            parts.append(gains_of(team, features, scores, here))
        else:
            answers_here = answer_idx[start : start + len(piece)]
            parts.append(next_gains_of(team, features, scores, answers_here, here))
        fees.append(here.fees)
        start += len(piece)
    whole = replace(
        parts[0],
        gain=np.concatenate([one.gain for one in parts]),
        answer_cost=np.concatenate([one.answer_cost for one in parts]),
        label_idx=np.concatenate([one.label_idx for one in parts]),
    )
    del parts
    if terms.columns:
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
    share = probability("at_most_asked", terms.at_most_asked)
    n_new = max(int(np.floor(share * n_items + 1e-9)) - int(heard_mask.any(axis=1).sum()), 0)
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
