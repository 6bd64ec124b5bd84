"""Cascades with a simulated judge beside single-shot routing, at equal cost."""

from typing import Any

import numpy as np

from benchmarks.pools.sets import PoolSet
from defero import ExpertPool
from defero.pools.cascade import Marking, run_cascade
from defero.pools.curve import pool_curve

JUDGES = {"sensitivity .9, specificity .8": (0.9, 0.8), "perfect": (1.0, 1.0)}
JUDGE_PRICES = {"free": 0.0, "as the cheapest member": 1.0}
TRADE_OFFS = np.geomspace(10.0, 30_000.0, 15)


def run_cascades(data: PoolSet, seed: int) -> list[dict[str, Any]]:
    """Return cost and quality of cascades along trade-offs, and of the best single-shot choice at the same cost.

    Scores between 0 and 1 count as right from 0.5 on: a judge marks right or wrong.
    """
    assert data.prices is not None
    train, test = data.split(seed)
    scores = (data.scores >= 0.5).astype(np.float64)
    pool = ExpertPool(text="question").fit(data.table.iloc[train], scores[train], expert_names=data.expert_names)
    expected, price, real = pool.scores(data.table.iloc[test]), data.prices[test], scores[test]
    single = pool_curve(expected, price, scores=real, expert_names=data.expert_names, most_points=None)
    rng, lines = np.random.default_rng(seed), []
    for judge, (sensitivity, specificity) in JUDGES.items():
        hit = rng.random(real.shape) < np.where(real == 1, sensitivity, specificity)
        marks = np.where(hit, real, 1 - real)
        for how, share in JUDGE_PRICES.items():
            marking = Marking(sensitivity, specificity, price=share * float(price.min(axis=1).mean()))
            for trade_off in TRADE_OFFS:
                done = run_cascade(
                    expected,
                    price,
                    marks,
                    marking=marking,
                    covariance=pool.router_.covariance,
                    trade_off=float(trade_off),
                )
                cost = float(done.cost.mean())
                lines.append(
                    {
                        "study": "cascade",
                        "set": data.name,
                        "split": seed,
                        "judge": judge,
                        "judge_price": how,
                        "trade_off": round(float(trade_off), 3),
                        "cost": round(cost, 4),
                        "quality": round(float(real[np.arange(len(real)), done.answer].mean()), 5),
                        "asked": round(float(done.n_asked.mean()), 4),
                        "single_shot": round(single.at_cost(cost), 5),
                        "best_single_shot": round(float(single.quality.max()), 5),
                    }
                )
    return lines
