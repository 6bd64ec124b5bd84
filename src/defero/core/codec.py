"""One codec: a value of nested dataclasses as plain values for JSON and named arrays, and back by its types alone.

The types of the fields are the schema; nothing is written a second time. What comes back may be from anybody: every
number, text, list and array is checked before anything is built from it, counts against the bytes that are there. What
else must hold of a value it checks itself when it is built.
"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from defero.core.errors import ModelFolderError
from defero.core.labels import Labels, find_classes

Built = TypeVar("Built")
MOST_DEPTH = 20
MOST_INTEGER = 1 << 53
_LEAST_BYTES = 1 << 16
"""Even the smallest folder may speak of so many columns."""
_LARGEST = sys.float_info.max
_LONGEST_REASON = 400


@dataclass(frozen=True)
class Within:
    """What a number, each number of an array, or the length of a list may be.

    Attributes
    ----------
    low, high : float
    finite : bool
        Whether NaN and infinity are refused.
    by_bytes : bool
        Whether it is a width or a count, which cannot be larger than the bytes of the folder.
    """

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True
    by_bytes: bool = False


_ANY = Within()
Count = Annotated[int, Within(0, by_bytes=True)]
Place = Annotated[int, Within(-1, by_bytes=True)]
Share = Annotated[float, Within(0, 1)]
AnyFloat = Annotated[float, Within(finite=False)]


@dataclass(frozen=True, eq=False)
class Packed:
    """What a folder keeps of a value.

    Attributes
    ----------
    manifest : dict
        Plain values for JSON; in place of an array its type and shape.
    arrays : dict
        The arrays by their place, such as scorer.parts[0].weights.
    files : dict
        The bytes of other files, by name.
    """

    manifest: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)


def pack(value: Any) -> Packed:
    """Return what a folder keeps of a dataclass; `unpack` gives back the same value.

    A field's metadata say `saved: False` where it is left out, and `file: name` where its bytes are a file of their
    own. A class with a class variable `kind` keeps that name beside its fields: it tells the classes of a union apart,
    which is written `A | B`, or `Annotated[Protocol, {kind: class}]`. A class that keeps another form of itself has the
    method `to_saved`, whose annotation says what it returns, and the class method `from_saved`.

    Examples
    --------
    >>> @dataclass(frozen=True, eq=False)
    ... class Line:
    ...     slope: NDArray[np.float64]
    ...     n_items: Count
    >>> packed = pack(Line(np.array([0.5]), 30))
    >>> packed.manifest, packed.arrays
    ({'slope': 'float64 (1,)', 'n_items': 30}, {'slope': array([0.5])})
    >>> unpack(Line, packed).slope
    array([0.5])
    >>> unpack(Line, Packed({**packed.manifest, "n_items": True}, packed.arrays))
    Traceback (most recent call last):
    defero.core.errors.ModelFolderError: model.json: n_items must be a whole number from 0 to ..., got True; ...
    """
    packed = Packed()
    packed.manifest.update(_dump(value, "", packed))
    return packed


def unpack(kind: type[Built], packed: Packed, *, place: str = "") -> Built:
    """Build a value of a class from what `pack` returned; raise `ModelFolderError` at the first thing that is odd."""
    source = _Unread(packed)
    value = cast("Built", _load(kind, packed.manifest, place, source))
    strangers = [*source.arrays, *source.files]
    if strangers:
        raise ModelFolderError(f"model.json: names no {strangers[0]!r:.80}, which is there; {_REMEDY}")
    return value


def _dump(value: Any, place: str, packed: Packed) -> Any:
    """Return a plain value; arrays and files go into `packed`."""
    if type(value) in (str, bool, int, NoneType) or (type(value) is float and math.isfinite(value)):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OU":
        if place in packed.arrays:
            raise ModelFolderError(f"save: two arrays would be called {place}.")
        packed.arrays[place] = value
        return f"{value.dtype} {value.shape}"
    if isinstance(value, np.ndarray | np.generic):
        return _dump(value.tolist(), place, packed)
    if hasattr(value, "to_saved"):
        plain = _dump(value.to_saved(), place, packed)
        return {"kind": value.kind, **plain} if hasattr(value, "kind") else plain
    if is_dataclass(value):
        own: Any = type(value)
        plain = {"kind": own.kind} if hasattr(own, "kind") else {}
        for name, file in _saved_fields(own).items():
            one = getattr(value, name)
            if file is not None:
                packed.files[file] = one
            plain[name] = _dump(one, _inside(place, name), packed) if file is None else file
        return plain
    if isinstance(value, Mapping):
        return {str(name): _dump(one, _inside(place, name), packed) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_dump(one, f"{place}[{at}]", packed) for at, one in enumerate(value)]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, str | int):
        return value
    raise TypeError(f"save: {place}: no value of the type {type(value).__name__} can be saved")


class _Unread:
    """What has not been read yet, and a bound on how much there was."""

    def __init__(self, packed: Packed) -> None:
        self.arrays, self.files = dict(packed.arrays), dict(packed.files)
        n_bytes = sum(array.nbytes for array in self.arrays.values()) + sum(map(len, self.files.values()))
        self.n_bytes = n_bytes + len(str(packed.manifest)) + _LEAST_BYTES


@cache
def _saved_fields(kind: type) -> dict[str, str | None]:
    """Return the fields that are saved, and the name of the file of those that are one."""
    saved = [one for one in fields(kind) if one.init and one.metadata.get("saved", True)]
    return {one.name: one.metadata.get("file") for one in saved}


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _load(kind: Any, plain: Any, place: str, source: _Unread, within: Within = _ANY) -> Any:
    """Return the value of a type that a plain value stands for, checked."""
    if kind is float or kind is int:
        return _load_number(kind, plain, place, source, within)
    if kind is str or kind is bool or kind is NoneType:
        if type(plain) is not kind:
            raise wrong(place, _WORDS[kind], plain)
        return plain
    if kind is Any:
        return _load_plain(plain, place)
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        if isinstance(args[1], Mapping):
            return _load_one_of(args[1], plain, place, source)
        return _load(args[0], plain, place, source, args[1])
    if origin in (Union, UnionType):
        return _load_union(args, plain, place, source)
    if origin is Literal:
        if plain not in args:
            raise wrong(place, f"one of {', '.join(args)}", plain)
        return plain
    if origin in (tuple, Sequence):
        return _load_list(args, plain, place, source, within)
    if origin is np.ndarray:
        return _load_array(get_args(args[1])[0], plain, place, source, within)
    if hasattr(kind, "to_saved"):
        form = _load(_types(kind.to_saved)["return"], _of_kind(kind, plain, place), place, source)
        return _built(lambda: kind.from_saved(form), place)
    if not isinstance(plain, dict):
        raise wrong(place or "it", "an object with named entries", plain)
    if origin in (Mapping, dict):
        return {name: _load(args[1], one, _inside(place, name), source) for name, one in plain.items()}
    return _load_object(kind, plain, place, source)


def _load_object(kind: Any, plain: dict[str, Any], place: str, source: _Unread) -> Any:
    """Return a dataclass from its fields."""
    plain, saved, values = _of_kind(kind, plain, place), _saved_fields(kind), {}
    for name in plain.keys() - saved.keys():
        raise ModelFolderError(f"model.json: {_inside(place, name):.160} is unknown; {_REMEDY}")
    for name, file in saved.items():
        inner = _inside(place, name)
        if name not in plain:
            raise ModelFolderError(f"model.json: {inner} is missing; {_REMEDY}")
        if file is None:
            values[name] = _load(_types(kind)[name], plain[name], inner, source)
        elif plain[name] == file and file in source.files:
            values[name] = source.files.pop(file)
        else:
            raise wrong(inner, f"{file}, and that file be there", plain[name])
    return _built(lambda: kind(**values), place)


def _of_kind(kind: Any, plain: Any, place: str) -> Any:
    """Return what is kept beside the kind of a class, if it has one."""
    if not hasattr(kind, "kind") or not isinstance(plain, dict):
        return plain
    if plain.get("kind") != kind.kind:
        raise wrong(_inside(place, "kind"), kind.kind, plain.get("kind"))
    return {name: one for name, one in plain.items() if name != "kind"}


def _load_one_of(kinds: Mapping[str, Any], plain: Any, place: str, source: _Unread) -> Any:
    """Return a value of one of several classes, by the name of its kind."""
    if not isinstance(plain, dict):
        raise wrong(place, "an object with named entries", plain)
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise wrong(f"{place}.kind", f"one of {', '.join(kinds)}", kind)
    return _load(kinds[kind], plain, place, source)


def _load_union(kinds: Sequence[Any], plain: Any, place: str, source: _Unread) -> Any:
    """Return null, a value of a class by its kind, or one of the first type that fits."""
    some = [kind for kind in kinds if kind is not NoneType]
    if plain is None and len(some) < len(kinds):
        return None
    if len(some) == 1:
        return _load(some[0], plain, place, source)
    if all(is_dataclass(kind) for kind in some):
        return _load_one_of({kind.kind: kind for kind in some}, plain, place, source)
    expected = []
    for kind in some:
        try:
            return _load(kind, plain, place, source)
        except ModelFolderError:
            plain_kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
            expected.append(_WORDS.get(plain_kind, "an object"))
    raise wrong(place, " or ".join(dict.fromkeys(expected)), plain)


def _load_list(args: Sequence[Any], plain: Any, place: str, source: _Unread, within: Within) -> tuple[Any, ...]:
    """Return a tuple of any length, or one whose entries have types of their own."""
    if not isinstance(plain, list | tuple):
        raise wrong(place, "a list", plain)
    kinds = [args[0]] * len(plain) if args[-1] is Ellipsis or len(args) == 1 else args
    if len(plain) != len(kinds):
        raise wrong(place, f"a list of {len(kinds)} entries", plain)
    if not within.low <= len(plain) <= within.high:
        raise wrong(place, f"a list of {within.low:g} entries or more, at most {within.high:g}", plain)
    pairs = zip(kinds, plain, strict=True)
    return tuple([_load(kind, one, f"{place}[{at}]", source) for at, (kind, one) in enumerate(pairs)])


def _load_number(kind: type, plain: Any, place: str, source: _Unread, within: Within) -> Any:
    """Return a whole number or a float; one that is not finite is a text, where there may be such."""
    low, high = within.low, within.high
    if kind is int:
        low, high = max(low, -MOST_INTEGER), min(high, source.n_bytes if within.by_bytes else MOST_INTEGER)
    elif not within.finite and isinstance(plain, str) and plain in ("nan", "inf", "-inf"):
        return float(plain)
    if type(plain) not in (int, kind) or not abs(plain) <= _LARGEST or not low <= plain <= high:
        expected = "a whole number" if kind is int else "a number"
        limits = "" if math.isinf(low) else f" from {low:g}" + ("" if math.isinf(high) else f" to {high:g}")
        raise wrong(place, expected + limits, plain)
    return kind(plain)


def _load_array(scalar: Any, plain: Any, place: str, source: _Unread, within: Within) -> NDArray[Any]:
    """Return an array of a type; its place is its name. Of labels that are texts there is a list."""
    if scalar is np.generic and isinstance(plain, list):
        return _load_labels(plain, place, source)
    array = source.arrays.pop(place, None)
    if array is None or plain != f"{array.dtype} {array.shape}":
        raise wrong(place, "the type and the shape of its array", plain)
    if scalar in (Any, np.generic):
        fits = array.dtype.kind in "biuf"
    else:
        fits = np.can_cast(array.dtype, scalar, casting="safe")
    if not fits:
        raise wrong(place, "an array of numbers" if scalar is Any else f"an array of {np.dtype(scalar)}", plain)
    if array.dtype.kind == "b":
        fits = bool((array.view(np.uint8) <= 1).all())
    elif within.finite and array.dtype.kind == "f":
        fits = bool(np.isfinite(array).all())
    if not fits or (array.size and not (math.isinf(within.low) or within.low <= array.min())):
        raise wrong(place, "numbers that are finite and in their range", "others")
    if array.size and not (math.isinf(within.high) or array.max() <= within.high):
        raise wrong(place, "numbers that are finite and in their range", "others")
    if scalar is np.generic:
        return cast("NDArray[Any]", _built(lambda: find_classes(array, name=place), place))
    return array if scalar is Any else array.astype(scalar, copy=False)


def _load_labels(plain: list[Any], place: str, source: _Unread) -> Labels:
    if not plain:
        return np.empty(0, dtype=object)
    entries = _load_list((str | bool | int | float, ...), plain, place, source, Within(1))
    return cast("Labels", _built(lambda: find_classes(list(entries), name=place), place))


def _load_plain(plain: Any, place: str) -> Any:
    """Return a plain value of any type: its numbers are finite, and it is nested to a bounded depth."""
    waiting = [(plain, 0)]
    while waiting:
        one, depth = waiting.pop()
        if depth > MOST_DEPTH:
            raise wrong(place, f"nested at most {MOST_DEPTH} deep", "more")
        if isinstance(one, dict | list):
            waiting.extend((inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one))
        elif type(one) in (int, float) and not abs(one) <= _LARGEST:
            raise wrong(place, "finite numbers", one)
    return plain


def _built(build: Callable[[], Any], place: str) -> Any:
    """Build a value from checked parts; what it refuses itself is damage here."""
    try:
        return build()
    except ModelFolderError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}".replace("\n", " ")[:_LONGEST_REASON]
        raise ModelFolderError(f"model.json: {place or 'it'} is damaged ({why}); {_REMEDY}") from error


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


_WORDS: dict[Any, str] = {str: "a text", bool: "true or false", NoneType: "null", int: "a number", float: "a number"}
_REMEDY = "fit again or restore it."


def wrong(place: str, expected: str, value: object) -> ModelFolderError:
    """Return the error for a value that is not as expected."""
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return ModelFolderError(f"model.json: {place:.160} must be {expected}, got {text}; {_REMEDY}")
