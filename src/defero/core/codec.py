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
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Protocol,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

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
class Limits:
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


@dataclass(frozen=True)
class FileOf:
    """Marks bytes that are a file of their own in the folder."""

    name: str


@dataclass(frozen=True, eq=False)
class OneOf:
    """Marks a value of one of several classes, which `kind` tells apart: what each name stands for."""

    kinds: Mapping[str, Any]


Count = Annotated[int, Limits(0, by_bytes=True)]
Place = Annotated[int, Limits(-1, by_bytes=True)]
Share = Annotated[float, Limits(0, 1)]
AnyFloat = Annotated[float, Limits(finite=False)]


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

    def n_bytes(self) -> int:
        """Return a bound on how much was written, for widths and counts."""
        arrays = sum(array.nbytes for array in self.arrays.values())
        return arrays + sum(map(len, self.files.values())) + len(str(self.manifest)) + _LEAST_BYTES


def pack(value: Any) -> Packed:
    """Return what a folder keeps of a dataclass; `unpack` gives back the same value.

    Fields whose metadata say `saved: False` are left out. A class that is no dataclass, or keeps another form, has the
    methods `to_saved`, whose annotation says what it returns, and the class method `from_saved`.

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
    kind: Any = type(value)
    packed = Packed()
    packed.manifest.update(_coder(kind).dump(value, "", packed))
    return packed


def unpack(kind: type[Built], packed: Packed) -> Built:
    """Build a value of a class from what `pack` returned; raise `ModelFolderError` at the first thing that is odd."""
    source = _Source(dict(packed.arrays), dict(packed.files), packed.n_bytes())
    value: Built = _coder(cast(Any, kind)).load(packed.manifest, "", source)
    strangers = [*source.arrays, *source.files]
    if strangers:
        raise ModelFolderError(f"model.json: names no {strangers[0]!r:.80}, which is there; fit again or restore it.")
    return value


@dataclass(eq=False)
class _Source:
    """What has not been read yet, and how much there was."""

    arrays: dict[str, NDArray[Any]]
    files: dict[str, bytes]
    n_bytes: int


class _Coder(Protocol):
    """Turns values of one type into plain ones, and back."""

    @property
    def expected(self) -> str:
        """What a plain value must be."""
        ...

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        """Return the plain value; arrays and files go into `packed`."""

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        """Return the value, checked."""


@dataclass(frozen=True)
class _Exactly:
    """A text, true or false, or one of several texts."""

    kind: type
    expected: str
    choices: tuple[Any, ...] = ()

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        return self.kind(value)

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        if type(plain) is not self.kind or (self.choices and plain not in self.choices):
            raise wrong(place, self.expected, plain)
        return plain


@dataclass(frozen=True)
class _Number:
    """A whole number or a float; a float that is not finite is a text."""

    kind: type
    limits: Limits = Limits()

    @property
    def expected(self) -> str:
        return "a number" if self.kind is float else "a whole number"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        number = self.kind(value)
        return number if math.isfinite(number) else str(number)

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        low, high = self.limits.low, self.limits.high
        if self.kind is int:
            low, high = max(low, -MOST_INTEGER), min(high, source.n_bytes if self.limits.by_bytes else MOST_INTEGER)
        elif not self.limits.finite and isinstance(plain, str) and plain in ("nan", "inf", "-inf"):
            return float(plain)
        known = type(plain) in (int, self.kind) and abs(plain) <= _LARGEST
        if not known or not low <= plain <= high:
            bounds = "" if math.isinf(low) else f" from {low:g}" + ("" if math.isinf(high) else f" to {high:g}")
            raise wrong(place, f"{self.expected}{bounds}", plain)
        return self.kind(plain)


@dataclass(frozen=True)
class _Array:
    """An array of one type: its place is its name among the arrays."""

    dtype: Any
    limits: Limits = Limits()
    expected: str = "the type and the shape of its array"

    def dump(self, value: Any, place: str, packed: Packed) -> str:
        array = np.asarray(value) if self.dtype is Any else np.asarray(value, dtype=self.dtype)
        if place in packed.arrays:
            raise ModelFolderError(f"save: two arrays would be called {place}.")
        packed.arrays[place] = array
        return f"{array.dtype} {array.shape}"

    def load(self, plain: Any, place: str, source: _Source) -> NDArray[Any]:
        array = source.arrays.pop(place, None)
        if array is None or plain != f"{array.dtype} {array.shape}":
            raise wrong(place, self.expected, plain)
        if array.dtype.kind not in "biuf" if self.dtype is Any else array.dtype != self.dtype:
            raise wrong(place, f"an array of {np.dtype(self.dtype)}", plain)
        if array.dtype.kind == "b":
            fits = bool((array.view(np.uint8) <= 1).all())
        else:
            fits = not (self.limits.finite and array.dtype.kind == "f") or bool(np.isfinite(array).all())
            if fits and array.size and not (math.isinf(self.limits.low) and math.isinf(self.limits.high)):
                fits = bool(array.min() >= self.limits.low and array.max() <= self.limits.high)
        if not fits:
            raise wrong(place, "numbers that are finite and in their range", "others")
        return array


@dataclass(frozen=True)
class _Classes:
    """Distinct labels in order."""

    expected: str = "a list of labels"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        return value.tolist()

    def load(self, plain: Any, place: str, source: _Source) -> Labels:
        entries = _List(_coder(str | bool | int | float), Limits(1)).load(plain, place, source)
        return _built(lambda: find_classes(entries, name=place), place)


@dataclass(frozen=True)
class _List:
    """A tuple of any length."""

    inner: _Coder
    limits: Limits = Limits()
    expected: str = "a list"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        return [self.inner.dump(one, f"{place}[{at}]", packed) for at, one in enumerate(value)]

    def load(self, plain: Any, place: str, source: _Source) -> tuple[Any, ...]:
        if not isinstance(plain, list):
            raise wrong(place, self.expected, plain)
        if not self.limits.low <= len(plain) <= self.limits.high:
            raise wrong(place, f"a list of {self.limits.low:g} entries or more, at most {self.limits.high:g}", plain)
        return tuple(self.inner.load(one, f"{place}[{at}]", source) for at, one in enumerate(plain))


@dataclass(frozen=True)
class _Row:
    """A tuple of known length."""

    inner: tuple[_Coder, ...]

    @property
    def expected(self) -> str:
        return f"a list of {len(self.inner)} entries"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        pairs = zip(self.inner, value, strict=True)
        return [coder.dump(one, f"{place}[{at}]", packed) for at, (coder, one) in enumerate(pairs)]

    def load(self, plain: Any, place: str, source: _Source) -> tuple[Any, ...]:
        if not isinstance(plain, list) or len(plain) != len(self.inner):
            raise wrong(place, self.expected, plain)
        pairs = zip(self.inner, plain, strict=True)
        return tuple(coder.load(one, f"{place}[{at}]", source) for at, (coder, one) in enumerate(pairs))


@dataclass(frozen=True)
class _Named:
    """Values of one type by any name."""

    inner: _Coder
    expected: str = "an object with named entries"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        return {str(name): self.inner.dump(one, _inside(place, name), packed) for name, one in value.items()}

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        if not isinstance(plain, dict):
            raise wrong(place, self.expected, plain)
        return {name: self.inner.load(one, _inside(place, name), source) for name, one in plain.items()}


class _Record:
    """A dataclass, or a dictionary whose entries have types of their own, some of which may be absent."""

    expected = "an object with named entries"

    def __init__(self, kind: type) -> None:
        self.kind, hints = kind, get_type_hints(kind, include_extras=True)
        names, self.optional = list(hints), frozenset(getattr(kind, "__optional_keys__", ()))
        if is_dataclass(kind):
            names = [one.name for one in fields(kind) if one.init and one.metadata.get("saved", True)]
        self.entries = {name: _coder(hints[name]) for name in names}

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        values = value if isinstance(value, dict) else {name: getattr(value, name) for name in self.entries}
        present = {name: coder for name, coder in self.entries.items() if name in values}
        return {name: coder.dump(values[name], _inside(place, name), packed) for name, coder in present.items()}

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        if not isinstance(plain, dict):
            raise wrong(place or "it", self.expected, plain)
        for name in plain:
            if name not in self.entries:
                raise ModelFolderError(f"model.json: {_inside(place, name)} is unknown; fit again or restore it.")
        values = {}
        for name, coder in self.entries.items():
            if name in plain:
                values[name] = coder.load(plain[name], _inside(place, name), source)
            elif name not in self.optional:
                raise ModelFolderError(f"model.json: {_inside(place, name)} is missing; fit again or restore it.")
        return _built(lambda: self.kind(**values), place)


@dataclass(frozen=True)
class _Kinds:
    """A value of one of several classes, each with a name of its own."""

    kinds: Mapping[str, Any]
    expected: str = "an object with named entries"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        own: Any = type(value)
        plain = _coder(own).dump(value, place, packed)
        if value.kind not in self.kinds:
            raise ModelFolderError(f"save: {place} of the kind {value.kind} cannot be saved.")
        return {"kind": value.kind, **plain}

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        if not isinstance(plain, dict):
            raise wrong(place, self.expected, plain)
        if "kind" not in plain:
            raise ModelFolderError(f"model.json: {place}.kind is missing; fit again or restore it.")
        kind = plain["kind"]
        if not isinstance(kind, str) or kind not in self.kinds:
            raise wrong(f"{place}.kind", f"one of {', '.join(self.kinds)}", kind)
        rest = {name: one for name, one in plain.items() if name != "kind"}
        return _coder(self.kinds[kind]).load(rest, place, source)


@dataclass(frozen=True)
class _Either:
    """A value of the first of several types that fits; None is the type of null."""

    options: tuple[_Coder, ...]

    @property
    def expected(self) -> str:
        return " or ".join(option.expected for option in self.options)

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        if value is None or len(self.options) > 1:
            return value.item() if isinstance(value, np.generic) else value
        return self.options[0].dump(value, place, packed)

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        if len(self.options) == 1:
            return None if plain is None else self.options[0].load(plain, place, source)
        for option in self.options:
            try:
                return option.load(plain, place, source)
            except ModelFolderError:
                continue
        raise wrong(place, self.expected, plain)


@dataclass(frozen=True)
class _File:
    """The bytes of a file of the folder, whose name stands for them."""

    name: str
    expected: str = "the name of its file"

    def dump(self, value: Any, place: str, packed: Packed) -> str:
        packed.files[self.name] = value
        return self.name

    def load(self, plain: Any, place: str, source: _Source) -> bytes:
        if plain != self.name or self.name not in source.files:
            raise wrong(place, f"{self.name}, and that file be there", plain)
        return source.files.pop(self.name)


class _StandIn:
    """A class that keeps another form of itself."""

    expected = "an object with named entries"

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    @property
    def saved(self) -> _Coder:
        return _coder(get_type_hints(self.kind.to_saved, include_extras=True)["return"])

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        form = value.to_saved()  # raises where there is none
        return self.saved.dump(form, place, packed)

    def load(self, plain: Any, place: str, source: _Source) -> Any:
        form = self.saved.load(plain, place, source)
        return _built(lambda: self.kind.from_saved(form), place)


@dataclass(frozen=True)
class _Plain:
    """A plain value of any type: its numbers are finite, and it is nested to a bounded depth."""

    expected: str = "a plain value"

    def dump(self, value: Any, place: str, packed: Packed) -> Any:
        return value

    def load(self, plain: Any, place: str, source: _Source) -> Any:
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


@cache
def _coder(kind: Any) -> _Coder:
    """Return the coder of a type; it is made once."""
    origin, args = get_origin(kind), get_args(kind)
    simple: dict[Any, _Coder] = {
        str: _Exactly(str, "a text"),
        bool: _Exactly(bool, "true or false"),
        NoneType: _Exactly(NoneType, "null"),
        int: _Number(int),
        float: _Number(float),
        Any: _Plain(),
    }
    if kind in simple:
        return simple[kind]
    if origin is Annotated:
        return _marked(*args)
    if origin is NotRequired:
        return _coder(args[0])
    if origin in (Union, UnionType):
        return _union(args)
    if origin is Literal:
        return _Exactly(str, f"one of {', '.join(args)}", args)
    if origin is tuple:
        return _List(_coder(args[0])) if args[-1] is Ellipsis else _Row(tuple(map(_coder, args)))
    if origin is Sequence:
        return _List(_coder(args[0]))
    if origin in (Mapping, dict):
        return _Named(_coder(args[1]))
    if origin is np.ndarray:
        scalar = get_args(args[1])[0]
        return _Classes() if scalar is np.generic else _Array(scalar if scalar is Any else np.dtype(scalar))
    if hasattr(kind, "to_saved"):
        return _StandIn(kind)
    if is_dataclass(kind) or is_typeddict(kind):
        return _Record(kind)
    raise TypeError(f"no value of the type {kind} can be saved")


def _marked(kind: Any, mark: Any) -> _Coder:
    if isinstance(mark, OneOf):
        return _Kinds(mark.kinds)
    if isinstance(mark, FileOf):
        return _File(mark.name)
    plain = _coder(kind)
    if isinstance(plain, _Number):
        return _Number(plain.kind, mark)
    if isinstance(plain, _Array):
        return _Array(plain.dtype, mark)
    if isinstance(plain, _List):
        return _List(plain.inner, mark)
    raise TypeError(f"{mark} says nothing of {kind}")


def _union(kinds: tuple[Any, ...]) -> _Coder:
    """Return the coder of a union: null or a value, classes by their kind, or plain values."""
    some = [kind for kind in kinds if kind is not NoneType]
    inner: _Coder
    if len(some) > 1 and all(is_dataclass(kind) for kind in some):
        inner = _Kinds({kind.kind: kind for kind in some})
    elif len(some) > 1:
        return _Either(tuple(map(_coder, kinds)))
    else:
        inner = _coder(some[0])
    return inner if len(some) == len(kinds) else _Either((inner,))


def _built(build: Callable[[], Any], place: str) -> Any:
    """Build a value from checked parts; what it refuses itself is damage here."""
    try:
        return build()
    except ModelFolderError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"{type(error).__name__}: {error}".replace("\n", " ")[:_LONGEST_REASON]
        raise ModelFolderError(f"model.json: {place or 'it'} is damaged ({why}); fit again or restore it.") from error


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def wrong(place: str, expected: str, value: object) -> ModelFolderError:
    """Return the error for a value that is not as expected."""
    text = repr(value)
    text = text if len(text) <= 60 else f"{text[:57]}..."
    return ModelFolderError(f"model.json: {place:.160} must be {expected}, got {text}; fit again or restore it.")
