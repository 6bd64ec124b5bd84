"""Displays of a team on held-out cases, in the style of scikit-learn's: each draws on Axes and stores its numbers."""

from importlib import import_module

from defero._lazy import attach_stub

try:
    import_module("matplotlib")
except ImportError as error:
    raise ImportError("pictures need matplotlib: pip install 'defero[report]'") from error

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
