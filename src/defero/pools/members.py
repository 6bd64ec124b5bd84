"""Members of a pool come and go: what changes in its parts."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, names
from defero.core.checks.scores import score_matrix
from defero.core.errors import InputError
from defero.core.order import HashArray
from defero.core.wording import did_you_mean, join_names
from defero.judge.marks import Judge, corrected_marks
from defero.learn.newcomer import newcomer_weights
from defero.learn.scores import LearnedPrices
from defero.pools.inputs import price_matrix
from defero.pools.parts import PoolParts

Pool = TypeVar("Pool", bound=PoolParts)


def with_member(
    pool: Pool,
    name: str,
    features: FloatArray | None,
    scores: ArrayLike | None,
    *,
    price: float | None,
    like: str | Sequence[str] | None,
    judge: Judge | None = None,
    fingerprints: HashArray | None = None,
) -> Pool:
    """Return the pool with one more member at the end; the arguments are those of `PoolRouter.add_member`.

    `fingerprints` (m,) are those of the scored items; with a score they are remembered as seen.
    """
    n_others = len(pool.expert_names)
    expert_names = names("expert_names", (*pool.expert_names, name), count=n_others + 1)
    values, observed = np.empty((0, n_others)), np.empty(0)
    if scores is not None:
        column = score_matrix(np.asarray(scores, dtype=object).reshape(-1, 1), [name])[0][:, 0]
        if features is None or len(features) != len(column):
            n_items = "none" if features is None else len(features)
            raise InputError(f"must be the {len(column)} items that were scored, got {n_items}.", argument="X")
        rows = np.isfinite(column)
        judge = judge or pool_judge(pool)
        column = column if judge is None else corrected_marks(column, judge)
        values, observed = pool.model.linear_values(features[rows]), column[rows]
        fingerprints = None if fingerprints is None else fingerprints[rows]
    known = pool.train_score[np.isfinite(pool.train_score)]
    noise = max(float(np.diag(pool.covariance).mean()), 0.01)
    weights, offset = newcomer_weights(
        values,
        observed,
        like=None if like is None else _alike(like, pool.expert_names),
        level_sd=float(known.std()) if len(known) else 0.0,
        noise=noise,
    )
    spread = pool.covariance @ weights
    own = np.array([[max(float(weights @ spread), noise)]])
    return replace(
        pool,
        model=pool.model.with_member(weights, offset),
        expert_names=expert_names,
        n_scores=np.append(pool.n_scores, len(observed)),
        train_score=np.append(pool.train_score, np.clip(observed.mean(), 0.0, 1.0) if len(observed) else np.nan),
        seen=pool.seen if fingerprints is None else np.concatenate([pool.seen, fingerprints]),
        facts=replace(pool.facts, joined=(*pool.facts.joined, name)),
        covariance=np.block([[pool.covariance, spread[:, None]], [spread[None, :], own]]),
        **_with_price(pool, name, price),
    )


def without_member(pool: Pool, name: str) -> Pool:
    """Return the pool without a member."""
    if name not in pool.expert_names:
        raise InputError(f": no member {name}{did_you_mean(name, pool.expert_names)}", argument="name")
    if len(pool.expert_names) == 1:
        raise InputError(f": {name} is the only member; a pool needs one.", argument="name")
    left = of_members(pool, [j for j, one in enumerate(pool.expert_names) if one != name])
    return replace(left, facts=replace(pool.facts, joined=tuple(one for one in pool.facts.joined if one != name)))


def of_members(pool: Pool, members: Sequence[int] | IntArray) -> Pool:
    """Return the pool of some members, in this order."""
    chosen, prices = np.asarray(members), pool.prices_learned
    return replace(
        pool,
        model=pool.model.take(chosen),
        expert_names=tuple(pool.expert_names[j] for j in chosen),
        n_scores=pool.n_scores[chosen],
        train_score=pool.train_score[chosen],
        train_price=pool.train_price[chosen],
        covariance=pool.covariance[np.ix_(chosen, chosen)],
        prices_learned=None if prices is None else prices.take(chosen),
    )


def pool_judge(pool: PoolParts) -> Judge | None:
    """Return the judge whose marks the pool was fitted on, if it was."""
    rates = pool.facts.judge
    return None if rates is None else Judge(*rates)


def _alike(like: str | Sequence[str], expert_names: tuple[str, ...]) -> FloatArray:
    alike = [like] if isinstance(like, str) else list(like)
    unknown = [one for one in alike if one not in expert_names]
    if unknown or not alike:
        hint = did_you_mean(str(unknown[0]), expert_names) if unknown else " was named."
        raise InputError(f": no member {join_names(unknown)}{hint}", argument="like")
    return np.isin(expert_names, alike) / len(alike)


def _with_price(pool: PoolParts, name: str, price: float | None) -> dict[str, Any]:
    money = np.nan if price is None else float(price_matrix([price], (name,), n_items=1)[0, 0])
    learned, n_others = pool.prices_learned, len(pool.expert_names)
    if learned is None and np.isfinite(money):
        nothing = np.zeros((pool.model.n_features, n_others)), np.zeros(n_others)
        learned = LearnedPrices(*nothing, np.zeros(n_others, dtype=np.bool_))
    return {
        "train_price": np.append(pool.train_price, money),
        "prices_learned": None if learned is None else learned.with_member(money),
    }
