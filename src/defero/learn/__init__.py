"""Learning a team of a table: the classes, everybody's skill by class, and the law of their answers."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
