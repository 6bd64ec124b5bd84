"""Data to learn from: WEDGE, whose best accuracy is known exactly, digits with simulated experts, public data sets."""

from defero._lazy import attach_stub
from defero.datasets.wedge import wedge as wedge  # its module has this name too: loaded at once

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
