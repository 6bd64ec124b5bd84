"""Exact properties of the losses that are compared and not part of the library."""

import itertools
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
    heard = [expert for expert, seen in zip(experts, observed, strict=True) if seen]
    total = math.log(sum(math.exp(one) for one in [*classes, *heard]))
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


@every_loss
@given(seed=st.integers(0, 10**6), column=st.integers(0, 2))
def test_a_masked_expert_equals_an_absent_one_and_gets_no_gradient(name, seed, column):
    b = batch(seed)
    b["observed"][:, column] = False
    others = [j for j in range(3) if j != column]
    without = b | {key: b[key][:, others] for key in ("expert_logits", "correct", "observed")}
    logits = b["expert_logits"].clone().requires_grad_()
    value = LOSSES[name](**(b | {"expert_logits": logits}))
    torch.testing.assert_close(value, LOSSES[name](**without), atol=1e-12, rtol=1e-12)
    value.sum().backward()
    assert (logits.grad[~b["observed"]] == 0).all()


def minimiser(loss, classes, skills):
    """Return the logits of least risk where y ~ classes and experts are right with their skills, drawn apart."""
    classes = torch.tensor(classes, dtype=torch.float64)
    cells = list(itertools.product(range(len(classes)), *[(True, False)] * len(skills)))
    weight = torch.stack(
        [
            classes[y] * math.prod(skill if right else 1 - skill for skill, right in zip(skills, rights, strict=True))
            for y, *rights in cells
        ]
    )
    labels, correct = torch.tensor([y for y, *_ in cells]), torch.tensor([rights for _, *rights in cells])
    class_logits = torch.zeros(len(classes), dtype=torch.float64, requires_grad=True)
    expert_logits = torch.linspace(0.1, 0.0, len(skills), dtype=torch.float64).requires_grad_()  # no tie at the start
    optimiser = torch.optim.LBFGS(
        [class_logits, expert_logits],
        max_iter=500,
        tolerance_grad=1e-12,
        tolerance_change=1e-15,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimiser.zero_grad()
        wide = class_logits.expand(len(cells), -1), expert_logits.expand(len(cells), -1)
        value = (weight * loss(*wide, labels, correct)).sum()
        value.backward()
        return value

    optimiser.step(closure)
    return class_logits.detach(), expert_logits.detach()


def test_averaged_is_least_at_the_true_probabilities():
    class_logits, expert_logits = minimiser(averaged, (0.5, 0.3, 0.2), (0.9, 0.4))
    assert class_logits.softmax(0).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=1e-6)
    assert expert_logits.sigmoid().tolist() == pytest.approx([0.9, 0.4], abs=1e-6)


def test_picce_knows_the_best_expert_and_of_the_other_only_what_they_add():
    """With V = P(somebody is right) the shares are eta_k, p_1, and P(only the second is right), all over 1 + V."""
    logits = torch.cat(minimiser(picce, (0.5, 0.3, 0.2), (0.9, 0.4)))
    only_second, some = 0.1 * 0.4, 1 - 0.1 * 0.6
    expected = [share / (1 + some) for share in (0.5, 0.3, 0.2, 0.9, only_second)]
    assert logits.softmax(0).tolist() == pytest.approx(expected, abs=1e-6)


def test_realizable_asks_only_above_two_thirds():
    """Two equal classes and one expert of skill p: the shares are 1 - p for each class and 2 p - 1."""
    for p in (0.6, 0.8):
        logits = torch.cat(minimiser(realizable, (0.5, 0.5), (p,)))
        assert logits.softmax(0).tolist() == pytest.approx([1 - p, 1 - p, 2 * p - 1], abs=1e-6)
        assert (logits.argmax() == 2) == (p > 2 / 3)
