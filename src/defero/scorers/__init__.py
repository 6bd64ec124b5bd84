"""Scorers: what turns features into `Scores`, in numpy, and can be written to a model folder and read back.

An estimator learns; what it learned is handed over as a scorer, which is served without the estimator's library.
"""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol

from defero.core.checks import FloatArray
from defero.core.errors import ModelFolderError
from defero.core.scores import Scores


class Scorer(Protocol):
    """From features to scores."""

    kind: ClassVar[str]

    def score(self, features: Any) -> Scores:
        """Return the scores of n items."""
        ...

    def pack(self, folder: Path) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        """Return settings for model.json and arrays for the weights; write anything else into the folder."""
        ...


# Imported by name, when a folder asks for it: a network is served without scikit-learn.
_SAVED = {
    "network": ("defero.scorers.network", "NetworkScorer"),
    "deep": ("defero.nets.deep_scorer", "DeepScorer"),
    "onnx": ("defero.scorers.onnx", "OnnxScorer"),
    "team": ("defero.scorers.team", "TeamScorer"),
    "two-stage": ("defero.scorers.two_stage", "TwoStageScorer"),
}


def unpack_scorer(folder: Path, kind: str, settings: Mapping[str, Any], arrays: Mapping[str, FloatArray]) -> Scorer:
    """Build the scorer that a model folder describes."""
    if kind not in _SAVED:
        raise ModelFolderError(
            f"{folder}: unknown kind of model {kind!r}; this version knows {', '.join(_SAVED)}: "
            "install the defero that wrote it, or fit again."
        )
    module, name = _SAVED[kind]
    try:
        home = importlib.import_module(module)
    except ImportError as error:
        raise ModelFolderError(
            f"{folder}: this model needs a package that is not installed ({error}); pip install 'defero[train]', or "
            "have it exported to ONNX."
        ) from error
    scorer: Scorer = getattr(home, name).unpack(folder, settings, arrays)
    return scorer
