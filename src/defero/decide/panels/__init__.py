"""Which experts to ask so that a promise holds: sets of experts with a finite-sample guarantee. numpy alone."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
