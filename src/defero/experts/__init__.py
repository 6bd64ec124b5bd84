"""Simulated experts: labels in, answers out, randomness only through `rng`."""

from defero.experts.annotators import annotator_flip, annotator_mixture, draw_human
from defero.experts.pool import Law, simulate_pool
from defero.experts.specialists import oracle, specialist, uniform_guess
from defero.experts.team import SimulatedTeam, simulate_team

__all__ = [
    "Law",
    "SimulatedTeam",
    "annotator_flip",
    "annotator_mixture",
    "draw_human",
    "oracle",
    "simulate_pool",
    "simulate_team",
    "specialist",
    "uniform_guess",
]
