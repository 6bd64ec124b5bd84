"""Simulated experts: labels (n,) in, answers (n,) out, randomness only through `rng`."""

from defero.experts.annotators import annotator_flip, annotator_mixture, draw_human
from defero.experts.pool import Law, simulate_pool
from defero.experts.specialists import oracle, specialist, uniform_guess

__all__ = [
    "Law",
    "annotator_flip",
    "annotator_mixture",
    "draw_human",
    "oracle",
    "simulate_pool",
    "specialist",
    "uniform_guess",
]
