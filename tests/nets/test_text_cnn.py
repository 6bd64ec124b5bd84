"""The text net: parameters by hand, a slow twin, the paper's sizes."""

import pytest
import torch
from small_nets import seeded

from defero.core.errors import InputError
from defero.nets import DeferralNet, TextCnn


def test_the_paper_has_300_filters_of_width_3_4_and_5():
    trunk = TextCnn(generator=seeded())
    assert sum(weight.numel() for weight in trunk.parameters()) == 300 * (3 + 4 + 5) + 3 * 300
    assert trunk.out_features == 900
    assert trunk.dropout.p == 0.5


def test_a_slow_twin():
    trunk = TextCnn(filters=4, widths=(2, 3), generator=seeded()).eval()
    vectors = torch.randn(3, 6, generator=seeded(1))
    slow = torch.zeros(3, 8)
    trunk.requires_grad_(False)
    for place, layer in enumerate(trunk.filters):
        width = layer.kernel_size[0]
        for item in range(3):
            for one in range(4):
                seen = [
                    float(vectors[item, at : at + width] @ layer.weight[one, 0] + layer.bias[one])
                    for at in range(6 - width + 1)
                ]
                slow[item, 4 * place + one] = max(0.0, *seen)
    assert torch.allclose(trunk(vectors), slow, atol=1e-6)


def test_the_two_branches_of_the_paper():
    net = DeferralNet.build(
        TextCnn(generator=seeded(0)),
        torch.zeros(2, 100),
        n_classes=3,
        n_experts=10,
        expert_trunk=TextCnn(generator=seeded(1)),
        generator=seeded(2),
    )
    assert sum(weight.numel() for weight in net.parameters()) == 2 * 4500 + 901 * 3 + 901 * 10


def test_weights_follow_the_law_of_convolutions():
    layer = TextCnn(filters=5000, widths=(4,), generator=seeded()).filters[0]
    assert layer.weight.abs().max() <= 0.5
    assert layer.weight.std().item() == pytest.approx(0.5 / 3**0.5, rel=0.02)


def test_vectors_shorter_than_a_filter():
    with pytest.raises(InputError, match=r"at least 5 coordinates, .* got 4"):
        TextCnn(generator=seeded())(torch.zeros(2, 4))


@pytest.mark.parametrize("options", [{"filters": 0}, {"widths": ()}, {"widths": (0, 3)}])
def test_no_filters(options):
    with pytest.raises(InputError, match="at least 1, got"):
        TextCnn(generator=seeded(), **options)
