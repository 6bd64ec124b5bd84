import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import clipped, likelihood, panels

from defero.core import InputError
from defero.decide.votes import ConfusionMatrices, bayes_vote


def slow_posterior(answers, mask, experts, model, *, discount=None, confusion=None):
    """Multiply likelihoods, one item, class and expert at a time."""
    k = model.shape[1]
    posterior = []
    for i, said in enumerate(answers):
        row = [clipped(share) for share in model[i]]
        for y in range(k):
            for j, m in enumerate(said):
                if not mask[i][j] or m < 0:
                    continue
                if confusion is not None and confusion.enough[j]:
                    chance = confusion.proba[j, y, m]
                else:
                    chance = likelihood(m, y, clipped(experts[i][j]), k)
                n_heard = sum(mask[i][other] and one >= 0 for other, one in enumerate(said))
                row[y] *= chance ** (1.0 if discount is None else 1 / (1 + (n_heard - 1) * discount[j]))
        posterior.append([value / math.fsum(row) for value in row])
    return posterior


def assert_is(vote, posterior, model):
    for i, row in enumerate(posterior):
        near = [k for k, value in enumerate(row) if value > 0 and math.log(value) > math.log(max(row)) - 1e-9]
        assert vote.label[i] == max(near, key=lambda k: (model[i, k], -k))
        expected = row[vote.label[i]] if vote.heard[i].any() else model[i].max()
        assert vote.confidence[i] == pytest.approx(expected)


@given(panels(), st.data())
def test_the_slow_twin_agrees(panel, data):
    answers, _, _, model = panel
    discount = data.draw(
        st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=answers.shape[1], max_size=answers.shape[1])
    )
    assert_is(bayes_vote(*panel), slow_posterior(*panel), model)
    assert_is(bayes_vote(*panel, discount=discount), slow_posterior(*panel, discount=discount), model)


@given(panels(), st.integers(0, 100))
def test_the_slow_twin_agrees_with_confusion_matrices(panel, seed):
    answers, _, _, model = panel
    rng = np.random.default_rng(seed)
    k, j = model.shape[1], answers.shape[1]
    confusion = ConfusionMatrices(rng.dirichlet(np.ones(k), size=(j, k)) * 0.9 + 0.1 / k, rng.random(j) < 0.7)
    discount = rng.uniform(0.2, 1, j)
    assert_is(bayes_vote(*panel, confusion=confusion), slow_posterior(*panel, confusion=confusion), model)
    both = {"confusion": confusion, "discount": discount}
    assert_is(bayes_vote(*panel, **both), slow_posterior(*panel, **both), model)


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
    copied = bayes_vote(
        [said * copies], [[True] * copies], [p] * copies, [model / model.sum()], discount=[1.0] * copies
    )
    assert np.array_equal(copied.label, plain.label)
    assert copied.confidence == pytest.approx(plain.confidence)


@given(panels(fewest_experts=1), st.integers(0, 100))
def test_a_vote_of_one_is_not_discounted(panel, seed):
    answers, _, experts, model = panel
    rng = np.random.default_rng(seed)
    alone = np.eye(answers.shape[1], dtype=bool)[rng.integers(answers.shape[1], size=len(answers))]
    plain = bayes_vote(answers, alone, experts, model)
    discounted = bayes_vote(answers, alone, experts, model, discount=rng.random(answers.shape[1]))
    assert np.array_equal(discounted.label, plain.label)
    assert np.array_equal(discounted.confidence, plain.confidence)


@given(st.integers(2, 6), st.floats(0.01, 1.0), st.integers(1, 5), st.floats(0, 1))
def test_one_answer_beside_a_model_that_knows_nothing_has_its_experts_p(k, above, n_experts, share):
    """However much the experts err together: discounted, 86 % once read as a coin."""
    p = 1 / k + above * (1 - 1 / k)
    said, alone = np.zeros((1, n_experts), int), np.eye(n_experts, dtype=bool)[:1]
    vote = bayes_vote(said, alone, [p] * n_experts, np.full((1, k), 1 / k), discount=[share] * n_experts)
    assert vote.confidence.tolist() == pytest.approx([clipped(p)])


@given(st.integers(2, 9), st.floats(0.55, 0.95), st.floats(0, 1))
def test_one_more_who_agrees_never_makes_the_vote_less_sure(n_experts, p, share):
    said, discount = np.zeros((n_experts, n_experts), int), [share] * n_experts
    growing = np.tril(np.ones((n_experts, n_experts), dtype=bool))
    vote = bayes_vote(said, growing, [p] * n_experts, np.full((n_experts, 2), 0.5), discount=discount)
    assert (np.diff(vote.confidence) >= -1e-12).all()


@given(panels())
def test_symmetric_matrices_are_the_default(panel):
    answers, mask, _, model = panel
    k, j = model.shape[1], answers.shape[1]
    p = np.linspace(0.3, 0.9, j)
    proba = np.where(np.eye(k, dtype=bool), p[:, None, None], ((1 - p) / max(k - 1, 1))[:, None, None])
    if k == 1:
        proba = np.ones((j, 1, 1))
    vote = bayes_vote(answers, mask, p, model, confusion=ConfusionMatrices(proba, np.full(j, True)))
    assert_is(vote, slow_posterior(answers, mask, np.tile(p, (len(answers), 1)), model), model)


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
        ({"class_proba": [[0.5, 0.7]] * 2}, "class_proba must sum to 1 in each row, got 1.2 in row 0"),
        ({"answers": [[2], [0]]}, r"answers must be class numbers 0..1, or -1 where missing, got 2"),
        (
            {"confusion": ConfusionMatrices(np.full((2, 2, 2), 0.5), [True, True])},
            "confusion must be of 1 experts and 2 classes, got 2 and 2",
        ),
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
