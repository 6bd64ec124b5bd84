import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import clipped, likelihood, panels

from defero.core import InputError
from defero.core.law import Law, uniform_errors
from defero.decide.votes import bayes_vote


def slow_posterior(answers, mask, experts, model):
    """Multiply likelihoods, one item, class and expert at a time."""
    k = model.shape[1]
    posterior = []
    for i, said in enumerate(answers):
        row = [clipped(share) for share in model[i]]
        for y in range(k):
            for j, m in enumerate(said):
                if not mask[i][j] or m < 0:
                    continue
                row[y] *= likelihood(m, y, clipped(experts[i][j]), k)
        posterior.append([value / math.fsum(row) for value in row])
    return posterior


def assert_is(vote, posterior, model):
    for i, row in enumerate(posterior):
        near = [k for k, value in enumerate(row) if value > 0 and math.log(value) > math.log(max(row)) - 1e-9]
        assert vote.label[i] == max(near, key=lambda k: (model[i, k], -k))
        expected = row[vote.label[i]] if vote.heard[i].any() else model[i].max()
        assert vote.confidence[i] == pytest.approx(expected)


@given(panels())
def test_the_slow_twin_agrees(panel):
    assert_is(bayes_vote(*panel), slow_posterior(*panel), panel[3])


@given(panels(fewest_experts=1), st.randoms(use_true_random=False))
def test_permuting_experts_changes_nothing(panel, random):
    answers, mask, experts, model = panel
    order = list(range(answers.shape[1]))
    random.shuffle(order)
    plain = bayes_vote(*panel)
    permuted = bayes_vote(answers[:, order], mask[:, order], experts[:, order], model)
    assert np.array_equal(permuted.label, plain.label)
    assert permuted.confidence == pytest.approx(plain.confidence)


@given(panels(), st.randoms(use_true_random=False))
def test_permuting_classes_permutes_the_answer(panel, random):
    answers, mask, experts, model = panel
    order = list(range(model.shape[1]))
    random.shuffle(order)
    # Distinct probabilities, so that no tie falls to the first class.
    distinct = model + np.array([0.0, 0.011, 0.023, 0.037])[: model.shape[1]]
    distinct /= distinct.sum(axis=1, keepdims=True)
    place = np.argsort(order)
    renamed = np.where(answers < 0, -1, place[answers])
    plain = bayes_vote(answers, mask, experts, distinct)
    permuted = bayes_vote(renamed, mask, experts, distinct[:, order])
    assert np.array_equal(permuted.label, place[plain.label])
    assert permuted.confidence == pytest.approx(plain.confidence)


@given(st.integers(2, 6), st.floats(0.01, 1.0), st.data())
def test_one_expert_better_than_a_guess_decides_where_the_model_knows_nothing(k, above, data):
    answer = data.draw(st.integers(0, k - 1))
    p = 1 / k + above * (1 - 1 / k)
    vote = bayes_vote([[answer]], [[True]], [p], np.full((1, k), 1 / k))
    assert vote.label.tolist() == [answer]
    assert vote.confidence.tolist() == pytest.approx([clipped(p)])


@given(panels(fewest_experts=1))
def test_an_expert_who_guesses_has_no_influence(panel):
    answers, mask, experts, model = panel
    without, with_guess = mask.copy(), mask.copy()
    without[:, 0], with_guess[:, 0] = False, True
    guessing = experts.copy()
    guessing[:, 0] = 1 / model.shape[1]
    plain, more = bayes_vote(answers, without, guessing, model), bayes_vote(answers, with_guess, guessing, model)
    assert np.array_equal(plain.label, more.label)
    assert plain.confidence == pytest.approx(more.confidence, abs=1e-5)  # the model's own number is not clipped


@given(st.integers(2, 6), st.integers(2, 4), st.floats(0.01, 0.99), st.data())
def test_copies_of_one_answer_are_one_answer(k, copies, p, data):
    said, model = [data.draw(st.integers(0, k - 1))], data.draw(st.sampled_from([np.ones(k), 1.0 + np.arange(k)]))
    plain = bayes_vote([said], [[True]], [p], [model / model.sum()])
    law = Law(uniform_errors(k), difficulty=1.0, decoy=0.2, temper=0.5, copies=np.zeros(copies, int))
    copied = bayes_vote([said * copies], [[True] * copies], [p] * copies, [model / model.sum()], law=law)
    assert np.array_equal(copied.label, plain.label)
    assert copied.confidence == pytest.approx(plain.confidence)


LAWS = st.builds(
    lambda k, s, c, g: Law(uniform_errors(k), difficulty=s, decoy=c, temper=g),
    st.integers(2, 5),
    st.floats(0, 4),
    st.floats(0, 0.9),
    st.floats(0, 1),
)


@given(LAWS, st.floats(0.01, 1.0), st.integers(1, 5))
def test_one_answer_beside_a_model_that_knows_nothing_has_its_experts_p(law, above, n_experts):
    """However much the experts err together."""
    k = law.n_classes
    p = 1 / k + above * (1 - 1 / k)
    said, alone = np.zeros((1, n_experts), int), np.eye(n_experts, dtype=bool)[:1]
    vote = bayes_vote(said, alone, [p] * n_experts, np.full((1, k), 1 / k), law=law)
    assert vote.confidence.tolist() == pytest.approx([clipped(p)])


@given(st.integers(2, 9), st.floats(0.55, 0.95), LAWS)
def test_one_more_who_agrees_never_makes_the_law_less_sure(n_experts, p, law):
    said, k = np.zeros((n_experts, n_experts), int), law.n_classes
    growing = np.tril(np.ones((n_experts, n_experts), dtype=bool))
    plain = replace(law, temper=0.0)
    vote = bayes_vote(said, growing, [max(p, 1.5 / k)] * n_experts, np.full((n_experts, k), 1 / k), law=plain)
    assert (np.diff(vote.confidence) >= -1e-9).all()


def test_the_posterior_by_hand():
    vote = bayes_vote([[2, 2, 0]], [[True, True, False]], [0.5, 0.6, 0.9], [[0.6, 0.3, 0.1]])
    # 0.6 * 0.25 * 0.2, 0.3 * 0.25 * 0.2, 0.1 * 0.5 * 0.6
    assert vote.confidence.tolist() == pytest.approx([0.030 / (0.030 + 0.015 + 0.030)])
    assert vote.label.tolist() == [0]  # a tie, which the model breaks
    assert vote.heard.tolist() == [[True, True, False]]


def test_neither_a_model_nor_an_expert_is_beyond_contradiction():
    sure_model = [[1.0, 0.0]]
    two_experts = bayes_vote([[1, 1, 1, 1]], [[True] * 4], [0.99] * 4, sure_model)
    assert two_experts.label.tolist() == [1]
    sure_expert = bayes_vote([[1, 0, 0]], [[True] * 3], [1.0, 0.999, 0.999], [[0.9, 0.1]])
    assert sure_expert.label.tolist() == [0]
    assert np.isfinite([*two_experts.confidence, *sure_expert.confidence]).all()


def test_four_hundred_certain_experts_stay_finite():
    vote = bayes_vote(np.zeros((1, 400), int), np.full((1, 400), True), np.ones(400), [[0.0, 1.0]])
    assert vote.label.tolist() == [0]
    assert vote.confidence.tolist() == [1.0]


def test_where_nobody_is_heard_the_model_answers_with_its_own_number():
    vote = bayes_vote([[-1], [0]], [[True], [False]], [0.9], [[0.0, 1.0], [0.75, 0.25]], classes=[10, 20])
    assert vote.label.tolist() == [20, 10]
    assert vote.confidence.tolist() == [1.0, 0.75]
    assert vote.by_model.all()


def test_one_class_is_always_right():
    assert bayes_vote([[0]], [[True]], [0.3], [[1.0]]).confidence.tolist() == [1.0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"class_proba": [[0.5, 0.5]]}, r"class_proba must have shape \(2, K\) like answers, got \(1, 2\)"),
        ({"answers": [0, 1]}, r"answers must have two axes \(n, J\)"),
        ({"class_proba": [[0.5, 0.7]] * 2}, "class_proba must sum to 1 in each row, got 1.2 for item 0"),
        ({"answers": [[2], [0]]}, r"answers must be class numbers 0..1, or -1 where missing, got 2"),
    ],
)
def test_what_is_wrong_is_said(changed, message):
    arguments = {
        "answers": [[0], [1]],
        "mask": [[True], [True]],
        "expert_proba": [0.5],
        "class_proba": [[0.5, 0.5]] * 2,
    } | changed
    with pytest.raises(InputError, match=message):
        bayes_vote(**arguments)
