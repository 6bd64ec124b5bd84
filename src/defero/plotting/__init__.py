"""Displays of a team on held-out cases, in the style of scikit-learn's: each draws on Axes and stores its numbers."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
