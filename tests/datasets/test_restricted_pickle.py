"""Pickles of others: arrays come out, and nothing that is named in them is ever run."""

import io
import os
import pickle

import numpy as np
import pytest
from cifar_batches import python2_batch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.errors import InputError
from defero.datasets.restricted_pickle import read_object_npy, read_pickle


@given(
    arrays(st.sampled_from([np.uint8, ">i4", "<i8", np.float32, np.bool_, "<U3", "S2"]), st.tuples(st.integers(0, 4))),
    st.sampled_from([2, 3, 4]),
)
def test_an_array_comes_back(array, protocol):
    back = read_pickle(pickle.dumps({"a": [array, 1]}, protocol=protocol), name="x")["a"][0]
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_of_axes_is_kept(order):
    array = np.arange(6).reshape(2, 3).copy(order=order)
    np.testing.assert_array_equal(read_pickle(pickle.dumps(array, protocol=2), name="x"), array)


def test_a_batch_of_python_2_comes_back():
    data, labels = np.arange(2 * 3072, dtype=np.uint8).reshape(2, 3072), [3, 9]
    batch = read_pickle(python2_batch(data, labels), name="batch")
    np.testing.assert_array_equal(batch[b"data"], data)
    assert batch[b"labels"] == labels


class Runs:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


RAN = []
HOSTILE = [
    pickle.dumps(Runs(os.system, "true")),
    pickle.dumps({"data": Runs(eval, "1")}),
    pickle.dumps(Runs(RAN.append, 1)),
    pickle.dumps(Runs(getattr, "x", "upper")),
    pickle.dumps(Runs(np.frombuffer, b"1234")),
    pickle.dumps(Runs(np.ndarray, (3,))),
    b"cnumpy\nndarray\n.",
    b"cnumpy.core.multiarray\n_reconstruct\n)R.",
    b"c_codecs\nencode\n(Vabc\nVrot13\ntR.",
    b"cnumpy\ndtype\n(S'O8'\nI0\nI1\ntR.",
    b"S'key'\nPx\n.",
    b"Pouter\n.",
    b"",
    b"not a pickle",
    pickle.dumps({1, 2}),
    pickle.dumps(1j),
]


@pytest.mark.parametrize("content", HOSTILE)
def test_anything_else_is_refused(content):
    with pytest.raises(InputError, match=r"batch must be a pickle of plain arrays, lists and text.*it is not read"):
        read_pickle(content, name="batch")
    assert RAN == []


def array_pickle(*, shape=(1,), dtype="u1", order="|", content=b"x"):
    """Write an array's pickle with parts that need not fit."""
    return pickle.dumps(ArrayLike(shape, dtype, order, content), protocol=2)


class ArrayLike:
    def __init__(self, shape, dtype, order, content):
        self.parts = shape, dtype, order, content

    def __reduce__(self):
        from numpy._core.multiarray import _reconstruct

        shape, dtype, order, content = self.parts
        return _reconstruct, (np.ndarray, (0,), b"b"), (1, shape, DTypeLike(dtype, order), False, content)


class DTypeLike:
    def __init__(self, code, order):
        self.parts = code, order

    def __reduce__(self):
        return np.dtype, (self.parts[0], False, True), (3, self.parts[1], None, None, None, -1, -1, 0)


@pytest.mark.parametrize(
    "parts",
    [
        {"shape": (1 << 40,)},
        {"shape": (-2,)},
        {"shape": "x"},
        {"dtype": "V1"},
        {"dtype": "V8"},
        {"dtype": "u1,u1"},
        {"dtype": "O8"},
        {"order": "!"},
        {"content": 7},
        {"dtype": "u3"},
    ],
)
def test_parts_that_do_not_fit_are_refused(parts):
    assert read_pickle(array_pickle(), name="x").tolist() == [ord("x")]
    with pytest.raises(InputError, match="it is not read"):
        read_pickle(array_pickle(**parts), name="x")


def test_an_npy_file_with_one_object(tmp_path):
    np.save(tmp_path / "a.npy", {"clean_label": np.arange(3)}, allow_pickle=True)
    assert read_object_npy(tmp_path / "a.npy")["clean_label"].tolist() == [0, 1, 2]


def test_an_npy_file_with_a_trick_is_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.array({"x": Runs(RAN.append, 1)}, dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="it is not read"):
        read_object_npy(tmp_path / "a.npy")
    assert RAN == []


@pytest.mark.parametrize(
    ("stored", "said"), [({"clean_label": [1]}, "got dict;"), (np.arange(3), r"got ndarray of shape \(3,\);")]
)
def test_an_object_that_numpy_did_not_write_is_told(tmp_path, stored, said):
    with (tmp_path / "a.npy").open("wb") as file:
        header = {"descr": "|O", "fortran_order": False, "shape": ()}
        np.lib.format.write_array_header_1_0(file, header)
        pickle.dump(stored, file)
    with pytest.raises(InputError, match=rf"must hold one object as numpy.save writes it, .*{said}"):
        read_object_npy(tmp_path / "a.npy")


@pytest.mark.parametrize(("content", "said"), [(b"no npy", "must be an npy file"), (None, "must hold one object")])
def test_another_npy_file_is_told(tmp_path, content, said):
    buffer = io.BytesIO()
    np.save(buffer, np.arange(3))
    (tmp_path / "a.npy").write_bytes(buffer.getvalue() if content is None else content)
    with pytest.raises(InputError, match=said):
        read_object_npy(tmp_path / "a.npy")
