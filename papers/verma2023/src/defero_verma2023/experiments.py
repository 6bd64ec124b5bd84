"""The paper's experiments as one table: what each varies, over which values, and who its experts are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import oracle_pool
from defero_verma2023.pools.pool import ExpertPool, Variant

DataSet = Literal["cifar10", "hatespeech", "ham10000", "galaxyzoo"]
PoolMaker = Callable[[float, int, Variant], ExpertPool]
"""Setting, seed and variant in; the experts out. Only the oracles without noise depend on the seed."""


@dataclass(frozen=True)
class Experiment:
    """One experiment: the figures that it feeds read its runs.

    Attributes
    ----------
    name : str
        As in our results, e.g. "sim1".
    stored : str
        As in the index of the authors' stored outputs.
    data_set : str
    x_name : str
        What is varied, as the index of the stored outputs calls it.
    settings : tuple of float
        Its values in the paper's figures.
    pool : callable
        Setting, seed, variant -> ExpertPool.
    seeds : tuple of int
        Seeds of our own trainings.
    columns : tuple of float
        Settings at which methods other than one-vs-all and softmax are trained as well; all of them where empty.
    tuned : bool
        Whether one-vs-all and softmax start from one classifier's trunk here as well, which takes a fraction of the
        time; else from scratch, as in the paper.
    """

    name: str
    stored: str
    data_set: DataSet
    x_name: str
    settings: tuple[float, ...]
    pool: PoolMaker
    seeds: tuple[int, ...] = (0, 1, 2)
    columns: tuple[float, ...] = ()
    tuned: bool = False


def _first(make: Callable[[Variant], ExpertPool]) -> PoolMaker:
    """Return the maker of the first x experts of a pool."""
    return lambda x, seed, variant: make(variant).take(range(int(x)))


def _clean_oracles(x: float, seed: int, variant: Variant) -> ExpertPool:
    # A stream of its own: answers are drawn from [seed, 1] and [seed, 2].
    rng = np.random.default_rng([seed, 1_000 + int(x)]) if variant == "as_published" else None
    return oracle_pool(n_oracles=int(x) + 1, noise="none", variant=variant, rng=rng)


def _noisy_oracles(x: float, seed: int, variant: Variant) -> ExpertPool:
    return oracle_pool(n_oracles=int(x) + 1, noise="uniform", variant=variant)


_MORE_EXPERTS = tuple(float(x) for x in range(1, 11))
FROM_TWO = _MORE_EXPERTS[1:]
"""Figure 1 adds experts from two to ten."""
EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            name="hatespeech",
            stored="hatespeech_increase_experts",
            data_set="hatespeech",
            x_name="n_experts",
            settings=_MORE_EXPERTS,
            pool=_first(lambda variant: hatespeech_pool(variant=variant)),
            seeds=(0, 1, 2, 3, 4),
        ),
        Experiment(
            name="ham10000",
            stored="ham10000_increase_experts",
            data_set="ham10000",
            x_name="n_experts",
            settings=FROM_TWO,
            pool=_first(lambda variant: ham10000_pool(variant=variant)),
        ),
        Experiment(
            name="galaxyzoo",
            stored="galaxyzoo_increase_experts",
            data_set="galaxyzoo",
            x_name="n_experts",
            settings=FROM_TWO,
            pool=_first(lambda variant: galaxyzoo_pool(variant=variant)),
        ),
        Experiment(
            name="sim1",
            stored="cifar10_sim1_increase_experts_prob70",
            data_set="cifar10",
            x_name="n_experts",
            settings=(1.0, 4.0, 8.0, 12.0, 16.0, 20.0),
            pool=lambda x, seed, variant: cifar10_sim1_pool(n_experts=int(x), variant=variant),
        ),
        Experiment(
            name="sim2",
            stored="cifar10_sim2_increase_confidence",
            data_set="cifar10",
            x_name="p_in",
            settings=(0.2, 0.4, 0.6, 0.8, 0.95),
            pool=lambda x, seed, variant: cifar10_sim2_pool(p_in=x, variant=variant),
        ),
        Experiment(
            name="oracles",
            stored="cifar10_oracle_nonoise_v2",
            data_set="cifar10",
            x_name="k",
            settings=(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 9.0),
            pool=_clean_oracles,
            columns=(0.0, 4.0),
            tuned=True,
        ),
        Experiment(
            name="noisy-oracles",
            stored="cifar10_oracle_withnoise",
            data_set="cifar10",
            x_name="k",
            settings=tuple(float(k) for k in range(10)),
            pool=_noisy_oracles,
            columns=(0.0, 4.0),
            tuned=True,
        ),
        Experiment(
            name="overlap",
            stored="cifar10_gradual_overlap",
            data_set="cifar10",
            x_name="p_out",
            settings=(0.1, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0),
            pool=lambda x, seed, variant: gradual_overlap_pool(overlap=x, variant=variant),
            columns=(0.2, 0.8),
            tuned=True,
        ),
    )
}
"""Every experiment by its name. With k, the number of oracles is k + 1."""
