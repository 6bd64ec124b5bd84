"""A deep net as an ONNX file, run by onnxruntime: no torch."""

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks import FloatArray
from defero.core.errors import InputError, ModelFolderError
from defero.core.scores import Scores
from defero.scorers import NET, Packed
from defero.scorers.links import scores_from_logits
from defero.scorers.onnx_file import refuse_external_tensors


@dataclass(frozen=True, eq=False)
class OnnxScorer:
    """Standardise, run the net in blocks of items, read its logits as its loss has them.

    Attributes
    ----------
    link : str
        How the logits are read: a name in `LINKS`.
    net : bytes
        The ONNX file that `export_onnx` wrote.
    center, scale : arrays that spread over one item
        Subtracted and divided by before the net sees an item: (d,) for vectors, (channels, 1, 1) for pictures with
        their channels first; 0 and 1 for a net that does it itself.
    block : int
        How many items go through the net at a time.
    """

    kind: ClassVar[str] = "onnx"
    link: str
    net: bytes
    center: FloatArray
    scale: FloatArray
    block: int = 256

    def score(self, features: NDArray[Any]) -> Scores:
        """Return the scores of n items, in the shape that the net takes."""
        return self.score_with_embedding(features)[0]

    def score_with_embedding(self, features: NDArray[Any]) -> tuple[Scores, FloatArray]:
        """Return the scores and what the net's experts read of each item, (n, f); f is 0 in a file that has none."""
        # An empty table runs a block of no rows, which tells K and J.
        starts = range(0, max(len(features), 1), self.block)
        parts = [self._run(np.asarray(features[start : start + self.block])) for start in starts]
        found = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        nothing = np.empty((len(features), 0))
        scores = scores_from_logits(
            self.link, found["classes"], found.get("experts", nothing), model_logit=found.get("model")
        )
        return scores, found.get("features", nothing)

    def pack(self) -> Packed:
        """Return what a model folder keeps."""
        settings = {"link": self.link, "block": self.block}
        return Packed(settings, {"center": self.center, "scale": self.scale}, {NET: self.net})

    @classmethod
    def unpack(cls, packed: Packed) -> "OnnxScorer":
        """Build from what `pack` returned; a net that would read other files is refused."""
        net, arrays, settings = packed.files[NET], packed.arrays, packed.settings
        refuse_external_tensors(net)
        return cls(settings["link"], net, arrays["center"], arrays["scale"], int(settings["block"]))

    def _run(self, items: NDArray[Any]) -> dict[str, FloatArray]:
        standard = np.asarray((items - self.center) / self.scale, dtype=np.float32)
        try:
            found = self._session.run(None, {"batch": standard})
        except Exception as error:  # onnxruntime has an exception of its own for each mishap
            raise InputError(
                f"features: the net cannot take items of shape {standard.shape[1:]} ({error}); "
                f"it was made for {self._session.get_inputs()[0].shape[1:]}."
            ) from error
        names = [output.name for output in self._session.get_outputs()]
        return {name: np.asarray(value, dtype=np.float64) for name, value in zip(names, found, strict=True)}

    @cached_property
    def _session(self) -> Any:
        try:
            runtime = importlib.import_module("onnxruntime")
        except ImportError as error:
            raise InputError(f"this model needs onnxruntime ({error}); pip install 'defero[onnx]'.") from error
        try:
            return runtime.InferenceSession(self.net, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ModelFolderError(f"{NET}: onnxruntime cannot read it ({error}); export or fit again.") from error
