"""Surrogate losses of learning to defer, one per file: per-item values, natural logarithm, stable in log space.

All are `f(class_logits (n,K), expert_logits (n,J), labels (n,), correct (n,J), *, observed=None) -> (n,)`.
What is learned is correctness, so people, programs and language models are one kind of expert; `observed` says
which experts answered which item, and what they did not answer never touches the loss.
"""

from defero.losses.asymmetric import asymmetric_loss
from defero.losses.decoupled import decoupled_loss
from defero.losses.module import DeferralLoss
from defero.losses.moe import moe_loss
from defero.losses.ova import ova_loss
from defero.losses.softmax import softmax_loss

__all__ = ["DeferralLoss", "asymmetric_loss", "decoupled_loss", "moe_loss", "ova_loss", "softmax_loss"]
