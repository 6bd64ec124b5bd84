"""Experts of whom only scores and prices are known: language models, programs and people, with no classes."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
