"""Votes that know how likely each expert is right on each class."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import clipped, panels

from defero.core.law import Law
from defero.decide.votes import bayes_vote


def drawn(seed, *, smallest_n=1):
    rng = np.random.default_rng(seed)
    n, j, k = rng.integers(smallest_n, 5), rng.integers(1, 6), rng.integers(2, 5)
    errors = (1 - np.eye(k)) * rng.uniform(0.1, 1.0, (k, k))
    known = {"right": rng.random((n, j, k)), "law": Law(errors / errors.sum(axis=1, keepdims=True))}
    return rng.integers(-1, k, size=(n, j)), known, rng.dirichlet(np.ones(k), size=n), rng


def chance(known, i, j, m, y):
    right = clipped(known["right"][i, j, y])
    return right if m == y else (1 - right) * known["law"].errors[y, m]


def slow_vote(answers, heard, known, model, i):
    belief = np.array([clipped(share) for share in model[i]])
    for j in np.flatnonzero(heard[i] & (answers[i] >= 0)):
        belief = belief * [chance(known, i, j, answers[i, j], y) for y in range(len(belief))]
    return belief / belief.sum()


@given(st.integers(0, 10_000))
def test_bayes_vote_is_the_slow_twin(seed):
    answers, known, model, rng = drawn(seed)
    heard = rng.random(answers.shape) < 0.7
    vote = bayes_vote(answers, heard, np.full(answers.shape[1], 0.5), model, **known)
    for i in range(len(answers)):
        belief = slow_vote(answers, heard, known, model, i)
        assert vote.label[i] == belief.argmax()
        assert vote.confidence[i] == pytest.approx(belief.max(), abs=3e-6)


@given(panels(smallest_k=2))
def test_skill_alike_for_all_classes_changes_nothing(panel):
    answers, mask, experts, model = panel
    k = model.shape[1]
    right = np.repeat(experts[:, :, None], k, axis=2)
    plain, told = bayes_vote(answers, mask, experts, model), bayes_vote(answers, mask, experts, model, right=right)
    assert np.array_equal(plain.label, told.label)
    assert plain.confidence == pytest.approx(told.confidence)


@given(st.integers(0, 10_000))
def test_promises_are_kept_over_all_that_may_be_said(seed):
    # With the true skill the mean confidence is the chance of being right: a law of Bayes' rule, summed exactly.
    _, known, model, _ = drawn(seed)
    j, k = min(known["right"].shape[1], 3), known["right"].shape[2]
    said = np.array(list(product(range(k), repeat=j)))
    one = {"right": np.repeat(np.clip(known["right"][:1, :j], 0.01, 0.99), len(said), axis=0), "law": known["law"]}
    prior = np.clip(model[0], 0.02, None)
    prior = np.repeat((prior / prior.sum())[None], len(said), axis=0)
    vote = bayes_vote(said, np.ones(said.shape, bool), np.full(j, 0.5), prior, **one)
    given_truth = np.array(
        [[np.prod([chance(one, 0, a, m, y) for a, m in enumerate(row)]) for y in range(k)] for row in said]
    )
    joint = prior * given_truth
    assert joint.sum() == pytest.approx(1)
    right = joint[np.arange(len(said)), vote.label].sum()
    assert (joint.sum(axis=1) * vote.confidence).sum() == pytest.approx(right)


def test_who_errs_on_one_class_by_hand():
    # Right on 95 % of class 0 and 60 % of class 1: "1" is good evidence, 0.6 / 0.05; "0" is poor, 0.95 / 0.4.
    right = np.array([[[0.95, 0.6]], [[0.95, 0.6]]])
    vote = bayes_vote([[1], [0]], [[True], [True]], [0.775], [[0.7, 0.3], [0.25, 0.75]], right=right)
    assert vote.label.tolist() == [1, 1]
    assert vote.confidence == pytest.approx([0.18 / 0.215, 0.3 / 0.5375])
    # As one number, 0.775, the second answer would win and the first would be less sure.
    plain = bayes_vote([[1], [0]], [[True], [True]], [0.775], [[0.7, 0.3], [0.25, 0.75]])
    assert plain.label.tolist() == [1, 0]
