"""Networks that end in class logits and expert logits."""

from defero.nets.dense import DenseNet, Logits

__all__ = ["DenseNet", "Logits"]
