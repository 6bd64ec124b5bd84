"""Experts of whom only scores and prices are known: language models, programs and people, with no classes."""

from defero.pools.judge import CorrectedMean, Judge

__all__ = ["CorrectedMean", "Judge"]
