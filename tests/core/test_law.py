"""The law of answers: exact properties, a slow twin written from the formulas, and what must not matter."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core.belief import Belief, belief_of, belief_when_asked
from defero.core.errors import InputError
from defero.core.law import Law, uniform_errors
from defero.core.scores import sigmoid

CLOSE = {"rtol": 0, "atol": 1e-9}


def a_law(rng, n_classes, *, difficulty=None, decoy=None, lean=None, **more):
    errors = rng.uniform(0.1, 1.0, (n_classes, n_classes)) * (1 - np.eye(n_classes))
    errors /= errors.sum(axis=1, keepdims=True)
    s = rng.uniform(0, 3) if difficulty is None else difficulty
    c = rng.uniform(0, 0.9) if decoy is None else decoy
    t = rng.uniform(0, 1.5) if lean is None else lean
    return Law(errors, difficulty=s, decoy=c, lean=t, **more)


def a_case(seed, *, n=4, n_experts=3, n_classes=3, **law):
    """Return evidence of n items: of each some answers."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(n_classes), n)
    right = rng.uniform(0.05, 0.98, (n, n_experts, n_classes))
    answers = np.where(rng.random((n, n_experts)) < 0.7, rng.integers(n_classes, size=(n, n_experts)), -1)
    return Belief(a_law(rng, n_classes, **law), proba, right, answers)


def slow_posterior(evidence):
    """Multiply out the formulas: a sum over 4,001 difficulties and all decoys for each class."""
    law, n_classes = evidence.law, evidence.n_classes
    u, w = np.polynomial.hermite_e.hermegauss(9)
    w = w / w.sum()
    grid = np.linspace(-40, 40, 80_001)
    posterior = np.zeros(evidence.class_proba.shape)
    for i, answers in enumerate(evidence.answer_idx):
        for y in range(n_classes):
            near_by = law.errors[y] * evidence.class_proba[i] ** law.lean
            near_by = near_by / near_by.sum()
            nodes, decoys = np.ones(len(u)), np.ones(n_classes)
            for j in np.flatnonzero(answers >= 0):
                p = evidence.right[i, j, y if evidence.right.shape[2] > 1 else 0]
                mean = sigmoid(grid[:, None] + law.difficulty * u) @ w
                a = np.interp(p, mean, grid)
                at_u = sigmoid(a + law.difficulty * u)
                if answers[j] == y:
                    nodes = nodes * at_u
                else:
                    nodes = nodes * (1 - at_u)
                    near = law.decoy * (np.arange(n_classes) == answers[j])
                    decoys = decoys * (near + (1 - law.decoy) * near_by[answers[j]])
            decoy_share = (near_by * decoys).sum() if n_classes > 1 else 1.0
            posterior[i, y] = evidence.class_proba[i, y] * (w @ nodes) * decoy_share
    return posterior / posterior.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_posterior_is_that_of_a_slow_twin(seed, n_classes):
    evidence = a_case(seed, n_classes=n_classes)
    np.testing.assert_allclose(evidence.posterior, slow_posterior(evidence), rtol=0, atol=2e-6)


@given(st.floats(0.01, 0.99), st.floats(0, 6), st.floats(0, 0.9), st.integers(2, 5))
@settings(max_examples=60, deadline=None)
def test_one_answer_beside_a_model_that_knows_nothing_gives_its_experts_p(p, difficulty, decoy, n_classes):
    law = Law(uniform_errors(n_classes), difficulty=difficulty, decoy=decoy)
    even = np.full((1, n_classes), 1 / n_classes)
    evidence = Belief(law, even, np.full((1, 1, 1), p), np.array([[1]]))
    np.testing.assert_allclose(evidence.posterior[0, 1], p, **CLOSE)
    np.testing.assert_allclose(evidence.reported[0, 1], p, **CLOSE)


@pytest.mark.parametrize("seed", range(10))
def test_one_expert_is_bayes_rule(seed):
    evidence = a_case(seed, n_experts=1)
    law, p = evidence.law, evidence.right[:, 0]
    for i, answer in enumerate(evidence.answer_idx[:, 0]):
        expected = evidence.class_proba[i]
        if answer >= 0:
            near = law.errors * evidence.class_proba[i] ** law.lean
            near = near[:, answer] / near.sum(axis=1)
            expected = expected * np.where(np.arange(3) == answer, p[i], (1 - p[i]) * near)
            expected = expected / expected.sum()
        np.testing.assert_allclose(evidence.posterior[i], expected, **CLOSE)


@pytest.mark.parametrize("seed", range(5))
def test_no_difficulty_and_no_decoy_is_independence(seed):
    evidence = a_case(seed, difficulty=0.0, decoy=0.0, lean=0.0)
    expected = evidence.class_proba.copy()
    for i, j in zip(*np.nonzero(evidence.heard), strict=True):
        m, p = evidence.answer_idx[i, j], evidence.right[i, j]
        expected[i] *= np.where(np.arange(3) == m, p, (1 - p) * evidence.law.errors[:, m])
    np.testing.assert_allclose(evidence.posterior, expected / expected.sum(axis=1, keepdims=True), **CLOSE)


@pytest.mark.parametrize("seed", range(3))
def test_permuted_experts_and_classes_permute_everything(seed):
    evidence = a_case(seed, n_experts=3)
    plain = evidence.posterior, evidence.reported
    for order in permutations(range(3)):
        who = list(order)
        moved = Belief(evidence.law, evidence.class_proba, evidence.right[:, who], evidence.answer_idx[:, who])
        np.testing.assert_allclose(moved.posterior, plain[0], **CLOSE)
        np.testing.assert_allclose(moved.right_of_all(), evidence.right_of_all()[:, who], **CLOSE)
        errors = evidence.law.errors[np.ix_(who, who)]
        law = replace(evidence.law, errors=errors)
        place = np.append(np.argsort(who), -1)
        renamed = Belief(law, evidence.class_proba[:, who], evidence.right[:, :, who], place[evidence.answer_idx])
        np.testing.assert_allclose(renamed.posterior, plain[0][:, who], **CLOSE)


def test_nobody_heard_is_the_model():
    evidence = a_case(0)
    silent = evidence.take(slice(None), np.full_like(evidence.answer_idx, -1))
    np.testing.assert_array_equal(silent.posterior, evidence.class_proba)
    np.testing.assert_array_equal(silent.reported, evidence.class_proba)
    expected = (evidence.right * evidence.class_proba[:, None]).sum(axis=2)
    np.testing.assert_allclose(silent.right_of_all(), expected, **CLOSE)


@given(st.floats(0.02, 0.98), st.floats(0.01, 8))
@settings(max_examples=60, deadline=None)
def test_p_right_never_falls_with_ease_and_keeps_its_mean(p, difficulty):
    law = Law(uniform_errors(2), difficulty=difficulty)
    at_nodes = sigmoid(law.at_nodes(np.array([p])))[0]
    assert (np.diff(at_nodes) >= 0).all()
    np.testing.assert_allclose(at_nodes @ law.nodes[1], p, rtol=0, atol=1e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_the_next_answer_is_foretold_as_the_law_of_both_says(seed, n_classes):
    """P(next = m | y, heard) is the ratio of the likelihoods with and without it; it sums to 1."""
    evidence = a_case(seed, n_classes=n_classes)
    free = np.flatnonzero(~evidence.heard[:, 0])
    foretold = evidence.likelihood(free, np.zeros(len(free), dtype=int))
    np.testing.assert_allclose(foretold.sum(axis=2), 1.0, **CLOSE)
    before = np.exp(evidence.log_likelihood[free])
    for m in range(n_classes):
        more = evidence.answer_idx[free].copy()
        more[:, 0] = m
        after = np.exp(evidence.take(free, more).log_likelihood)
        np.testing.assert_allclose(after / before, foretold[:, :, m], rtol=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_answers_does_not_matter(seed):
    """The belief after all answers is the belief after some, moved by the others."""
    evidence = a_case(seed, n=1, n_experts=4)
    heard = np.flatnonzero(evidence.heard[0])
    for order in permutations(heard):
        belief, so_far = evidence.class_proba[0], np.full((1, 4), -1)
        for j in order:
            now = evidence.take(slice(None), so_far)
            belief = now.posterior[0] * now.likelihood(np.array([0]), np.array([j]))[0][:, evidence.answer_idx[0, j]]
            belief = belief / belief.sum()
            so_far[0, j] = evidence.answer_idx[0, j]
        np.testing.assert_allclose(belief, evidence.posterior[0], rtol=0, atol=1e-6)


def test_wrong_answers_lean_to_what_the_model_finds_likely():
    """Somebody who errs on class 2 says class 0 nine times as often as class 1, as the model finds it likely."""
    law = Law(uniform_errors(3), lean=1.0)
    evidence = Belief(law, np.array([[0.72, 0.08, 0.2]]), np.full((1, 1, 1), 0.5), np.array([[-1]]))
    first = evidence.likelihood(np.array([0]), np.array([0]))[0]
    np.testing.assert_allclose(first[2], [0.45, 0.05, 0.5], **CLOSE)
    no_lean = Belief(Law(uniform_errors(3)), evidence.class_proba, evidence.right, evidence.answer_idx)
    np.testing.assert_allclose(no_lean.likelihood(np.array([0]), np.array([0]))[0][2], [0.25, 0.25, 0.5], **CLOSE)


def test_who_is_asked_is_trusted_less_and_nobody_else():
    law = Law(uniform_errors(2), trust=0.5)
    np.testing.assert_allclose(law.when_asked(np.array([0.5, 0.8, 0.2])), [0.5, 2 / 3, 1 / 3], **CLOSE)
    anybody = belief_of(law, np.full((1, 2), 0.5), [0.8], np.array([[1]]))
    asked = belief_when_asked(law, np.full((1, 2), 0.5), [0.8], np.array([[1]]))
    assert anybody.posterior[0, 1] == pytest.approx(0.8)
    assert asked.posterior[0, 1] == pytest.approx(2 / 3)
    by_class = belief_when_asked(law, np.full((1, 2), 0.5), [0.8], np.array([[1]]), np.array([[[0.5, 0.8]]]))
    np.testing.assert_allclose(by_class.right, [[[0.5, 2 / 3]]], **CLOSE)


def test_copies_count_once():
    law = Law(uniform_errors(2), difficulty=1.0, copies=np.array([0, 0, 2]))
    even, right = np.full((1, 2), 0.5), np.full((1, 3, 1), 0.8)
    both = Belief(law, even, right, np.array([[1, 1, -1]]))
    one = Belief(law, even, right, np.array([[1, -1, -1]]))
    np.testing.assert_allclose(both.posterior, one.posterior, **CLOSE)
    assert both.n_heard.tolist() == [1.0]
    assert one.can_tell().tolist() == [[False, False, True]]  # the copy has nothing to add


def test_more_answers_temper_more_and_one_does_not():
    law = Law(uniform_errors(2), temper=0.5)
    even, right = np.full((1, 2), 0.5), np.full((1, 3, 1), 0.8)
    one = Belief(law, even, right, np.array([[1, -1, -1]]))
    three = Belief(law, even, right, np.array([[1, 1, 1]]))
    np.testing.assert_allclose(one.reported, one.posterior, **CLOSE)
    odds = three.posterior[0, 1] / three.posterior[0, 0]
    np.testing.assert_allclose(three.reported[0, 1] / three.reported[0, 0], odds ** (3**-0.5))


@pytest.mark.parametrize(
    ("errors", "word"),
    [(np.eye(2), "diagonal"), (np.array([[0.0, 0.5], [1.0, 0.0]]), "sum to 1"), (np.ones((2, 3)), "shape")],
)
def test_errors_that_are_no_law_are_refused(errors, word):
    with pytest.raises(InputError, match=f"errors.*{word}"):
        Law(errors)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_nobody_is_beyond_contradiction(p):
    evidence = Belief(
        Law(uniform_errors(2), difficulty=3.0), np.array([[1.0, 0.0]]), np.full((1, 1, 1), p), np.array([[1]])
    )
    assert np.isfinite(evidence.posterior).all()
    assert 0 < evidence.posterior[0, 1] < 1


def test_many_who_say_the_same_wrong_thing_leave_a_probability():
    law = Law(np.array([[0.0, 1e-4, 1 - 1e-4], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]), decoy=0.95)
    crowd = Belief(law, np.full((1, 3), 1 / 3), np.full((1, 200, 1), 0.6), np.full((1, 200), 1))
    assert np.isfinite(crowd.log_likelihood).all()
    np.testing.assert_allclose(crowd.posterior.sum(), 1.0)
    assert crowd.posterior.argmax() == 1


@pytest.mark.parametrize("name", ["difficulty", "decoy", "temper", "model_counts"])
def test_numbers_out_of_bounds_are_refused(name):
    with pytest.raises(InputError, match=f"{name} must lie between 0"):
        Law(uniform_errors(2), **{name: -0.1})


def test_a_belief_of_answers_alone_is_not_taken_apart():
    """It knows of nobody by name, so its answers would be lost without a word."""
    one = np.array([0])
    belief = Belief.of_answers(Law.independent(2), np.full((1, 2), 0.5), one, one, np.array([1]), np.full((1, 1), 0.9))
    np.testing.assert_allclose(belief.posterior, [[0.1, 0.9]])
    with pytest.raises(InputError, match="rows: a belief made by of_answers"):
        belief.take(one)
