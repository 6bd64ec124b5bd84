"""Networks that end in class logits and expert logits."""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
