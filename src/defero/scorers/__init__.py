"""Scorers: what turns features into `Scores`, in numpy, and can be written to a model folder and read back.

An estimator learns; what it learned is handed over as a scorer, which is served without the estimator's library.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from defero.core.errors import ModelFolderError
from defero.core.scores import Scores

PARTS, NET = "parts.skops", "net.onnx"
"""Files that a model folder can hold for a scorer: fitted parts of scikit-learn, and a net."""


@dataclass(frozen=True, eq=False)
class Packed:
    """A scorer as a model folder keeps it.

    Attributes
    ----------
    settings : mapping
        Plain values for model.json.
    arrays : mapping
        For weights.safetensors.
    files : mapping
        Whole files: `PARTS` or `NET`.
    """

    settings: Mapping[str, Any]
    arrays: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)


class Scorer(Protocol):
    """From features to scores."""

    kind: ClassVar[str]

    def score(self, features: Any) -> Scores:
        """Return the scores of n items."""
        ...

    def pack(self) -> Packed:
        """Return what a model folder keeps; the class method `unpack` builds the scorer from it."""
        ...


# Imported by name, when a folder asks for it: a network is served without scikit-learn.
_SAVED = {
    "network": ("defero.scorers.network", "NetworkScorer"),
    "deep": ("defero.nets.deep_scorer", "DeepScorer"),
    "onnx": ("defero.scorers.onnx", "OnnxScorer"),
    "team": ("defero.scorers.team", "TeamScorer"),
    "blend": ("defero.scorers.blend", "BlendScorer"),
    "trees": ("defero.scorers.trees", "TreesScorer"),
    "two-stage": ("defero.scorers.two_stage", "TwoStageScorer"),
}


def unpack_scorer(kind: str, packed: Packed) -> Scorer:
    """Build the scorer that a model folder describes."""
    if kind not in _SAVED:
        raise ModelFolderError(
            f"unknown kind of model {kind!r}; this version knows {', '.join(_SAVED)}: "
            "install the defero that wrote it, or fit again."
        )
    module, name = _SAVED[kind]
    try:
        home = importlib.import_module(module)
    except ImportError as error:
        raise ModelFolderError(
            f"this model needs a package that is not installed ({error}); pip install 'defero[train]', or "
            "have it exported to ONNX."
        ) from error
    scorer: Scorer = getattr(home, name).unpack(packed)
    return scorer
