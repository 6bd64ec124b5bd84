"""Read numpy arrays out of a pickle without running anything that the pickle names.

CIFAR-10's own batches and object arrays in npy files are pickles. This reader knows dictionaries, lists, text,
numbers, and the words with which numpy spells an array. It never imports a name from the file: each of those words
stands for a small record of ours, and only a record whose parts fit together becomes an array.
"""

import io
import pickle
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np

from defero.core.errors import InputError

_CODE = re.compile(r"[biufOSU]\d{0,9}|\?")


class _KindOfArray:
    """What the pickle calls numpy.ndarray."""


class _DTypeRecord:
    """numpy.dtype(code), and the byte order that the pickle sets afterwards."""

    def __init__(self, code: object, *_: object) -> None:
        self.code, self.order = _text(code), "|"

    def __setstate__(self, state: Any) -> None:
        self.order = _text(state[1])

    def dtype(self) -> np.dtype[Any]:
        if not _CODE.fullmatch(self.code) or self.order not in "<>|=":
            raise pickle.UnpicklingError(f"a dtype {self.order}{self.code}")
        return np.dtype(self.order + self.code)


class _ArrayRecord:
    """An array's shape, dtype, order and bytes, as its pickle sets them."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> np.ndarray[Any, Any]:
        _, shape, kind, fortran, content = self.state
        if not isinstance(kind, _DTypeRecord) or not isinstance(content, bytes | list):
            raise pickle.UnpicklingError("an array without a dtype or bytes")
        if not isinstance(shape, tuple) or not all(isinstance(side, int) and side >= 0 for side in shape):
            raise pickle.UnpicklingError("an array without a shape")
        order: Literal["F", "C"] = "F" if fortran else "C"
        if isinstance(content, list):
            cells = np.empty(len(content), dtype=object)
            cells[:] = [_plain(one) for one in content]
            return cells.reshape(shape, order=order)
        return np.frombuffer(content, dtype=kind.dtype()).reshape(shape, order=order)


def _latin_bytes(text: str, encoding: object = "latin1") -> bytes:
    if _text(encoding) not in {"latin1", "latin-1"}:
        raise pickle.UnpicklingError(f"bytes in {_text(encoding)}")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Return empty bytes, which protocol 2 writes as bytes()."""
    return b""


_WORDS = {
    ("__builtin__", "bytes"): _no_bytes,
    ("builtins", "bytes"): _no_bytes,
    ("numpy", "ndarray"): _KindOfArray,
    ("numpy", "dtype"): _DTypeRecord,
    ("numpy.core.multiarray", "_reconstruct"): _ArrayRecord,
    ("numpy._core.multiarray", "_reconstruct"): _ArrayRecord,
    ("_codecs", "encode"): _latin_bytes,
}


class _RestrictedUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _WORDS:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _WORDS[module, name]

    def persistent_load(self, _: object) -> Any:
        raise pickle.UnpicklingError("a reference to something outside")


def read_pickle(content: bytes, *, name: str) -> Any:
    """Read dictionaries, lists, numbers, text and numpy arrays; Python 2's text comes as bytes.

    Parameters
    ----------
    content : bytes
    name : str
        For the message where it holds anything else.

    >>> import pickle
    >>> read_pickle(pickle.dumps({"labels": [1, 2]}), name="batch")
    {'labels': [1, 2]}
    """
    try:
        return _plain(_RestrictedUnpickler(io.BytesIO(content), encoding="bytes").load())
    except Exception as error:  # a hostile pickle may raise anything, and all of it means the same
        raise InputError(
            f"must be a pickle of plain arrays, lists and text, and holds something else ({error}); it is not read.",
            argument=name,
        ) from error


def read_object_npy(path: Path) -> Any:
    """Read the one object that `numpy.save` put into an npy file, such as a dictionary of arrays."""
    with path.open("rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
        except ValueError as error:
            raise InputError(f"{path} must be an npy file ({error}).") from error
        if shape != () or dtype != np.dtype(object):
            raise InputError(f"{path} must hold one object, got {dtype} of shape {shape}.")
        stored = read_pickle(file.read(), name=str(path))
    if not isinstance(stored, np.ndarray) or stored.shape != ():
        size = f" of shape {stored.shape}" if isinstance(stored, np.ndarray) else ""
        raise InputError(
            f"{path} must hold one object as numpy.save writes it, an array of shape (), got {type(stored).__name__}"
            f"{size}; it is damaged or made by hand: get it again."
        )
    return stored.item()


def _plain(value: Any) -> Any:
    """Turn records into arrays, wherever they are; anything that is none of the plain kinds is refused."""
    if isinstance(value, _ArrayRecord):
        return value.array()
    if isinstance(value, dict):
        return {_plain(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(one) for one in value)
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return value
    raise pickle.UnpicklingError(f"a {type(value).__name__}")


def _text(value: object) -> str:
    return value.decode("latin1") if isinstance(value, bytes) else str(value)
