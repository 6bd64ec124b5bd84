"""Cascades with a simulated judge beside single-shot routing, at equal cost."""

from typing import Any, NamedTuple

import numpy as np

from benchmarks.pools.play_cascade import run_cascade
from benchmarks.pools.sets import PoolSet
from defero import ExpertPool
from defero.core.checks.arrays import FloatArray, IntArray
from defero.decide.cascade import Marking
from defero.decide.curve import Curve, curve_of

JUDGES = {"sensitivity .9, specificity .8": (0.9, 0.8), "perfect": (1.0, 1.0)}
JUDGE_PRICES = {"free": 0.0, "as the cheapest member": 1.0}
TRADE_OFFS = np.geomspace(10.0, 30_000.0, 15)


class Rows(NamedTuple):
    """Expected scores, prices, scores of right or wrong, and marks of a judge, (n, J) each; and single-shot routing."""

    expected: FloatArray
    price: FloatArray
    real: FloatArray
    marks: FloatArray
    single: Curve


def run_cascades(data: PoolSet, seed: int) -> list[dict[str, Any]]:
    """Return cost and quality of cascades, and of the best single-shot choice at the same cost.

    The trade-off of a cascade is the one that gains most over single-shot routing on validation rows, a fifth of the
    training rows that the pool was not fitted on. Scores between 0 and 1 count as right from 0.5 on: a judge marks
    right or wrong.
    """
    assert data.prices is not None
    train, test = data.split(seed)
    fit, validation = data.split(seed, among=train)
    scores = (data.scores >= 0.5).astype(np.float64)
    pool = ExpertPool(text="question").fit(data.table.iloc[fit], scores[fit], expert_names=data.expert_names)
    rng, lines = np.random.default_rng(seed), []
    for judge, (sensitivity, specificity) in JUDGES.items():
        choosing, judged = (
            _rows(pool, data, scores, rows, (sensitivity, specificity), rng) for rows in (validation, test)
        )
        for how, share in JUDGE_PRICES.items():
            marking = Marking(sensitivity, specificity, price=share * float(choosing.price.min(axis=1).mean()))
            gains = [_gain(_play(pool, choosing, marking, trade_off)) for trade_off in TRADE_OFFS]
            trade_off = float(TRADE_OFFS[int(np.argmax(gains))])
            lines.append(
                {
                    "study": "cascade",
                    "set": data.name,
                    "split": seed,
                    "judge": judge,
                    "judge_price": how,
                    "trade_off": round(trade_off, 3),
                    **_play(pool, judged, marking, trade_off),
                    "best_single_shot": round(float(judged.single.quality.max()), 5),
                }
            )
    return lines


def _rows(
    pool: ExpertPool,
    data: PoolSet,
    scores: FloatArray,
    rows: IntArray,
    rates: tuple[float, float],
    rng: np.random.Generator,
) -> Rows:
    """Return what is known of some rows, with marks drawn at a sensitivity and a specificity."""
    assert data.prices is not None
    expected, price, real = pool.predict_expert_proba(data.table.iloc[rows]), data.prices[rows], scores[rows]
    hit = rng.random(real.shape) < np.where(real == 1, *rates)
    single = curve_of(expected, price, scores=real, expert_names=data.expert_names, most_points=None)
    return Rows(expected, price, real, np.where(hit, real, 1 - real), single)


def _play(pool: ExpertPool, rows: Rows, marking: Marking, trade_off: float) -> dict[str, float]:
    """Return cost, quality and questions of the cascade, and the quality of single-shot routing at the same cost."""
    facts = pool.team_.score_facts
    assert facts is not None
    done = run_cascade(
        rows.expected,
        rows.price,
        rows.marks,
        marking=marking,
        covariance=facts.covariance,
        trade_off=float(trade_off),
    )
    cost = float(done.cost.mean())
    return {
        "cost": round(cost, 4),
        "quality": round(float(rows.real[np.arange(len(rows.real)), done.answer].mean()), 5),
        "asked": round(float(done.n_asked.mean()), 4),
        "single_shot": round(rows.single.at_cost(cost), 5),
    }


def _gain(played: dict[str, float]) -> float:
    return played["quality"] - played["single_shot"]
