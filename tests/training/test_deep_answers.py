"""Verdicts against the marks of the other loops, and answers drawn anew."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.training.deep.answers.answer_source import FixedAnswers, RedrawnAnswers, RedrawnByClass
from defero.training.deep.answers.verdicts import Verdicts
from defero.training.marks import CellMarks, ListedMarks


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 5), st.floats(0, 1))
def test_listed_marks_keep_what_was_said(seed, n_items, n_experts, share):
    rng = np.random.default_rng(seed)
    observed = rng.random((n_items, n_experts)) < share
    correct = rng.random((n_items, n_experts)) < 0.5
    items, experts = np.nonzero(observed)
    starts = np.concatenate([[0], np.cumsum(observed.sum(1))])
    listed = ListedMarks(torch.from_numpy(starts), torch.from_numpy(experts), torch.from_numpy(correct[items, experts]))
    cells = Verdicts.from_marks(listed).as_cells(n_experts)
    np.testing.assert_array_equal(cells.observed.numpy(), observed)
    np.testing.assert_array_equal(cells.correct.numpy(), correct & observed)


def test_rows_of_cells_and_of_codes():
    answers, labels = torch.tensor([[0, -1], [1, 1], [0, 2]]), torch.tensor([0, 1, 2])
    verdicts = Verdicts.from_codes(answers, labels)
    part = verdicts.take(torch.tensor([2, 0]))
    assert part.correct.tolist() == [[False, True], [True, False]]
    assert part.observed.tolist() == [[True, True], [True, False]]
    same = Verdicts.from_marks(CellMarks(verdicts.correct, verdicts.observed))
    assert torch.equal(same.correct, verdicts.correct)


def test_where_all_answered_no_mask_is_carried():
    assert Verdicts.from_codes(torch.tensor([[0], [1]]), torch.tensor([0, 0])).observed is None
    full = torch.ones(2, 1, dtype=torch.bool)
    assert Verdicts.from_marks(CellMarks(full, full)).observed is None


def test_wrong_rows_are_refused():
    with pytest.raises(InputError, match=r"answers must be \(n, J\) with n = 3 items"):
        Verdicts.from_codes(torch.zeros(2, 1, dtype=torch.long), torch.zeros(3, dtype=torch.long))
    with pytest.raises(InputError, match="verdicts must have one row per item: 3 items, got 2"):
        FixedAnswers(Verdicts(torch.ones(2, 1, dtype=torch.bool))).place(torch.zeros(3, dtype=torch.long))


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
    first.close()
    second.close()
    assert torch.equal(first.at(1).correct, epochs[1])
    first.close()


def test_an_error_of_the_draw_reaches_the_loop():
    def broken(labels, rng):
        raise ValueError("no such expert")

    source = RedrawnAnswers(broken, seed=0)
    source.place(torch.zeros(2, dtype=torch.long))
    with pytest.raises(ValueError, match="no such expert"):
        source.at(0)
    source.close()


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
