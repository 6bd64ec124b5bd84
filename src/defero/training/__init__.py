"""How networks are trained: full-batch L-BFGS, mini-batch AdamW, and the loop for deep nets.

Names are loaded when they are first used.
"""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
