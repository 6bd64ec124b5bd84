"""Surrogate losses of learning to defer, one per file: per-item values, natural logarithm, stable in log space.

All are `f(class_logits (n,K), expert_logits (n,J), labels (n,), correct (n,J), *, observed=None) -> (n,)`.
What is learned is correctness, so people, programs and language models are one kind of expert; `observed` says
which experts answered which item, and what they did not answer never touches the loss.

`scores_from_logits` reads a trained network's outputs the way its loss was minimised. It and the names in `LOSSES`
need numpy alone; the losses, which need torch, are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from defero.losses.registry import LOSSES, Loss
from defero.scorers.links import LINKS, LogitLink, scores_from_logits

if TYPE_CHECKING:
    from defero.losses.asymmetric import asymmetric_loss
    from defero.losses.decoupled import decoupled_loss
    from defero.losses.module import DeferralLoss
    from defero.losses.moe import moe_loss
    from defero.losses.ova import ova_loss
    from defero.losses.softmax import softmax_loss

__all__ = [
    "LINKS",
    "LOSSES",
    "DeferralLoss",
    "LogitLink",
    "Loss",
    "asymmetric_loss",
    "decoupled_loss",
    "moe_loss",
    "ova_loss",
    "scores_from_logits",
    "softmax_loss",
]

_HOMES = {
    "DeferralLoss": "module",
    "asymmetric_loss": "asymmetric",
    "decoupled_loss": "decoupled",
    "moe_loss": "moe",
    "ova_loss": "ova",
    "softmax_loss": "softmax",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
