"""Who decides: rules that turn `Scores` into a `Decision`, and the next step of a case. Fees enter here, not in fit."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
