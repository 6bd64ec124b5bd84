"""Recorded answers, and answers drawn anew for every epoch."""

import numpy as np
import pytest
import torch

from defero.core.errors import InputError
from defero.training.answer_source import FixedAnswers, RedrawnAnswers, RedrawnByClass
from defero.training.verdicts import Verdicts


def test_verdicts_of_other_items_are_refused():
    with pytest.raises(InputError, match="verdicts must have one row per item: 3 items, got 2"):
        FixedAnswers(Verdicts(torch.ones(2, 1, dtype=torch.bool))).place(torch.zeros(3, dtype=torch.long))


def test_listed_verdicts_are_padded_once():
    listed = Verdicts(torch.tensor([True]), expert_idx=torch.tensor([4]), starts=torch.tensor([0, 1, 1]))
    assert FixedAnswers(listed).at(0).correct.tolist() == [[True], [False]]


def guesses(labels, rng):
    return rng.integers(3, size=(len(labels), 4))


def test_redrawn_answers_differ_by_epoch_and_come_again():
    labels = torch.arange(300) % 3
    first, second = RedrawnAnswers(guesses, seed=1), RedrawnAnswers(guesses, seed=1)
    for source in (first, second):
        source.place(labels)
    epochs = [first.at(epoch).correct for epoch in range(4)]
    assert not torch.equal(epochs[0], epochs[1])
    # A run that resumes asks for a later epoch first.
    assert torch.equal(second.at(3).correct, epochs[3])
    assert torch.equal(second.at(0).correct, epochs[0])
    slow = guesses(labels.numpy(), np.random.default_rng([1, 2])) == labels.numpy()[:, None]
    np.testing.assert_array_equal(epochs[2].numpy(), slow)


def test_an_error_of_the_draw_reaches_the_loop():
    def broken(labels, rng):
        raise ValueError("no such expert")

    source = RedrawnAnswers(broken, seed=0)
    source.place(torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="no such expert"):
        source.at(0)


def test_drawn_by_class_follows_its_table():
    labels = torch.arange(40_000) % 2
    source = RedrawnByClass(torch.tensor([[1.0, 0.25, 0.0], [0.5, 0.25, 0.9]]), seed=4)
    source.place(labels)
    first, again = source.at(0).correct, source.at(0).correct
    assert torch.equal(first, again)
    assert not torch.equal(first, source.at(1).correct)
    shares = torch.stack([first[labels == k].double().mean(0) for k in (0, 1)])
    # Five standard deviations of a share of 20,000.
    expected = torch.tensor([[1.0, 0.25, 0.0], [0.5, 0.25, 0.9]], dtype=torch.double)
    torch.testing.assert_close(shares, expected, rtol=0, atol=5 * 0.5 / 20_000**0.5)
    assert first[labels == 0][:, 0].all()
    assert not first[labels == 0][:, 2].any()
