"""The head: the order of its columns, its start, and single precision at the end."""

import pytest
import torch
from small_nets import seeded

from defero.core.errors import InputError
from defero.nets import DeferralHead


def test_columns_are_classes_then_experts_then_the_model():
    head = DeferralHead(2, n_classes=2, n_experts=3, model_column=True)
    with torch.no_grad():
        head.weight.copy_(torch.arange(12.0).reshape(6, 2))
        head.bias.copy_(torch.arange(6.0) * 100)
    logits = head(torch.tensor([[1.0, 2.0]]))  # column c: 2c + 2(2c + 1) + 100c = 106c + 2
    assert logits.classes.tolist() == [[2.0, 108.0]]
    assert logits.experts.tolist() == [[214.0, 320.0, 426.0]]
    assert logits.model.tolist() == [532.0]


def test_a_head_has_one_matrix_and_one_bias():
    head = DeferralHead(7, n_classes=10, n_experts=4)
    assert {name: tuple(p.shape) for name, p in head.named_parameters()} == {"weight": (14, 7), "bias": (14,)}


def test_without_a_generator_all_starts_at_zero():
    assert all((p == 0).all() for p in DeferralHead(5, 3, 2).parameters())


def test_drawn_weights_follow_the_law_of_linear_layers():
    head = DeferralHead(400, n_classes=300, n_experts=200, generator=seeded())
    assert head.weight.abs().max() <= 1 / 20
    assert head.weight.std().item() == pytest.approx(1 / 20 / 3**0.5, rel=0.01)
    assert (head.bias == 0).all()


@pytest.mark.parametrize(("n_classes", "n_experts"), [(3, 0), (0, 3)])
def test_one_kind_of_column_may_be_missing(n_classes, n_experts):
    logits = DeferralHead(4, n_classes, n_experts)(torch.zeros(2, 4))
    assert logits.classes.shape == (2, n_classes)
    assert logits.experts.shape == (2, n_experts)


@pytest.mark.parametrize(
    ("inside", "outside"),
    [(torch.bfloat16, torch.float32), (torch.float16, torch.float32), (torch.float64, torch.float64)],
)
def test_logits_leave_in_single_precision_at_least(inside, outside):
    logits = DeferralHead(4, 3, 2, model_column=True).to(inside)(torch.zeros(2, 4, dtype=inside))
    assert {part.dtype for part in logits} == {outside}


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 3, 2), "in_features must be at least 1, got 0"),
        ((4, 0, 0), "nor both 0, got 0 and 0"),
        ((4, 3, -1), "must not be negative, nor both 0, got 3 and -1"),
    ],
)
def test_impossible_sizes(sizes, message):
    with pytest.raises(InputError, match=message):
        DeferralHead(*sizes)
