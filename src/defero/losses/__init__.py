"""Surrogate losses of learning to defer, one per file: per-item values, natural logarithm, stable in log space.

All are `f(class_logits (n,K), expert_logits (n,J), labels (n,), correct (n,J), *, observed=None) -> (n,)`.
What is learned is correctness, so people, programs and language models are one kind of expert; `observed` says
which experts answered which item, and what they did not answer never touches the loss.

`scores_from_logits` reads a trained network's outputs the way its loss was minimised. It and the names in `LOSSES`
need numpy alone; the losses, which need torch, are loaded when they are first used.
"""

from defero._lazy import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
