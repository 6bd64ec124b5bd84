"""The losses by name; torch is loaded with the first one that is used."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from defero.core.errors import InputError
from defero.core.registry import Registry

EXPECTED = "f(class_logits, expert_logits, labels, correct, *, observed=None)"


@dataclass(frozen=True)
class Loss:
    """A surrogate loss, and what the estimators need to know of it.

    Attributes
    ----------
    function : callable
        f(class_logits (n, K), expert_logits (n, J), labels (n,), correct (n, J), *, observed=None) -> (n,), on torch
        tensors. A loss whose link has a model column takes `model_logit` (n,) as well.
    link : str
        How outputs trained with it are read: a name in `defero.scorers.network.LINKS`.
    separable : bool
        Is it a sum of a loss of the classes and of one for each expert? A network is then chosen by the first.
    """

    function: Callable[..., Any]
    link: str
    separable: bool = False

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"must be a function {EXPECTED}, got {self.function!r}.", argument="function")
        try:
            signature = inspect.signature(self.function)
        except ValueError:  # some callables of C do not tell what they take
            return
        if not any(_takes(signature, **more) for more in ({}, {"model_logit": None})):
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise InputError(
                f"must be callable as {EXPECTED}, got {name}{signature}; `observed` says who answered which item.",
                argument="function",
            )


def _takes(signature: inspect.Signature, **more: None) -> bool:
    try:
        signature.bind(*"gmyc", observed=None, **more)
    except TypeError:
        return False
    return True


LOSSES: Registry[Loss] = Registry("loss", group="defero.losses", kind=Loss)
LOSSES.register_lazily("softmax", "defero.losses.softmax:SOFTMAX")
LOSSES.register_lazily("ova", "defero.losses.ova:OVA")
LOSSES.register_lazily("decoupled", "defero.losses.decoupled:DECOUPLED")
LOSSES.register_lazily("asymmetric", "defero.losses.asymmetric:ASYMMETRIC")
LOSSES.register_lazily("moe", "defero.losses.moe:MOE")
