"""Experts' heads: P(expert is right | features) each expert shrunk toward the population as their answers are few."""

from defero.heads.class_heads import ClassHeads, class_features, fit_class_heads
from defero.heads.heads import Head, Heads, fit_head, fit_heads
from defero.heads.lens import Lens
from defero.heads.prior import HeadPrior, fit_prior

__all__ = [
    "ClassHeads",
    "Head",
    "HeadPrior",
    "Heads",
    "Lens",
    "class_features",
    "fit_class_heads",
    "fit_head",
    "fit_heads",
    "fit_prior",
]
