"""How good is the team? Pure functions on arrays; wherever a choice of experts is asked for, a Decision will do."""

from defero._lazy import attach_stub
from defero.judge.shared_errors import shared_errors as shared_errors  # its module has this name too: loaded at once

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
