"""Asking by the law of answers, summed over everything that may be said: never dearer than one question or none."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core.belief import Belief
from defero.core.law import Law
from defero.decide import ask_in_turn, next_step
from defero.decide.terms import Terms


def drawn(seed, *, k, j, own_costs, copies=None):
    """Return a law, P(y) (K,), P(right | y) (J, K), fees (J,) and costs (K, K)."""
    rng = np.random.default_rng(seed)
    errors = rng.uniform(0.2, 1.0, (k, k)) * (1 - np.eye(k))
    law = Law(
        errors / errors.sum(axis=1, keepdims=True),
        difficulty=rng.uniform(0, 3),
        decoy=rng.uniform(0, 0.8),
        lean=rng.uniform(0, 1.5),
        temper=rng.uniform(0, 1),
        copies=copies,
    )
    costs = (1 - np.eye(k)) * (rng.uniform(0.3, 3.0, (k, k)) if own_costs else 1.0)
    return law, rng.dirichlet(np.ones(k)), rng.uniform(0.4, 0.95, (j, k)), rng.uniform(0.002, 0.08, j), costs


def all_answers(law, j):
    """Return everything that j people may say, (s, j); copies say the same."""
    said = np.array(list(product(range(law.n_classes), repeat=j)))
    if law.copies is None:
        return said
    first = np.array([int(np.flatnonzero(law.copies == one)[0]) for one in law.copies])
    return said[(said == said[:, first]).all(axis=1)]


def evidence_of_all(law, prior, right, said):
    return Belief(law, np.tile(prior, (len(said), 1)), np.tile(right, (len(said), 1, 1)), said)


def cost_in_turn(case, said):
    """Return what asking in turn costs under the law, exactly, and who is heard at each possible set of answers."""
    law, prior, right, fees, costs = case
    evidence = evidence_of_all(law, prior, right, said)
    chance = prior * np.exp(evidence.log_likelihood)  # P(y, all answers), (s, K)
    np.testing.assert_allclose(chance.sum(), 1.0, atol=1e-5)
    settled = ask_in_turn(
        said,
        right.mean(axis=1),
        evidence.class_proba,
        terms=Terms(fees=fees, cost_matrix=costs),
        law=law,
        right=evidence.right,
    )
    spent = settled.fees + (chance / chance.sum(axis=1, keepdims=True) * costs[:, settled.label].T).sum(axis=1)
    return float(chance.sum(axis=1) @ spent), settled.heard


def cost_of_one(case, expert):
    """Return what asking this expert alone, whatever the model says, costs under the law."""
    law, prior, right, fees, costs = case
    said = np.full((law.n_classes, len(right)), -1)
    said[:, expert] = np.arange(law.n_classes)
    joint = prior * np.exp(evidence_of_all(law, prior, right, said).log_likelihood)
    return float(fees[expert] + (joint @ costs).min(axis=1).sum())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.sampled_from([2, 3]), st.booleans())
def test_in_turn_costs_no_more_than_one_question_or_none(seed, k, j, own_costs):
    case = drawn(seed, k=k, j=j, own_costs=own_costs)
    law, prior, right, fees, costs = case
    ours, _ = cost_in_turn(case, all_answers(law, j))
    assert ours <= min(prior @ costs) + 1e-5
    assert ours <= min(cost_of_one(case, expert) for expert in range(j)) + 1e-5
    first = next_step(
        prior[None], right.mean(axis=1), terms=Terms(fees=fees, cost_matrix=costs), law=law, right=right[None]
    )
    assert first.expected_cost[0] == pytest.approx(ours, abs=1e-5)  # it promises what it keeps


def optimum(case, heard=()):
    """Return the least cost by recursion over everything that may be said, joint with it: the slow twin."""
    law, prior, right, fees, costs = case
    said = np.full((1, len(right)), -1)
    for expert, answer in heard:
        said[0, expert] = answer
    joint = prior * np.exp(evidence_of_all(law, prior, right, said).log_likelihood[0])
    best = min(joint @ costs)
    for expert in np.flatnonzero(said[0] < 0):
        ways = (optimum(case, (*heard, (int(expert), m))) for m in range(law.n_classes))
        best = min(best, fees[expert] * joint.sum() + sum(ways))
    return best


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(2, 2), (2, 3), (3, 2)]), st.booleans())
def test_it_is_the_optimum_by_plain_recursion(seed, shape, own_costs):
    k, j = shape
    case = drawn(seed, k=k, j=j, own_costs=own_costs)
    assert cost_in_turn(case, all_answers(case[0], j))[0] == pytest.approx(optimum(case), abs=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans())
def test_nobody_is_asked_whose_copy_was_heard(seed, k, own_costs):
    law, prior, right, fees, costs = drawn(seed, k=k, j=3, own_costs=own_costs, copies=np.array([0, 0, 1]))
    right[1] = right[0]
    said = all_answers(law, 3)
    evidence = evidence_of_all(law, prior, right, said)
    known = {"law": law, "right": evidence.right, "terms": Terms(fees=fees / 10, cost_matrix=costs)}
    settled = ask_in_turn(said, right.mean(axis=1), evidence.class_proba, **known)
    assert not (settled.heard[:, 0] & settled.heard[:, 1]).any()
    alone = replace(law, copies=None)
    best = min(
        optimum((alone, prior, right[some], fees[some] / 10, costs)) for some in (np.array([0, 2]), np.array([1, 2]))
    )
    joint = prior * np.exp(evidence_of_all(alone, prior, right[[0, 2]], said[:, [0, 2]]).log_likelihood)
    spent = settled.fees + (joint / joint.sum(axis=1, keepdims=True) * costs[:, settled.label].T).sum(axis=1)
    assert float(joint.sum(axis=1) @ spent) == pytest.approx(best, abs=1e-5)


def test_it_goes_on_where_no_single_answer_can_turn_the_label():
    """Three people of 0.8 who find the same cases hard beside a model of 0.85: two together can still turn it."""
    law, prior, fees = (
        Law(np.array([[0.0, 1.0], [1.0, 0.0]]), difficulty=1.0),
        np.array([0.85, 0.15]),
        np.full(3, 0.002),
    )
    case = law, prior, np.full((3, 2), 0.8), fees, 1 - np.eye(2)
    assert min(cost_of_one(case, expert) for expert in range(3)) > 0.15
    ours, heard = cost_in_turn(case, all_answers(law, 3))
    assert ours < 0.15 - 0.005
    assert heard.any(axis=1).all()
