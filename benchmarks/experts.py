"""How many answers a second the paper's pools of experts draw, on one thread."""

import time
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from defero.simulate import draw_human, specialist
from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import oracle_pool
from defero_verma2023.pools.pool import ExpertPool
from defero_verma2023.pools.stand_in import stand_in_human

N_ITEMS = 1_000_000


def million_per_second(call: Callable[[], object], *, n_draws: int) -> float:
    """Return the best of five runs, in million draws per CPU second."""
    seconds = []
    for _ in range(5):
        before = time.process_time()
        call()
        seconds.append(time.process_time() - before)
    return round(n_draws / min(seconds) / 1e6, 1)


def pools() -> Mapping[str, ExpertPool]:
    """Return one pool per family, as published."""
    rng = np.random.default_rng(0)
    return {
        "hatespeech": hatespeech_pool(variant="as_published"),
        "galaxyzoo": galaxyzoo_pool(variant="as_published"),
        "ham10000": ham10000_pool(variant="as_published"),
        "cifar10_sim1": cifar10_sim1_pool(n_experts=4, variant="as_published"),
        "cifar10_sim2": cifar10_sim2_pool(p_in=0.8, variant="as_published"),
        "oracles without noise": oracle_pool(n_oracles=3, noise="none", variant="as_published", rng=rng),
        "oracles with noise": oracle_pool(n_oracles=3, noise="uniform", variant="as_published"),
        "gradual_overlap": gradual_overlap_pool(overlap=0.4, variant="as_published"),
    }


def of_pools() -> dict[str, float]:
    """Return the speed of a whole pool, per expert."""
    figures = {}
    for name, pool in pools().items():
        labels, read = np.random.default_rng(0).integers(pool.n_classes, size=(2, N_ITEMS))
        draw = partial(
            pool.draw,
            labels,
            rng=np.random.default_rng(1),
            human=read if "human" in pool.reads else None,
            recorded=read if "recorded" in pool.reads else None,
        )
        speed = million_per_second(draw, n_draws=N_ITEMS * pool.n_experts)
        figures[f"pool {name}, {pool.n_experts} experts: million draws per second per expert"] = speed
    return figures


def of_laws() -> dict[str, float]:
    """Return the speed of each law, and of the human labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(10, size=N_ITEMS)
    votes = rng.integers(1, 5, size=(N_ITEMS, 3))
    calls: dict[str, Callable[[], object]] = {
        "specialist": partial(specialist, labels, classes=[0, 1], p_in=0.7, p_out=0.1, n_classes=10, rng=rng),
        "draw_human of 3 classes": partial(draw_human, votes, rng=rng),
        "stand_in_human": partial(stand_in_human, labels % 2, rng=rng),
    }
    return {
        f"{name}: million draws per second": million_per_second(call, n_draws=N_ITEMS) for name, call in calls.items()
    }


def run() -> dict[str, float]:
    """Return million draws per CPU second, per expert: the pools, then the laws, and the slowest of all."""
    figures = of_pools() | of_laws()
    slowest = min(figures.values())
    return figures | {"slowest of these, more than 5 promised: million draws per second per expert": slowest}
