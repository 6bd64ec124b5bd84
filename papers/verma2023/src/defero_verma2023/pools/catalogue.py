"""The paper's pools by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.cifar10 import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.oracles import oracle_pool
from defero_verma2023.pools.pool import ExpertPool

# Each maker takes `variant` and what its experiment varies; its docstring tells the variants apart.
POOLS: Mapping[str, Callable[..., ExpertPool]] = MappingProxyType(
    {
        "hatespeech": hatespeech_pool,
        "galaxyzoo": galaxyzoo_pool,
        "ham10000": ham10000_pool,
        "cifar10_sim1": cifar10_sim1_pool,
        "cifar10_sim2": cifar10_sim2_pool,
        "oracles": oracle_pool,
        "gradual_overlap": gradual_overlap_pool,
    }
)
