"""Muon: what one step is, exactly, and that it learns."""

import pytest
import torch
from torch import nn

from defero.training import OPTIMISERS, LoopSettings
from defero_verma2023.training.muon import Muon, orthogonal_factor


@pytest.mark.parametrize("shape", [(6, 20), (20, 6), (8, 8)])
def test_the_factor_has_the_singular_vectors_and_values_near_one(shape: tuple[int, int]) -> None:
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    factor = orthogonal_factor(matrix[None])[0]
    inside = left.T @ factor @ right.T  # diagonal where the singular vectors are the matrix's own
    assert torch.allclose(inside, torch.diag(inside.diagonal()), atol=1e-8)
    assert values.max() / values.min() > 1.5
    assert inside.diagonal().min() > 0.5
    assert inside.diagonal().max() < 1.3


def test_a_kernel_turns_by_the_rate_and_keeps_its_length() -> None:
    torch.manual_seed(0)
    kernel = nn.Parameter(torch.randn(4, 3, 3, 3, dtype=torch.float64))
    before = kernel.detach().clone()
    kernel.grad = torch.randn_like(kernel)
    Muon([kernel], lr=0.01, momentum=0.9).step()
    after = kernel.detach()
    assert after.norm() == pytest.approx(before.norm())
    turned = (after - before).norm() / before.norm()
    assert turned == pytest.approx(0.01, rel=0.05)


def test_the_same_gradient_at_another_scale_is_the_same_step() -> None:
    torch.manual_seed(0)
    start, gradient = torch.randn(4, 3, 3, 3, dtype=torch.float64), torch.randn(4, 3, 3, 3, dtype=torch.float64)
    ends = []
    for scale in (1.0, 1e4):
        kernel = nn.Parameter(start.clone())
        kernel.grad = gradient * scale
        Muon([kernel], lr=0.1).step()
        ends.append(kernel.detach())
    assert torch.allclose(*ends, atol=1e-10)


def test_all_else_is_sgd_with_nesterov() -> None:
    torch.manual_seed(0)
    ours, theirs = (nn.Parameter(torch.arange(6.0, dtype=torch.float64).reshape(2, 3)) for _ in range(2))
    muon = Muon([ours], lr=0.1, momentum=0.9, weight_decay=0.01)
    sgd = torch.optim.SGD([theirs], lr=0.1, momentum=0.9, weight_decay=0.01, nesterov=True)
    for _ in range(4):
        gradient = torch.randn(2, 3, dtype=torch.float64)
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        muon.step()
        sgd.step()
    assert torch.allclose(ours, theirs, atol=1e-12)


def test_loop_settings_gives_it_and_a_small_net_learns() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    )
    head = nn.Linear(8, 2)
    whole = nn.Sequential(net, head)
    settings = LoopSettings(optimiser="muon", learning_rate=0.1)
    optimiser = OPTIMISERS.find("muon")(list(whole.parameters()), settings)
    assert isinstance(optimiser, Muon)
    pictures = torch.randn(128, 1, 8, 8)
    labels = (torch.arange(128) % 2).long()
    pictures[labels == 1] += torch.linspace(-1, 1, 8)  # a slope from left to right
    losses = []
    for _ in range(60):
        loss = nn.functional.cross_entropy(whole(pictures), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


def test_a_kernel_without_a_gradient_stays() -> None:
    kernel, other = nn.Parameter(torch.ones(2, 1, 3, 3)), nn.Parameter(torch.ones(2))
    other.grad = torch.ones(2)
    Muon([kernel, other], lr=0.1).step()
    assert torch.equal(kernel.detach(), torch.ones(2, 1, 3, 3))
    assert not torch.equal(other.detach(), torch.ones(2))


def test_the_layout_in_memory_and_the_company_change_nothing() -> None:
    torch.manual_seed(0)
    shapes = [(4, 3, 3, 3), (4, 2, 1, 1), (6, 3, 3, 3)]
    starts = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    gradients = [torch.randn(shape, dtype=torch.float64) for shape in shapes]

    def after(
        together: bool, layout: torch.memory_format, of_gradient: torch.memory_format = torch.contiguous_format
    ) -> list[torch.Tensor]:
        kernels = [nn.Parameter(start.clone().to(memory_format=layout)) for start in starts]
        for kernel, gradient in zip(kernels, gradients, strict=True):
            kernel.grad = gradient.clone().to(memory_format=of_gradient)
        for chosen in [kernels] if together else [[kernel] for kernel in kernels]:
            Muon(chosen, lr=0.1).step()
        return [kernel.detach() for kernel in kernels]

    alone = after(False, torch.contiguous_format)
    for together in (False, True):
        for layout in (torch.contiguous_format, torch.channels_last):
            for of_gradient in (torch.contiguous_format, torch.channels_last):
                ends = after(together, layout, of_gradient)
                assert all(torch.allclose(*pair, atol=1e-12) for pair in zip(alone, ends, strict=True))


def test_a_kernel_of_zeros_stays_finite() -> None:
    empty, other = nn.Parameter(torch.zeros(4, 3, 3, 3)), nn.Parameter(torch.ones(4, 3, 3, 3))
    for kernel in (empty, other):
        kernel.grad = torch.randn(4, 3, 3, 3, generator=torch.Generator().manual_seed(0))
    Muon([empty, other], lr=0.1).step()
    assert torch.equal(empty.detach(), torch.zeros(4, 3, 3, 3))
    assert torch.isfinite(other.detach()).all()
