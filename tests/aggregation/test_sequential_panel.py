import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import clipped, likelihood, panels

from defero.aggregation import bayes_vote, expected_gain, sequential_panel
from defero.core import InputError


def slow_gain(belief, p):
    """sum_m max_y pi_y P(m | y) - max_y pi_y, as it is written."""
    k = len(belief)
    after = sum(max(belief[y] * likelihood(m, y, p, k) for y in range(k)) for m in range(k))
    return after - max(belief)


def slow_panel(said, experts, model, fee, can):
    """One item, one question at a time. Returns who was asked and the final belief."""
    k = len(model)
    belief = np.array([clipped(share) for share in model])
    belief /= belief.sum()
    asked = []
    while True:
        worth = {
            j: slow_gain(belief, clipped(experts[j])) - fee[j]
            for j in range(len(said))
            if can[j] and said[j] >= 0 and j not in asked
        }
        if not worth or max(worth.values()) <= 1e-12:
            return sorted(asked), belief
        best = next(j for j in worth if worth[j] > max(worth.values()) - 1e-12)
        asked.append(best)
        belief = belief * [likelihood(said[best], y, clipped(experts[best]), k) for y in range(k)]
        belief /= belief.sum()


@given(panels(smallest_k=2))
def test_the_closed_form_is_the_double_sum(panel):
    _, _, experts, model = panel
    gain = expected_gain(model, experts)
    assert (gain >= 0).all()
    assert (gain <= 1 - model.max(axis=1, keepdims=True) + 1e-12).all()
    for i in range(experts.shape[0]):
        for j in range(experts.shape[1]):
            assert gain[i, j] == pytest.approx(slow_gain(model[i], experts[i, j]), abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.01, 0.05]))
def test_the_slow_twin_agrees(seed, cost):
    # Continuous numbers: two experts worth the same to the last digit may be asked in either order.
    rng = np.random.default_rng(seed)
    n, j, k = rng.integers(1, 5), rng.integers(1, 6), rng.integers(2, 5)
    answers, can = rng.integers(-1, k, size=(n, j)), rng.random((n, j)) < 0.8
    experts, model = rng.random((n, j)), rng.dirichlet(np.ones(k), size=n)
    fee = cost * rng.random((n, j))
    panel = sequential_panel(answers, experts, model, fees=fee, available=can)
    for i in range(n):
        asked, belief = slow_panel(answers[i], experts[i], model[i], fee[i], can[i])
        assert np.flatnonzero(panel.heard[i]).tolist() == asked
        assert panel.n_asked[i] == len(asked)
        assert panel.label[i] == belief.argmax()
        assert panel.confidence[i] == pytest.approx(belief.max(), abs=3e-6)  # unasked: the model's own number


@given(panels(), st.sampled_from([0.0, 0.01, 0.1]))
def test_it_is_the_bayes_vote_of_those_asked(panel, cost):
    answers, can, experts, model = panel
    found = sequential_panel(answers, experts, model, fees=np.full(answers.shape[1], cost), available=can)
    vote = bayes_vote(answers, found.heard, experts, model)
    assert np.array_equal(found.label, vote.label)
    assert found.confidence == pytest.approx(vote.confidence)
    assert not (found.heard & ~(can & (answers >= 0))).any()


@given(st.integers(0, 10_000))
def test_permuting_experts_permutes_who_is_asked(seed):
    rng = np.random.default_rng(seed)
    answers, experts, model = rng.integers(-1, 3, (4, 5)), rng.random((4, 5)), rng.dirichlet(np.ones(3), size=4)
    order = rng.permutation(5)
    plain = sequential_panel(answers, experts, model, fees=np.full(5, 0.01))
    permuted = sequential_panel(answers[:, order], experts[:, order], model, fees=np.full(5, 0.01))
    assert np.array_equal(permuted.heard, plain.heard[:, order])
    assert np.array_equal(permuted.label, plain.label)


@given(panels(), st.integers(0, 3))
def test_no_more_questions_than_allowed(panel, most):
    answers, _, experts, model = panel
    found = sequential_panel(answers, experts, model, fees=None, max_questions=most)
    assert (found.n_asked <= most).all()
    if most == 0:
        assert np.array_equal(found.confidence, model.max(axis=1))


def test_gain_by_hand():
    # p = 0.8, K = 3: a = 0.8, b = 0.1; answers: max(.40, .03), max(.24, .05), max(.16, .05).
    assert expected_gain([[0.5, 0.3, 0.2]], [0.8]) == pytest.approx(np.array([[0.80 - 0.5]]))
    # An expert who always errs: b = 0.5, a = 0: max(0, .15) + max(0, .25) + max(0, .25).
    assert expected_gain([[0.5, 0.3, 0.2]], [0.0]) == pytest.approx(np.array([[0.65 - 0.5]]))
    assert expected_gain([[0.5, 0.3, 0.2]], [1 / 3, 1.0]) == pytest.approx(np.array([[0.0, 0.5]]))


def test_the_dear_expert_is_asked_only_where_they_are_worth_it():
    answers, experts = [[1, 1]], [0.95, 0.8]
    flat = [[0.5, 0.5]]
    assert sequential_panel(answers, experts, flat, fees=[0.1, 0.1]).heard.tolist() == [[True, False]]
    assert sequential_panel(answers, experts, flat, fees=[0.3, 0.1]).heard.tolist() == [[False, True]]
    assert sequential_panel(answers, experts, flat, fees=[0.5, 0.5]).heard.tolist() == [[False, False]]
    each = sequential_panel(answers * 2, experts, flat * 2, fees=[[0.1, 0.1], [0.3, 0.1]])
    assert each.heard.tolist() == [[True, False], [False, True]]


def test_a_second_opinion_is_sought_where_the_first_disagrees_with_the_model():
    model, experts = [[0.7, 0.3]] * 2, [0.8, 0.8]
    agrees, differs = sequential_panel([[0, 0], [1, 1]], experts, model, fees=[0.01, 0.01]).n_asked
    assert (agrees, differs) == (1, 2)


def test_greedy_stops_before_a_question_that_pays_only_with_the_next():
    """After one answer of 0.9 no single other answer of 0.8 can change the mind; two together could."""
    panel = sequential_panel([[0, 1, 1]], [0.9, 0.8, 0.8], [[0.5, 0.5]], fees=[0.0, 0.0, 0.0])
    assert panel.n_asked.tolist() == [1]
    assert panel.label.tolist() == [0]


def test_edges():
    assert sequential_panel(np.empty((1, 0), int), [], [[0.25, 0.75]], fees=None).label.tolist() == [1]
    assert sequential_panel([[-1]], [1.0], [[0.25, 0.75]], fees=None).by_model.all()
    assert sequential_panel([[0]], [0.9], [[1.0]], fees=None).n_asked.tolist() == [0]
    assert len(sequential_panel(np.empty((0, 2), int), [0.5, 0.5], np.empty((0, 3)), fees=None)) == 0
    certain = sequential_panel([[0, 1]], [1.0, 0.0], [[0.25, 0.75]], fees=[0.001, 0.001], classes=["a", "b"])
    assert certain.label.tolist() == ["a"]
    assert certain.n_asked.tolist() == [1]
    assert expected_gain(np.empty((0, 3)), [0.5]).shape == (0, 1)
    assert expected_gain([[1.0]], [0.5]).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_questions": -1}, "max_questions must be a whole number of at least 0, got -1"),
        ({"max_questions": 1.5}, "max_questions must be a whole number of at least 0, got 1.5"),
        ({"fees": [0.1]}, r"fees must have shape \(2,\) or \(1, 2\)"),
        ({"fees": [0.1, np.nan]}, "fees must be finite"),
        ({"available": [1, 0]}, "available must be True or False for each expert"),
        ({"eps": 1.0}, r"eps must lie in \(0, 0.5\), got 1.0"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    with pytest.raises(InputError, match=message):
        sequential_panel([[0, 1]], [0.5, 0.6], [[0.5, 0.5]], **({"fees": [0.0, 0.0]} | options))


def test_expected_gain_wants_one_probability_per_expert():
    with pytest.raises(InputError, match=r"expert_proba must have shape \(0,\) or \(1, 0\), .* got \(\)"):
        expected_gain([[0.5, 0.5]], 0.5)
