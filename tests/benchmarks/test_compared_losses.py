"""Exact properties of the losses that are compared and not part of the library."""

import math

import pytest
import torch
from benchmarks.many_experts.losses import averaged, picce, realizable
from hypothesis import given
from hypothesis import strategies as st

LOSSES = {"averaged": averaged, "picce": picce, "realizable": realizable}
every_loss = pytest.mark.parametrize("name", LOSSES)


def batch(seed, n=4, k=3, j=3):
    rng = torch.Generator().manual_seed(seed)
    normal = {"generator": rng, "dtype": torch.float64}
    return {
        "class_logits": torch.randn(n, k, **normal) * 3,
        "expert_logits": torch.randn(n, j, **normal) * 3,
        "labels": torch.randint(k, (n,), generator=rng),
        "correct": torch.randn(n, j, **normal) > 0,
        "observed": torch.randn(n, j, **normal) > -0.5,
    }


def slow(name, classes, experts, label, correct, observed):
    """Return the value of one case, written as loops."""
    right = [expert for expert, good, seen in zip(experts, correct, observed, strict=True) if good and seen]
    if name == "averaged":
        terms = [
            math.log1p(math.exp(-expert)) if good else math.log1p(math.exp(expert))
            for expert, good, seen in zip(experts, correct, observed, strict=True)
            if seen
        ]
        total = math.log(sum(math.exp(one) for one in classes))
        return total - classes[label] + (sum(terms) / len(terms) if terms else 0.0)
    total = math.log(sum(math.exp(one) for one in [*classes, *experts]))
    if name == "picce":
        return total - classes[label] + (total - max(right) if right else 0.0)
    return total - math.log(math.exp(classes[label]) + sum(math.exp(one) for one in right))


@every_loss
@given(seed=st.integers(0, 10**6), k=st.integers(2, 5), j=st.integers(1, 5))
def test_slow_twin_agrees(name, seed, k, j):
    b = batch(seed, k=k, j=j)
    rows = zip(*(value.tolist() for value in b.values()), strict=True)
    twin = torch.tensor([slow(name, *row) for row in rows], dtype=torch.float64)
    torch.testing.assert_close(LOSSES[name](**b), twin, atol=1e-9, rtol=1e-9)


@every_loss
@given(seed=st.integers(0, 10**6), data=st.data())
def test_permuting_experts_keeps_the_value_and_permutes_the_gradient(name, seed, data):
    b = batch(seed)
    order = torch.tensor(data.draw(st.permutations(range(3))))
    moved = b | {key: b[key][:, order] for key in ("expert_logits", "correct", "observed")}
    gradients = []
    for one in (b, moved):
        logits = one["expert_logits"].clone().requires_grad_()
        value = LOSSES[name](**(one | {"expert_logits": logits}))
        value.sum().backward()
        gradients.append((value.detach(), logits.grad))
    torch.testing.assert_close(gradients[0][0], gradients[1][0])
    torch.testing.assert_close(gradients[0][1][:, order], gradients[1][1])


@every_loss
@given(seed=st.integers(0, 10**6))
def test_whether_an_unheard_expert_was_right_never_touches_the_loss(name, seed):
    b = batch(seed)
    other = b | {"correct": torch.where(b["observed"], b["correct"], ~b["correct"])}
    torch.testing.assert_close(LOSSES[name](**b), LOSSES[name](**other), atol=0, rtol=0)


def test_averaged_is_least_at_the_true_probabilities():
    """On a finite problem: classes 0.5, 0.3, 0.2, and experts right on 0.9 and 0.4 of the cases, drawn apart."""
    classes, skills = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), (0.9, 0.4)
    cells = [(y, (a, b)) for y in range(3) for a in (True, False) for b in (True, False)]
    weight = torch.stack(
        [
            classes[y] * math.prod(skill if right else 1 - skill for skill, right in zip(skills, rights, strict=True))
            for y, rights in cells
        ]
    )
    labels, correct = torch.tensor([y for y, _ in cells]), torch.tensor([rights for _, rights in cells])
    class_logits = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    expert_logits = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [class_logits, expert_logits], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-15
    )

    def closure():
        optimiser.zero_grad()
        n = len(cells)
        value = (weight * averaged(class_logits.expand(n, 3), expert_logits.expand(n, 2), labels, correct)).sum()
        value.backward()
        return value

    optimiser.step(closure)
    torch.testing.assert_close(class_logits.softmax(0).detach(), classes, atol=1e-6, rtol=0)
    torch.testing.assert_close(
        expert_logits.sigmoid().detach(), torch.tensor(skills, dtype=torch.float64), atol=1e-6, rtol=0
    )
