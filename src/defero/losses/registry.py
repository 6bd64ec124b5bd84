"""The losses by name; torch is loaded with the first one that is used."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from defero.core.registry import Registry


@dataclass(frozen=True)
class Loss:
    """A surrogate loss, and what the estimators need to know of it.

    Attributes
    ----------
    function : callable
        f(class_logits (n, K), expert_logits (n, J), labels (n,), correct (n, J), *, observed=None) -> (n,), on torch
        tensors. A loss whose link has a model column takes `model_logit` (n,) as well.
    link : str
        How outputs trained with it are read: a name in `defero.scorers.links.LINKS`.
    shrinkable : bool
        Is each expert's part a logistic loss of its own, so that `heads="shrunk"` can take its place?
    """

    function: Callable[..., Any]
    link: str
    shrinkable: bool = False


LOSSES: Registry[Loss] = Registry("loss", group="defero.losses")
LOSSES.register_lazily("softmax", "defero.losses.softmax:SOFTMAX")
LOSSES.register_lazily("ova", "defero.losses.ova:OVA")
LOSSES.register_lazily("decoupled", "defero.losses.decoupled:DECOUPLED")
LOSSES.register_lazily("asymmetric", "defero.losses.asymmetric:ASYMMETRIC")
LOSSES.register_lazily("moe", "defero.losses.moe:MOE")
