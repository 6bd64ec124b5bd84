"""Look into an ONNX file without the onnx package: does it read other files?

A tensor can say that its numbers lie in another file, and onnxruntime then reads that file from the working folder.
Nets that this package writes hold all their numbers themselves.
"""

from collections.abc import Iterator

from defero.core.errors import ModelFolderError
from defero.scorers import NET

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
