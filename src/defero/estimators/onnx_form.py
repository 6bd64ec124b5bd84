"""A model whose deep net is an ONNX file: it is served without torch."""

from dataclasses import replace

from defero.core.errors import InputError
from defero.scorers import Scorer
from defero.scorers.team import TeamScorer


def as_onnx(scorer: Scorer) -> Scorer:
    """Return a scorer on an ONNX file in place of one on a deep net; others are refused."""
    if isinstance(scorer, TeamScorer):
        return replace(scorer, base=as_onnx(scorer.base))
    if scorer.kind == "onnx":
        return scorer
    export = getattr(scorer, "to_onnx", None)
    if export is None:
        raise InputError(f"export_onnx is for deep nets, got a model of kind {scorer.kind!r}; its save needs no torch.")
    exported: Scorer = export()
    return exported
