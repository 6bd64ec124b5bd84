"""The codec: what is packed comes back, through JSON; whatever its types do not say is refused with its place."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.codec import AnyFloat, Count, Packed, Share, Within, pack, unpack
from defero.core.errors import Argument, InputError, Message, ModelFolderError
from defero.core.labels import Labels


@dataclass(frozen=True)
class Circle:
    kind: ClassVar[str] = "circle"
    radius: float


@dataclass(frozen=True)
class Square:
    kind: ClassVar[str] = "square"
    side: float

    def __post_init__(self) -> None:
        if self.side < 0:
            raise InputError("must not be negative.", argument="side")


class Told:
    """No dataclass: it keeps another form of itself."""

    def __init__(self, words):
        self.words = words

    def to_saved(self) -> tuple[str, ...]:
        return tuple(self.words.split())

    @classmethod
    def from_saved(cls, saved):
        return cls(" ".join(saved))

    def __eq__(self, other):
        return self.words == other.words

    __hash__ = None


@dataclass(frozen=True, eq=False)
class Everything:
    text: str
    flag: bool
    whole: int
    number: float
    share: Share
    any_number: AnyFloat
    maybe: int | None
    label: str | bool | int | float
    link: Literal["log", "logit"]
    pair: tuple[int, str]
    row: tuple[float, ...]
    named: Mapping[str, tuple[float, ...]]
    plain: Mapping[str, Any]
    shape: Circle | Square
    shapes: Annotated[tuple[Annotated[Any, {"circle": Circle}], ...], Within(1, 2)]
    told: Told
    message: Message
    classes: Labels
    floats: FloatArray
    gaps: Annotated[FloatArray, Within(finite=False)]
    none: FloatArray | None
    flags: BoolArray
    counts: Annotated[IntArray, Within(0)]
    bits: NDArray[np.uint64]
    layers: Mapping[str, tuple[tuple[FloatArray, FloatArray], ...]]
    net: bytes = field(metadata={"file": "net.onnx"})
    width: Count
    here: float = field(default=7.0, metadata={"saved": False})


def everything(**changes):
    values = {
        "text": "a\ud800",
        "flag": True,
        "whole": -3,
        "number": 0.1,
        "share": 1.0,
        "any_number": -math.inf,
        "maybe": None,
        "label": 2.5,
        "link": "log",
        "pair": (1, "b"),
        "row": (0.5, 1e-300),
        "named": {"a.b": (1.0,)},
        "plain": {"depth": [1, None, {"x": "y"}]},
        "shape": Square(2.0),
        "shapes": (Circle(1.0),),
        "told": Told("two words"),
        "message": Message("pass ", Argument("label", "truth"), " or ", Argument("key"), "."),
        "classes": np.array(["no", "yes"]),
        "floats": np.array([[0.1, 0.2]]),
        "gaps": np.array([np.nan, np.inf]),
        "none": None,
        "flags": np.array([True, False]),
        "counts": np.array([0, 5]),
        "bits": np.array([2**63], dtype=np.uint64),
        "layers": {"one": ((np.ones((2, 1)), np.zeros(1)),), "none": ()},
        "net": b"bytes",
        "width": 3,
    }
    return Everything(**{**values, **changes})


def through_json(packed):
    return replace(packed, manifest=json.loads(json.dumps(packed.manifest, allow_nan=False)))


def test_every_type_comes_back_through_json():
    value = everything()
    packed = pack(value)
    again = unpack(Everything, through_json(packed))
    assert list(packed.arrays) == [
        *("floats", "gaps", "flags", "counts", "bits"),
        *("layers.one[0][0]", "layers.one[0][1]"),
    ]
    assert packed.manifest["floats"] == "float64 (1, 2)"
    assert packed.files == {"net.onnx": b"bytes"}
    for name in vars(value):
        before, after = getattr(value, name), getattr(again, name)
        if isinstance(before, np.ndarray):
            np.testing.assert_array_equal(after, before)
            assert after.dtype == before.dtype or name == "classes"
        elif name != "layers":
            assert after == before
            assert type(after) is type(before)
    np.testing.assert_array_equal(again.layers["one"][0][0], np.ones((2, 1)))
    assert again.layers["none"] == ()
    assert again.message.pieces == value.message.pieces


@given(st.floats(allow_nan=False), st.integers(-(2**53), 2**53), st.text())
def test_numbers_and_texts_come_back_exactly(number, whole, text):
    again = unpack(Everything, through_json(pack(everything(any_number=number, whole=whole, text=text))))
    assert (again.any_number, again.whole, again.text) == (number, whole, text)


@pytest.mark.parametrize(
    ("path", "value", "fact"),
    [
        ("text", 3, "text must be a text, got 3"),
        ("flag", 1, "flag must be true or false, got 1"),
        ("whole", True, "whole must be a whole number from .*, got True"),
        ("whole", 1.0, "whole must be a whole number"),
        ("whole", 10**30, "whole must be a whole number"),
        ("number", "0.1", "number must be a number, got '0.1'"),
        ("number", True, "number must be a number, got True"),
        ("number", "nan", "number must be a number"),
        ("number", math.inf, "number must be a number"),
        ("number", 10**400, "number must be a number"),
        ("share", 1.5, "share must be a number from 0 to 1, got 1.5"),
        ("any_number", "1", "any_number must be a number"),
        ("maybe", "x", "maybe must be a whole number"),
        ("label", [], "label must be a text or true or false or a number"),
        ("link", "ova", "link must be one of log, logit"),
        ("pair", [1], "pair must be a list of 2 entries"),
        ("pair", [1, 2], r"pair\[1\] must be a text, got 2"),
        ("row", {}, "row must be a list, got {}"),
        ("row", [1.0, None], r"row\[1\] must be a number, got None"),
        ("named", {"a": [[]]}, r"named\.a\[0\] must be a number"),
        ("plain", {"x": [[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]}, "plain.x must be nested at most 20 deep"),
        ("plain", {"x": [math.nan]}, "plain.x must be finite numbers"),
        ("shape", {"side": 1.0}, "shape.kind must be one of circle, square, got None"),
        ("shape", {"kind": "cube"}, "shape.kind must be one of circle, square, got 'cube'"),
        ("shape", {"kind": "square", "side": 1.0, "more": 1}, "shape.more is unknown"),
        ("shape", {"kind": "square", "side": -1.0}, r"shape is damaged \(InputError: side must not be negative\.\)"),
        ("shapes", [], "shapes must be a list of 1 entries or more"),
        ("shapes", [{"kind": "square", "side": 1.0}], r"shapes\[0\].kind must be one of circle"),
        ("told", [4], r"told\[0\] must be a text"),
        ("message", [{"argument": 3}], r"message is damaged \(ValueError: an argument without a name\)"),
        ("classes", [None], r"classes\[0\] must be a text"),
        ("floats", "float64 (2, 1)", "floats must be the type and the shape of its array, got 'float64"),
        ("floats", [[0.1, 0.2]], "floats must be the type and the shape of its array"),
        ("none", "float64 (1,)", "none must be the type and the shape of its array"),
        ("net", "weights.safetensors", "net must be net.onnx, and that file be there"),
        ("width", 10**6, "width must be a whole number from 0 to"),
    ],
)
def test_what_the_types_do_not_say_is_refused_with_its_place(path, value, fact):
    packed = pack(everything())
    with pytest.raises(ModelFolderError, match=f"^model.json: {fact}.*; fit again or restore it.$"):
        unpack(Everything, replace(packed, manifest={**packed.manifest, path: value}))


@pytest.mark.parametrize(
    ("name", "array", "fact"),
    [
        ("floats", np.array([[1j, 2]]), "floats must be an array of float64"),
        ("floats", np.array([[0.1, np.nan]]), "floats must be numbers that are finite and in their range"),
        ("counts", np.array([-1, 0]), "counts must be numbers that are finite and in their range"),
        ("flags", np.array([2, 1], dtype=np.uint8).view(np.bool_), "flags must be numbers"),
        ("bits", np.array([1.0]), "bits must be an array of uint64"),
        ("counts", np.array([2**63], dtype=np.uint64), "counts must be an array of int64"),
    ],
)
def test_other_arrays_are_refused(name, array, fact):
    packed = pack(everything())
    manifest = {**packed.manifest, name: f"{array.dtype} {array.shape}"}
    with pytest.raises(ModelFolderError, match=fact):
        unpack(Everything, Packed(manifest, {**packed.arrays, name: array}, packed.files))


def test_missing_unknown_and_extra_ones_are_refused():
    packed = pack(everything())
    for name in packed.manifest:
        rest = {one: value for one, value in packed.manifest.items() if one != name}
        with pytest.raises(ModelFolderError, match=f"{name} is missing"):
            unpack(Everything, replace(packed, manifest=rest))
    with pytest.raises(ModelFolderError, match="here is unknown"):
        unpack(Everything, replace(packed, manifest={**packed.manifest, "here": 1.0}))
    with pytest.raises(ModelFolderError, match="names no 'other', which is there"):
        unpack(Everything, replace(packed, arrays={**packed.arrays, "other": np.ones(1)}))
    with pytest.raises(ModelFolderError, match=r"names no 'other\.bin', which is there"):
        unpack(Everything, replace(packed, files={**packed.files, "other.bin": b""}))


def test_a_count_may_be_as_large_as_the_bytes_that_are_there():
    many = everything(width=100_000)
    with pytest.raises(ModelFolderError, match="width must be a whole number"):
        unpack(Everything, pack(many))
    wide = everything(width=100_000, floats=np.zeros((1, 10_000)))
    assert unpack(Everything, pack(wide)).width == 100_000


@dataclass(frozen=True, eq=False)
class Nested:
    named: Mapping[str, Mapping[str, FloatArray]]


def test_two_arrays_of_one_name_are_not_written():
    with pytest.raises(ModelFolderError, match=r"two arrays would be called named\.a\.b\.c"):
        pack(Nested({"a": {"b.c": np.ones(1)}, "a.b": {"c": np.ones(1)}}))


def test_a_type_that_nothing_is_known_of_is_no_schema():
    @dataclass(frozen=True)
    class Odd:
        value: complex

    with pytest.raises(TypeError, match="no value of the type complex can be saved"):
        pack(Odd(1j))
