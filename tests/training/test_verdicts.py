"""Verdicts listed one by one give the losses that a grid of flags gives, whole, padded or in pieces."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from defero.core.answers import Answers
from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training import verdicts as verdicts_module
from defero.training.dense import fit_full_batch
from defero.training.verdicts import Examples, Verdicts, mean_loss, weighted_loss

LOSSES = ("softmax", "ova", "decoupled", "asymmetric", "moe")
grids = st.tuples(st.integers(1, 9), st.integers(1, 6), st.floats(0, 1), st.integers(0, 2**32))


def grid(n_items, n_experts, share, seed):
    rng = np.random.default_rng(seed)
    observed = rng.random((n_items, n_experts)) < share
    return torch.tensor(observed & (rng.random(observed.shape) < 0.6)), torch.tensor(observed)


def listed(correct, observed):
    items, experts = observed.nonzero(as_tuple=True)
    counts = observed.sum(dim=1)
    starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    return Verdicts(correct[items, experts], expert_idx=experts, starts=starts)


def back_to_cells(verdicts, n_experts):
    """Find each logit's expert by its value: the logits of a row are 0, 1, ..."""
    n_items = len(verdicts)
    numbers = torch.arange(n_experts, dtype=torch.float64).repeat(n_items, 1)
    logits, right, there = verdicts.meet(numbers)
    correct = torch.zeros(n_items, n_experts, dtype=torch.bool)
    observed = correct.clone()
    for i in range(n_items):
        for place in range(logits.shape[1]):
            if there[i, place]:
                observed[i, int(logits[i, place])] = True
                correct[i, int(logits[i, place])] = right[i, place]
    return correct, observed


def examples_of(observed, verdicts, *, seed=0):
    n_items, n_experts = observed.shape
    rng = np.random.default_rng(seed)
    features = torch.tensor(rng.normal(size=(n_items, 3)))
    labels = torch.tensor(rng.integers(0, 3, n_items))
    return Examples(features, labels, torch.tensor(rng.random(n_items) + 0.1), verdicts, n_experts)


def net_for(n_experts, *, loss, hidden=(), seed=0):
    net = DenseNet(
        3,
        n_classes=3,
        n_experts=n_experts,
        class_hidden=hidden,
        expert_hidden=hidden,
        model_column=loss == "moe",
        generator=torch.Generator().manual_seed(seed),
    ).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1))
    return net


def gradients(net, call):
    net.zero_grad()
    value = call()
    value.backward()
    return value.item(), [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in net.parameters()]


@given(grids, st.data())
def test_listed_answers_are_the_cells_they_are_of(shape, data):
    correct, observed = grid(*shape)
    n_items, n_experts = observed.shape
    verdicts = listed(correct, observed)
    rows = data.draw(st.lists(st.integers(0, n_items - 1), max_size=12))
    first, last = sorted(data.draw(st.tuples(st.integers(0, n_items), st.integers(0, n_items))))
    for chosen in (slice(None), torch.tensor(rows, dtype=torch.long), slice(first, last)):
        part = verdicts.take(chosen)
        for right, seen in (back_to_cells(part, n_experts), part.cells(n_experts), part.padded().cells(n_experts)):
            assert torch.equal(seen, observed[chosen])
            assert torch.equal(right, correct[chosen])


@pytest.mark.parametrize("name", LOSSES)
@given(shape=grids, hidden=st.sampled_from([(), (4,)]))
def test_a_loss_and_its_gradient_are_those_of_the_cells(name, hidden, shape):
    correct, observed = grid(*shape)
    net, loss = net_for(observed.shape[1], loss=name, hidden=hidden), DeferralLoss(name)
    found = [
        gradients(net, lambda verdicts=verdicts: weighted_loss(net, loss, examples_of(observed, verdicts)))
        for verdicts in (Verdicts(correct, observed), listed(correct, observed))
    ]
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-12)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", [Verdicts, listed])
@pytest.mark.parametrize("name", LOSSES)
def test_pieces_add_up_to_the_whole(name, form, monkeypatch):
    correct, observed = grid(41, 6, 0.4, 0)
    examples = examples_of(observed, form(correct, observed))
    net, loss = net_for(6, loss=name), DeferralLoss(name)
    assert list(examples.pieces()) == [examples]
    whole, slope = gradients(net, lambda: weighted_loss(net, loss, examples))
    for name in ("CELLS_AT_ONCE", "LOGITS_AT_ONCE"):
        monkeypatch.setattr(verdicts_module, name, 60)
    pieces = list(examples.pieces())
    assert [len(piece) for piece in pieces] == [10, 10, 10, 10, 1]
    total = examples.weight.sum()
    parts, slopes = gradients(net, lambda: sum(weighted_loss(net, loss, piece, total_weight=total) for piece in pieces))
    assert parts == pytest.approx(whole, rel=1e-12)
    assert mean_loss(net, loss, examples) == pytest.approx(whole, rel=1e-12)
    for one, other in zip(slope, slopes, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("form", [Verdicts, listed])
def test_full_batches_in_pieces_end_where_one_piece_ends(form, monkeypatch):
    correct, observed = grid(200, 5, 0.5, 1)
    examples = examples_of(observed, form(correct, observed))
    ends = []
    for at_once in (10**6, 35):
        for name in ("CELLS_AT_ONCE", "LOGITS_AT_ONCE"):
            monkeypatch.setattr(verdicts_module, name, at_once)
        net = net_for(5, loss="ova")
        told = []
        fit_full_batch(net, DeferralLoss("ova"), examples, weight_decay=0.1, max_iterations=500, on_step=told.append)
        penalty = 0.05 * sum((p * p).sum().item() for name, p in net.named_parameters() if name.endswith("weight"))
        assert told[-1] == pytest.approx(mean_loss(net, DeferralLoss("ova"), examples) + penalty, rel=1e-6)
        ends.append([p.detach().clone() for p in net.parameters()])
    for one, other in zip(*ends, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-4)


def test_an_item_that_nobody_answered_and_a_batch_without_answers():
    verdicts = Verdicts(torch.tensor([True, False]), expert_idx=torch.tensor([3, 1]), starts=torch.tensor([0, 0, 2]))
    logits, correct, observed = verdicts.meet(torch.arange(8.0).reshape(2, 4))
    assert logits[1].tolist() == [7.0, 5.0]
    assert correct.tolist() == [[False, False], [True, False]]
    assert observed.tolist() == [[False, False], [True, True]]
    for silent in (verdicts.take(torch.tensor([0])), verdicts.take(slice(0, 0))):
        assert [part.shape for part in silent.meet(torch.zeros(len(silent), 4))] == [(len(silent), 0)] * 3


def test_the_form_goes_by_how_many_cells_there_are_and_how_many_of_them_are_answered(monkeypatch):
    labels = np.array([0, 1, 1, 0])

    def form(n_experts):
        answers = Answers.from_triplets([0, 2], [1, 3], [0, 0], n_items=4, n_experts=n_experts)
        return Verdicts.from_answers(answers, labels)

    small = form(4)
    assert small.starts is None
    assert small.observed.nonzero().tolist() == [[0, 1], [2, 3]]
    assert small.correct.nonzero().tolist() == [[0, 1]]
    monkeypatch.setattr(verdicts_module, "CELLS_AT_ONCE", 1)
    assert form(4).starts is None  # two of sixteen: an eighth
    few = form(5)
    assert few.starts.tolist() == [0, 1, 1, 2, 2]
    assert few.correct.tolist() == [True, False]
    monkeypatch.setattr(verdicts_module, "CELLS_AT_ONCE", 20)
    assert form(5).starts is None


@given(grids)
def test_full_tables_and_lists_of_the_same_answers_are_judged_alike(shape):
    correct, observed = grid(*shape)
    labels = np.arange(len(correct)) % 3
    codes = np.where(correct, labels[:, None], (labels[:, None] + 1) % 3)
    codes[~observed.numpy()] = -1
    cells = Answers.from_cells(codes)
    listed_ones = Answers.from_triplets(*cells.triplets(), n_items=len(codes), n_experts=codes.shape[1])
    for verdicts in (Verdicts.from_answers(cells, labels), Verdicts.from_answers(listed_ones, labels)):
        right, seen = verdicts.cells(codes.shape[1])
        assert torch.equal(right, correct)
        assert torch.equal(seen, observed)
        assert (verdicts.observed is None) == bool(observed.all())


def test_no_verdicts_on_the_same_items():
    correct, observed = grid(7, 4, 0.5, 0)
    for verdicts in (Verdicts(correct, observed), listed(correct, observed)):
        none = verdicts.without_experts()
        logits, right, _ = none.meet(torch.zeros(7, 4))
        assert logits.shape == right.shape == (7, 0)
        assert none.at_once == verdicts.at_once


def test_rows_of_codes():
    answers, labels = torch.tensor([[0, -1], [1, 1], [0, 2]]), torch.tensor([0, 1, 2])
    part = Verdicts.from_codes(answers, labels).take(torch.tensor([2, 0]))
    assert part.correct.tolist() == [[False, True], [True, False]]
    assert part.observed.tolist() == [[True, True], [True, False]]
    assert Verdicts.from_codes(torch.tensor([[0], [1]]), torch.tensor([0, 0])).observed is None


def test_codes_of_other_items_are_refused():
    with pytest.raises(InputError, match=r"answers must be \(n, J\) with n = 3 items"):
        Verdicts.from_codes(torch.zeros(2, 1, dtype=torch.long), torch.zeros(3, dtype=torch.long))
