"""Routing under limits: who is asked about each case of a file, settled before the first decision is written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray, IntArray, fee_matrix, probability
from defero.core.errors import InputError
from defero.core.labels import MISSING
from defero.core.results import MODEL, Assignment
from defero.decide.assigning.limits import capacity_of
from defero.study.money.given import TeamTerms
from defero.team import Team
from defero.team.costs.assigning import Gains


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
        if not isinstance(self.capacity, Mapping):
            one = {expert_names[0] if expert_names else "ann": 10}
            raise InputError(
                f"must be {{name: most}} or {{name: (fewest, most)}}, such as {one}, got {self.capacity!r}.",
                argument="capacity",
            )
        own = dict(self.capacity)
        everybody = own.pop("all", None) if "all" not in expert_names else None
        rest = {} if everybody is None else {name: everybody for name in expert_names if name not in own}
        return {**own, **rest}


def assign_file(
    team: Team,
    pieces: Iterable[pd.DataFrame],
    limits: FileLimits,
    *,
    source: str,
    first_row: int,
    money: TeamTerms,
    available: list[bool],
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
        here = money.on(piece, source=source, first_row=first_row)
        terms: dict[str, Any] = {"fees": here.fees, "cost_matrix": here.costs.matrix, "available": available}
        scores = team.score_features(features)
        if answer_idx is None:
            parts.append(team.gains_of(features, scores, **terms))
        else:
            answers_here = answer_idx[start : start + len(piece)]
            parts.append(team.next_gains_of(features, scores, answers_here, **terms))
        fees.append(here.fees)
        start += len(piece)
    whole = replace(
        parts[0],
        gain=np.concatenate([one.gain for one in parts]),
        answer_cost=np.concatenate([one.answer_cost for one in parts]),
        label_idx=np.concatenate([one.label_idx for one in parts]),
    )
    del parts
    paid = np.concatenate([one for one in fees if one is not None]) if money.columns else money.terms.fees
    if answer_idx is not None:
        return _assign_next(team, whole, limits, answer_idx, fees=paid)
    return team.assign_gains(
        whole,
        capacity=limits.by_expert(team.expert_names),
        budget=limits.budget,
        defer_at_most=limits.defer_at_most,
        fees=paid,
    )


def _assign_next(
    team: Team, gains: Gains, limits: FileLimits, answer_idx: IntArray, *, fees: FloatArray | None
) -> Assignment:
    """Assign the next questions with what the answers so far leave of the limits.

    `defer_at_most` limits the cases that anybody is asked about, so a second question about a case is not limited by
    it. Where too many new cases would be asked about, those stay that gain most.
    """
    heard_mask = answer_idx != MISSING
    n_items, names = len(heard_mask), team.expert_names
    lower, upper = (
        np.maximum(most - heard_mask.sum(axis=0), 0)
        for most in capacity_of(limits.by_expert(names), names, n_items=n_items)
    )
    budget = limits.budget
    if budget is not None:
        paid = fee_matrix(fees, n_items=n_items, n_experts=len(names), expert_names=names)
        budget = max(budget - float(paid[heard_mask].sum()), 0.0)
    left: dict[str, Any] = {"capacity": list(zip(lower.tolist(), upper.tolist(), strict=True)), "budget": budget}
    batch = team.assign_gains(gains, **left, fees=fees)
    if limits.defer_at_most is None:
        return batch
    share = probability("defer_at_most", limits.defer_at_most)
    n_new = max(int(np.floor(share * n_items + 1e-9)) - int(heard_mask.any(axis=1).sum()), 0)
    new = np.flatnonzero(batch.deferred & ~heard_mask.any(axis=1))
    if len(new) <= n_new:
        return batch
    saved = (batch.answer_cost - batch.expected_cost)[new]
    dropped = ~heard_mask.any(axis=1)
    dropped[new[np.argsort(-saved, kind="stable")[:n_new]]] = False
    rest = replace(gains, gain=np.where(dropped[:, None], -np.inf, gains.gain))
    fewer = team.assign_gains(rest, **left, fees=fees)
    wanted = dropped & (gains.gain.max(axis=1, initial=-np.inf) > 0)
    limit = np.full(n_items, MODEL) if fewer.limit is None else fewer.limit
    why = None if gains.stopped else np.where(wanted, len(names), limit)
    return replace(fewer, limit=why, gap=max(batch.saved + batch.gap - fewer.saved, 0.0))
