"""A deep net as an ONNX file, run by onnxruntime: no torch.

A tensor of an ONNX file can name another file for its numbers, and onnxruntime then reads it from the working folder.
Nets that this package writes hold all their numbers themselves, so files with external tensors are refused.
"""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Within
from defero.core.errors import InputError, ModelFolderError
from defero.core.scores import Scores
from defero.scorers import NET
from defero.scorers.network import scores_from_logits


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
    net: bytes = field(metadata={"file": NET})
    center: FloatArray
    scale: FloatArray
    block: Annotated[int, Within(1, 1 << 20)] = 256

    def __post_init__(self) -> None:
        refuse_external_tensors(self.net)

    def score(self, features: NDArray[Any]) -> Scores:
        """Return the scores of n items, in the shape that the net takes."""
        return self.score_with_embedding(features)[0]

    def score_with_embedding(self, features: NDArray[Any]) -> tuple[Scores, FloatArray]:
        """Return the scores and the features (n, f) that the net's experts read; f is 0 in a file without them."""
        # An empty table runs a block of no rows, so that K and J are known.
        starts = range(0, max(len(features), 1), self.block)
        parts = [self._run(np.asarray(features[start : start + self.block])) for start in starts]
        outputs = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        nothing = np.empty((len(features), 0))
        scores = scores_from_logits(
            self.link, outputs["classes"], outputs.get("experts", nothing), model_logit=outputs.get("model")
        )
        return scores, outputs.get("features", nothing)

    def _run(self, items: NDArray[Any]) -> dict[str, FloatArray]:
        standard = np.asarray((items - self.center) / self.scale, dtype=np.float32)
        try:
            outputs = self._session.run(None, {"batch": standard})
        except Exception as error:  # onnxruntime has an exception of its own for each mishap
            raise InputError(
                f"must be items of shape {self._session.get_inputs()[0].shape[1:]}, "
                f"got {standard.shape[1:]} ({error}).",
                argument="features",
            ) from error
        names = [output.name for output in self._session.get_outputs()]
        return {name: np.asarray(value, dtype=np.float64) for name, value in zip(names, outputs, strict=True)}

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


# Which fields of which message hold messages of which kind: the parts of onnx.proto through which tensors are reached.
_INSIDE = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
_EXTERNAL_DATA, _DATA_LOCATION = 13, 14
_VARINT, _EIGHT_BYTES, _MESSAGE, _FOUR_BYTES = 0, 1, 2, 5


def refuse_external_tensors(content: bytes) -> None:
    """Raise where a net would read another file, or is no ONNX file.

    >>> refuse_external_tensors(b"no net")
    Traceback (most recent call last):
    defero.core.errors.ModelFolderError: net.onnx: is no ONNX file; export or fit again.
    """
    if content[4:8] == b"ORTM":  # onnxruntime's own format, which it reads without checking
        raise _no_onnx()
    waiting = [("model", 0, len(content))]
    while waiting:
        kind, start, stop = waiting.pop()
        for number, wire, first, last in _fields(content, start, stop):
            if kind == "tensor" and number in (_EXTERNAL_DATA, _DATA_LOCATION) and (wire != _VARINT or first):
                raise ModelFolderError(f"{NET}: has tensors in another file, which is not read; export or fit again.")
            inner = _INSIDE[kind].get(number)
            if inner is not None:
                if wire != _MESSAGE:
                    raise _no_onnx()
                waiting.append((inner, first, last))


def _fields(content: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Return number, wire type and place of each field of a message; of a number its value, twice."""
    at = start
    while at < stop:
        tag, at = _varint(content, at, stop)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(content, at, stop)
            yield number, wire, value, value
            continue
        if wire == _MESSAGE:
            length, at = _varint(content, at, stop)
        elif wire in (_EIGHT_BYTES, _FOUR_BYTES):
            length = 8 if wire == _EIGHT_BYTES else 4
        else:
            raise _no_onnx()
        if number == 0 or length > stop - at:
            raise _no_onnx()
        yield number, wire, at, at + length
        at += length


def _varint(content: bytes, at: int, stop: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at >= stop:
            raise _no_onnx()
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value, at
    raise _no_onnx()


def _no_onnx() -> ModelFolderError:
    return ModelFolderError(f"{NET}: is no ONNX file; export or fit again.")
