"""Nets as ONNX files, run without torch: the same scores, in a model folder too."""

import importlib.util
import sys

import numpy as np
import pytest
import torch
from small_nets import items, seeded, small_net
from torch import nn

from defero.core.codec import pack, unpack
from defero.core.errors import InputError, ModelFolderError
from defero.nets import DeferralHead, DeferralNet
from defero.nets.deep_scorer import export_onnx
from defero.scorers.network import scores_from_logits
from defero.scorers.onnx import OnnxScorer

has_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)
# torch warns of a name of its own while it exports.
torch_warns = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")
PLAIN = {"center": np.zeros(1), "scale": np.ones(1)}


def exported(net, batch, path, *, loss="ova", block=256):
    export_onnx(net, batch, path)
    return OnnxScorer(loss, path.read_bytes(), **PLAIN, block=block)


def scores_by_torch(net, batch, loss):
    with torch.no_grad():
        logits = net.eval()(batch)
    classes, experts, model = (None if part is None else part.double().numpy() for part in logits)
    return scores_from_logits(loss, classes, experts, model_logit=model)


def assert_same(found, expected):
    for name in ("class_proba", "expert_proba", "model_proba", "expert_raw"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-5)


def trained(net, batch):
    """Return a net whose batch statistics are not those it was born with."""
    torch.manual_seed(0)
    net.train()(batch)
    return net


def tiny(n_experts=2, *, model_column=False):
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5))
    return DeferralNet.build(
        layers,
        torch.zeros(2, 3, 4, 4),
        n_classes=3,
        n_experts=n_experts,
        model_column=model_column,
        generator=seeded(),
    )


@has_onnx
@torch_warns
def test_what_is_read_back_scores_as_the_net(tmp_path):
    batch = torch.randn(5, 3, 4, 4, generator=seeded(1))
    net = trained(tiny(), batch)
    scorer = exported(net, batch, tmp_path / "exported.onnx", block=2)
    assert net.training
    read = unpack(type(scorer), pack(scorer))
    expected = scores_by_torch(net, batch, "ova")
    assert_same(scorer.score(batch.numpy()), expected)
    assert_same(read.score(batch.numpy()), expected)
    assert scorer.score(batch[:0].numpy()).expert_proba.shape == (0, 2)
    with pytest.raises(InputError, match=r"features must be items of shape \[3, 4, 4\], got \(7,\)"):
        scorer.score(np.zeros((2, 7)))


@has_onnx
@torch_warns
def test_items_are_standardised_before_the_net(tmp_path):
    net, batch = small_net("text-cnn", branches="two"), items("text-cnn", 4)
    center, scale = np.linspace(-1, 1, 20), np.linspace(1, 3, 20)
    export_onnx(net, batch, tmp_path / "net.onnx")
    scorer = OnnxScorer("softmax", (tmp_path / "net.onnx").read_bytes(), center, scale)
    raw = batch.double().numpy() * scale + center
    assert_same(scorer.score(raw), scores_by_torch(net, batch, "softmax"))


@has_onnx
@torch_warns
@pytest.mark.slow
@pytest.mark.parametrize("n_experts", [0, 1, 3])
def test_every_number_of_experts_and_the_column_of_the_model(n_experts, tmp_path):
    batch = torch.randn(3, 3, 4, 4, generator=seeded(1))
    for loss in ("decoupled", "moe"):
        net = trained(tiny(n_experts, model_column=loss == "moe"), batch)
        scorer = exported(net, batch[:1], tmp_path / "net.onnx", loss=loss)
        assert_same(scorer.score(batch.numpy()), scores_by_torch(net, batch, loss))


@has_onnx
@torch_warns
@pytest.mark.slow
@pytest.mark.parametrize("name", ["wrn-28-4", "resnet-18", "resnet-50"])
def test_deep_nets(name, tmp_path):
    batch = items(name, 3)
    net = trained(small_net(name), batch)
    scorer = exported(net, batch, tmp_path / "net.onnx")
    assert_same(scorer.score(batch.numpy()), scores_by_torch(net, batch, "ova"))


@has_onnx
def test_a_file_that_is_no_net():
    with pytest.raises(ModelFolderError, match=r"net\.onnx: is no ONNX file; export or fit again"):
        OnnxScorer("ova", b"no net", **PLAIN).score(np.zeros((1, 2)))
    with pytest.raises(ModelFolderError, match=r"net\.onnx: onnxruntime cannot read it .* export or fit again"):
        OnnxScorer("ova", b"", **PLAIN).score(np.zeros((1, 2)))


@has_onnx
def test_what_cannot_be_exported(tmp_path):
    head = DeferralNet(nn.Identity(), DeferralHead(2, 3, 1))
    with pytest.raises(InputError, match="example must be a tensor of at least one item"):
        export_onnx(head, torch.zeros(0, 2), tmp_path / "net.onnx")
    with pytest.raises(InputError, match="net must give Logits, got a Tensor; put a DeferralHead on it"):
        export_onnx(nn.Linear(2, 3), torch.zeros(1, 2), tmp_path / "net.onnx")


def test_the_extra_is_not_installed(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"export to ONNX needs onnx and onnxscript; pip install 'defero\[onnx\]'"):
        export_onnx(nn.Linear(2, 3), torch.zeros(1, 2), tmp_path / "net.onnx")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"this model needs onnxruntime .* pip install 'defero\[onnx\]'"):
        OnnxScorer("ova", b"", **PLAIN).score(np.zeros((1, 2)))
