"""Simulated experts: labels in, answers out, randomness only through `rng`."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
