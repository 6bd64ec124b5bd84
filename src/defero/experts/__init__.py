"""Simulated experts, one law per file: labels (n,) in, answers (n,) out, randomness only through `rng`.

The paper's own pools are named pools: `POOLS`, each `as_written` and `as_published`.
"""

from defero.experts.annotator_flip import annotator_flip
from defero.experts.annotator_mixture import annotator_mixture
from defero.experts.annotator_pools import galaxyzoo_pool, hatespeech_pool
from defero.experts.cifar10_pools import cifar10_sim1_pool, cifar10_sim2_pool, gradual_overlap_pool
from defero.experts.ham10000_pool import HAM10000_CLASSES, ham10000_pool
from defero.experts.human_labels import STAND_IN_ACCURACY, draw_human, stand_in_human
from defero.experts.named_pool import ExpertPool, PoolExpert, Variant
from defero.experts.oracle import oracle
from defero.experts.oracle_pools import noiseless_oracle_pool, oracle_pool
from defero.experts.pool import Law, simulate_pool
from defero.experts.registry import POOLS
from defero.experts.specialist import specialist
from defero.experts.uniform import uniform_guess

__all__ = [
    "HAM10000_CLASSES",
    "POOLS",
    "STAND_IN_ACCURACY",
    "ExpertPool",
    "Law",
    "PoolExpert",
    "Variant",
    "annotator_flip",
    "annotator_mixture",
    "cifar10_sim1_pool",
    "cifar10_sim2_pool",
    "draw_human",
    "galaxyzoo_pool",
    "gradual_overlap_pool",
    "ham10000_pool",
    "hatespeech_pool",
    "noiseless_oracle_pool",
    "oracle",
    "oracle_pool",
    "simulate_pool",
    "specialist",
    "stand_in_human",
    "uniform_guess",
]
