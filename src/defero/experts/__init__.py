"""Simulated experts, one law per file: labels (n,) in, answers (n,) out, randomness only through `rng`."""

from defero.experts.annotator_flip import annotator_flip
from defero.experts.annotator_mixture import annotator_mixture
from defero.experts.oracle import oracle
from defero.experts.pool import Law, simulate_pool
from defero.experts.specialist import specialist
from defero.experts.uniform import uniform_guess

__all__ = [
    "Law",
    "annotator_flip",
    "annotator_mixture",
    "oracle",
    "simulate_pool",
    "specialist",
    "uniform_guess",
]
