"""Nets by name: every name, unknown ones, and other packages' nets where they are and where they are not."""

import sys
from types import ModuleType

import pytest
import torch
from small_nets import seeded
from torch import nn

from defero.core.errors import InputError
from defero.nets import ResNet, TextCnn, WideResNet, net_by_name, trunk_by_name
from defero.nets.named import is_net_name, meant_net

PICTURES, VECTORS = torch.zeros(2, 3, 32, 32), torch.zeros(2, 100)


def named(name, example=PICTURES, **options):
    return net_by_name(name, example, n_classes=3, n_experts=2, generator=seeded(), **options)


def test_names_give_the_nets_they_say():
    trunk = named("wrn-16-2").trunk
    assert isinstance(trunk, WideResNet)
    assert len(trunk.blocks) == 6
    assert trunk.out_features == 128
    assert isinstance(named("text-cnn", VECTORS).trunk, TextCnn)
    assert named("resnet-18").trunk.conv1.kernel_size == (7, 7)
    assert named("resnet-18-small").trunk.conv1.kernel_size == (3, 3)
    assert isinstance(named("resnet-34").trunk, ResNet)


def test_the_example_tells_the_channels():
    assert named("wrn-10-1", torch.zeros(2, 1, 28, 28)).trunk.stem.in_channels == 1


def test_two_branches_are_drawn_apart():
    net = named("wrn-10-1", branches="two", model_column=True)
    assert not torch.equal(net.trunk.stem.weight, net.expert_trunk.stem.weight)
    assert net.expert_head.model_column
    assert net(PICTURES).model.shape == (2,)


@pytest.mark.parametrize(
    "name", ["wrn-28", "resnet-101", "resnet-18-tiny", "efficientnet-lite0", "ResNet-18", "keras:resnet", ""]
)
def test_unknown_names_are_answered_with_the_list(name):
    with pytest.raises(InputError, match=r"net must be one of wrn-<depth>-<width>, resnet-18, .*timm:<model>, got"):
        named(name)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("resnet18", "resnet-18"),
        ("ResNet-34", "resnet-34"),
        ("resnet-18-smal", "resnet-18-small"),
        ("wrn28-4", "wrn-28-4"),
        ("wrn284", "wrn-28-4"),
        ("wrn-28", "wrn-28-4"),
        ("WRN_16_2", "wrn-16-2"),
        ("wideresnet-40-10", "wrn-40-10"),
        ("wrn-27-0", "wrn-28-1"),
        ("wrn-4-2", "wrn-10-2"),
        ("textcnn", "text-cnn"),
        ("torchvison:resnet18", "torchvision:resnet18"),
    ],
)
def test_a_slip_is_answered_with_the_net_that_was_meant(typed, meant):
    with pytest.raises(InputError, match=f"got '{typed}'; did you mean '{meant}'"):
        named(typed)
    assert is_net_name(meant)


def test_what_is_like_nothing_is_answered_with_the_list_alone():
    for name in ("forest", "keras:resnet", "timm:", ""):
        assert not is_net_name(name)
        assert meant_net(name) == "."
    assert meant_net("linaer", ("linear", "mlp")) == "; did you mean 'linear'?"


def test_shapes_that_a_net_does_not_take():
    with pytest.raises(InputError, match=r"wrn-28-4 takes pictures with colours, got items of shape \(100,\)"):
        named("wrn-28-4", VECTORS)
    with pytest.raises(InputError, match=r"text-cnn takes one vector per text, got items of shape \(3, 32, 32\)"):
        named("text-cnn")


def test_learned_weights_that_there_are_not():
    with pytest.raises(InputError, match="no learned weights of wrn-10-1; leave it out"):
        named("wrn-10-1", pretrained=True)


def test_branches_are_one_or_two():
    with pytest.raises(InputError, match="branches must be one of one, heads, two, got 'three'"):
        named("wrn-10-1", branches="three")


@pytest.mark.parametrize("package", ["torchvision", "timm"])
def test_packages_that_are_not_installed(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.models", None)
    with pytest.raises(InputError, match=f"nets of {package} need {package}, built for this torch .* pip install"):
        named(f"{package}:resnet18")


class Foreign(nn.Module):
    """As torchvision's models are: the last linear layer classifies."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 6))
        self.classifier = nn.Sequential(nn.Dropout(0.5), nn.Linear(6, 1000))

    def forward(self, batch):
        return self.classifier(self.features(batch))


@pytest.fixture
def torchvision(monkeypatch):
    package, models = ModuleType("torchvision"), ModuleType("torchvision.models")
    asked = []

    def get_model(name, *, weights):
        asked.append((name, weights))
        if name == "filters":
            return nn.Flatten()
        if name != "foreign":
            raise ValueError(f"Unknown model {name}")
        return Foreign()

    models.get_model = get_model
    monkeypatch.setitem(sys.modules, "torchvision", package)
    monkeypatch.setitem(sys.modules, "torchvision.models", models)
    return asked


def test_a_net_of_torchvision_loses_its_classification_layer(torchvision):
    chance = torch.get_rng_state()
    net, twin = named("torchvision:foreign"), named("torchvision:foreign", pretrained=True)
    assert torchvision == [("foreign", None), ("foreign", "DEFAULT")]
    assert net.head.in_features == 6
    assert torch.equal(net.trunk.features[1].weight, twin.trunk.features[1].weight)
    assert torch.equal(torch.get_rng_state(), chance)


def test_models_that_torchvision_does_not_have(torchvision):
    with pytest.raises(InputError, match=r"torchvision knows no model 'nobody'; see torchvision.models.list_models"):
        named("torchvision:nobody")
    with pytest.raises(InputError, match="torchvision:filters has no linear layer at its end"):
        named("torchvision:filters")


def test_a_net_of_timm_is_asked_for_without_its_classification_layer(monkeypatch):
    timm = ModuleType("timm")
    timm.is_model = lambda name: name == "foreign"
    timm.create_model = lambda name, *, pretrained, num_classes: nn.Sequential(nn.Flatten(), nn.Linear(3072, 6))
    monkeypatch.setitem(sys.modules, "timm", timm)
    assert named("timm:foreign").head.in_features == 6
    with pytest.raises(InputError, match=r"timm knows no model 'nobody'; see timm.list_models\(\)"):
        trunk_by_name("timm:nobody", PICTURES, generator=seeded())
