"""net.onnx of a stranger: it reads no other file, and what is no net is refused before onnxruntime sees it."""

import numpy as np
import pytest

from defero.core.errors import ModelFolderError
from defero.scorers.onnx import OnnxScorer, refuse_external_tensors

onnx = pytest.importorskip("onnx")
ARRAYS = {"center": np.zeros(1), "scale": np.ones(1)}


def linear_net(weight):
    """Return a net that adds a weight tensor to the batch."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    batch = helper.make_tensor_value_info("batch", kind, ["n", 4])
    classes = helper.make_tensor_value_info("classes", kind, ["n", 4])
    node = helper.make_node("Add", ["batch", "w"], ["classes"])
    graph = helper.make_graph([node], "g", [batch], [classes], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model


def plain_weight():
    return onnx.helper.make_tensor("w", onnx.TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])


def outside_weight(path):
    weight = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[4])
    weight.data_location = onnx.TensorProto.EXTERNAL
    weight.external_data.add(key="location", value=str(path))
    weight.external_data.add(key="length", value="16")
    return weight


def unpack(model):
    content = model if isinstance(model, bytes) else model.SerializeToString()
    return OnnxScorer("softmax", content, **ARRAYS, block=4)


def test_a_net_with_its_own_numbers_is_taken():
    pytest.importorskip("onnxruntime")
    assert unpack(linear_net(plain_weight())).score(np.zeros((2, 4))).class_proba.shape == (2, 4)


def test_a_tensor_in_another_file_is_refused(tmp_path, monkeypatch):
    (tmp_path / "secret.bin").write_bytes(b"0123456789abcdef")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFolderError, match=r"net\.onnx: has tensors in another file"):
        unpack(linear_net(outside_weight("secret.bin")))


@pytest.mark.parametrize("place", ["attribute", "list", "subgraph", "sparse", "function"])
def test_hidden_places_are_looked_at(place):
    model, weight, helper = linear_net(plain_weight()), outside_weight("secret.bin"), onnx.helper
    constant = helper.make_node("Constant", [], ["c"], value=weight)
    if place == "attribute":
        model.graph.node.append(constant)
    elif place == "list":
        attribute = onnx.AttributeProto(name="t", type=onnx.AttributeProto.TENSORS)
        attribute.tensors.append(weight)
        model.graph.node[0].attribute.append(attribute)
    elif place == "subgraph":
        inner = helper.make_graph([constant], "inner", [], [])
        model.graph.node.append(helper.make_node("If", ["batch"], ["o"], then_branch=inner, else_branch=inner))
    elif place == "sparse":
        model.graph.sparse_initializer.add().values.CopyFrom(weight)
    else:
        model.functions.add(name="f").node.append(constant)
    with pytest.raises(ModelFolderError, match="tensors in another file"):
        unpack(model)


@pytest.mark.parametrize(
    "content", [b"\x1c\x00\x00\x00ORTM", b"\x08\x07\x12\x02ORTM", b"\x0c", b"\x3a\xff", b"\xff" * 20]
)
def test_what_is_no_net_is_refused(content):
    with pytest.raises(ModelFolderError, match=r"net\.onnx: is no ONNX file"):
        refuse_external_tensors(content)
