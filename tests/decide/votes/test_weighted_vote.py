import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import clipped, panels

from defero.core import InputError
from defero.decide.votes import bayes_vote, log_odds_weights, majority_vote, weighted_vote


def slow_sums(answers, mask, experts, k):
    sums = [[0.0] * k for _ in answers]
    for i, said in enumerate(answers):
        for j, m in enumerate(said):
            if mask[i][j] and m >= 0:
                p = clipped(experts[i][j])
                sums[i][m] += math.log(p * max(k - 1, 1) / (1 - p))
    return sums


@given(panels())
def test_the_slow_twin_agrees(panel):
    answers, mask, experts, model = panel
    vote = weighted_vote(answers, mask, experts, n_classes=model.shape[1], class_proba=model)
    for i, sums in enumerate(slow_sums(answers, mask, experts, model.shape[1])):
        tied = [k for k, value in enumerate(sums) if value > max(sums) - 1e-9]
        assert vote.label[i] == max(tied, key=lambda k: (model[i, k], -k))
        if vote.heard[i].any():
            share = math.exp(sums[vote.label[i]]) / sum(math.exp(value) for value in sums)
            assert vote.confidence[i] == pytest.approx(share)
        else:
            assert vote.confidence[i] == model[i].max()


@given(panels())
def test_it_is_the_bayes_vote_of_a_model_that_knows_nothing(panel):
    answers, mask, experts, model = panel
    flat = np.full_like(model, 1 / model.shape[1])
    plain = weighted_vote(answers, mask, experts, n_classes=model.shape[1], class_proba=flat)
    bayes = bayes_vote(answers, mask, experts, flat)
    assert np.array_equal(plain.label, bayes.label)
    assert plain.confidence == pytest.approx(bayes.confidence)


@given(panels(), st.sampled_from([0.6, 0.75, 0.9]))
def test_equal_experts_vote_by_majority(panel, p):
    answers, mask, _, model = panel
    experts, options = np.full(answers.shape, p), {"n_classes": model.shape[1], "class_proba": model}
    weighted = weighted_vote(answers, mask, experts, **options)
    assert np.array_equal(weighted.label, majority_vote(answers, mask, **options).label)


@given(panels(fewest_experts=1), st.randoms(use_true_random=False))
def test_permuting_experts_changes_nothing(panel, random):
    answers, mask, experts, model = panel
    order = list(range(answers.shape[1]))
    random.shuffle(order)
    options = {"n_classes": model.shape[1], "class_proba": model}
    plain = weighted_vote(answers, mask, experts, **options)
    permuted = weighted_vote(answers[:, order], mask[:, order], experts[:, order], **options)
    assert np.array_equal(permuted.label, plain.label)
    assert permuted.confidence == pytest.approx(plain.confidence)


@given(panels(fewest_experts=1))
def test_an_expert_who_guesses_has_no_influence(panel):
    answers, mask, experts, model = panel
    k = model.shape[1]
    guesses = np.full((len(answers), 1), 1 / k)
    without = weighted_vote(answers, mask, experts, n_classes=k, class_proba=model)
    with_guess = weighted_vote(
        np.hstack([answers, np.zeros_like(answers[:, :1])]),
        np.hstack([mask, np.full_like(mask[:, :1], True)]),
        np.hstack([experts, guesses]),
        n_classes=k,
        class_proba=model,
    )
    assert np.array_equal(with_guess.label, without.label)


def test_weights_by_hand():
    weights = log_odds_weights(np.array([0.1, 0.9, 0.0, 1.0]), n_classes=10)
    assert weights == pytest.approx([0.0, math.log(81), -math.log(999_999 / 9), math.log(999_999 * 9)])
    assert log_odds_weights(np.array([0.9]), n_classes=2) == pytest.approx([math.log(9)])


def test_two_doubtful_experts_do_not_outvote_a_good_one_but_three_do():
    answers, p = np.array([[0, 1, 1, 1]]), [0.9, 0.7, 0.7, 0.7]  # odds 9 against 7/3 each
    two = weighted_vote(answers, [[True, True, True, False]], p, n_classes=2)
    three = weighted_vote(answers, [[True] * 4], p, n_classes=2)
    assert (two.label.tolist(), three.label.tolist()) == ([0], [1])
    assert two.confidence.tolist() == pytest.approx([9 / (9 + 49 / 9)])


def test_one_vote_against():
    vote = weighted_vote([[0]], [[True]], [0.1], n_classes=2)
    assert vote.label.tolist() == [1]
    assert vote.confidence.tolist() == pytest.approx([0.9])


def test_certain_experts_stay_finite_and_cancel_out():
    vote = weighted_vote([[0, 1]], [[True, True]], [1.0, 1.0], n_classes=2, class_proba=[[0.4, 0.6]])
    assert vote.label.tolist() == [1]
    assert vote.confidence.tolist() == pytest.approx([0.5])


def test_nobody_heard_names_the_item():
    with pytest.raises(InputError, match="nobody is heard on item 1"):
        weighted_vote([[0], [-1]], [[True], [True]], [0.5], n_classes=2)
