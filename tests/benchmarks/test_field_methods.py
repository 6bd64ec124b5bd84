"""Exact properties of the methods of the field that are not part of the library."""

import itertools
import math

import numpy as np
import pytest
import torch
from benchmarks.field.methods.deccaf import Deccaf, shrunken_shares
from benchmarks.field.methods.l2d_pop import Context, L2DPop, PopulationRejector, population_loss
from benchmarks.field.methods.two_stage_surrogate import TwoStageSurrogate, rescaled, two_stage_loss
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

seeds = st.integers(0, 10**6)


def minimiser(risk, size):
    """Return the argument of the least risk, by gradients."""

    def value_and_gradient(flat):
        logits = torch.tensor(flat, requires_grad=True)
        value = risk(logits)
        value.backward()
        return value.item(), logits.grad.numpy().copy()

    options = {"gtol": 1e-12, "maxiter": 5_000}
    return minimize(value_and_gradient, np.zeros(size), jac=True, method="BFGS", options=options).x


def router_batch(seed, n=4, j=3):
    rng = torch.Generator().manual_seed(seed)
    double = {"generator": rng, "dtype": torch.float64}
    observed = torch.rand(n, 1 + j, **double) < 0.6
    observed[:, 0] = True
    return 3 * torch.randn(n, 1 + j, **double), torch.rand(n, 1 + j, **double), observed


# ------------------------------------------------------------------ two-stage surrogate


@settings(max_examples=25)
@given(seed=seeds, j=st.integers(1, 5))
def test_two_stage_slow_twin(seed, j):
    logits, cost, observed = router_batch(seed, j=j)
    slow = []
    for r, c, o in zip(logits.tolist(), cost.tolist(), observed.tolist(), strict=True):
        total = math.log(sum(math.exp(value) for value, seen in zip(r, o, strict=True) if seen))
        slow.append(sum((1 - price) * (total - value) for value, price, seen in zip(r, c, o, strict=True) if seen))
    torch.testing.assert_close(
        two_stage_loss(logits, cost, observed=observed), torch.tensor(slow, dtype=torch.float64), atol=1e-9, rtol=1e-9
    )


@settings(max_examples=25)
@given(seed=seeds, order=st.permutations([1, 2, 3]))
def test_two_stage_permuting_experts_keeps_the_value_and_permutes_the_gradient(seed, order):
    logits, cost, observed = router_batch(seed)
    columns = [0, *order]
    gradients = []
    for one in (list(range(4)), columns):
        leaf = logits[:, one].clone().requires_grad_()
        value = two_stage_loss(leaf, cost[:, one], observed=observed[:, one])
        value.sum().backward()
        gradients.append((value.detach(), leaf.grad))
    torch.testing.assert_close(gradients[0][0], gradients[1][0])
    torch.testing.assert_close(gradients[0][1][:, columns], gradients[1][1])


@settings(max_examples=25)
@given(seed=seeds)
def test_two_stage_a_missing_answer_never_touches_the_loss(seed):
    logits, cost, observed = router_batch(seed)
    leaf = logits.clone().requires_grad_()
    value = two_stage_loss(leaf, cost, observed=observed)
    other = torch.where(observed, cost, 1 - cost)
    torch.testing.assert_close(value, two_stage_loss(leaf, other, observed=observed), atol=0, rtol=0)
    value.sum().backward()
    assert (leaf.grad[~observed] == 0).all()


FEES = np.array([0.0, 0.1, 0.05, 0.3])
PATTERNS = {(True, True, True, True): 0.3, (True, False, True, True): 0.5, (True, True, False, False): 0.2}


@pytest.mark.parametrize("patterns", [{(True,) * 4: 1.0}, PATTERNS], ids=["all answer", "some are missing"])
def test_two_stage_minimiser_is_proportional_to_what_a_decider_does_not_cost(patterns):
    """Enumerated: who is right is drawn apart with .6, .9, .4, .8, the first of them the model; fees are rescaled."""
    skills = np.array([0.6, 0.9, 0.4, 0.8])
    rights = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    weight = torch.as_tensor(np.where(rights == 1, skills, 1 - skills).prod(axis=1))
    cost = torch.as_tensor(rescaled(1 - rights, FEES))
    assert cost.min() >= 0
    assert cost.max() <= 1

    def risk(logits):
        wide = logits.expand(len(rights), 4)
        return sum(
            share * (weight * two_stage_loss(wide, cost, observed=torch.tensor(seen).expand(len(rights), 4))).sum()
            for seen, share in patterns.items()
        )

    r = minimiser(risk, 4)
    expected = 1 - rescaled(1 - skills[None], FEES)[0]
    np.testing.assert_allclose(np.exp(r) / np.exp(r).sum(), expected / expected.sum(), atol=1e-6)
    assert r.argmax() == (skills - FEES).argmax()


def test_without_rescaling_a_fee_makes_a_weight_negative_and_the_loss_unbounded():
    cost = torch.tensor([[0.0, 1.2]], dtype=torch.float64)
    values = [two_stage_loss(torch.tensor([[0.0, -z]], dtype=torch.float64), cost).item() for z in (0.0, 10.0, 100.0)]
    assert values[0] > values[1] > values[2]


# ------------------------------------------------------------------ L2D-Pop


def answers_of(seed, n=3, t=5):
    rng = torch.Generator().manual_seed(seed)
    double = {"generator": rng, "dtype": torch.float64}
    return 3 * torch.randn(n, t, **double), torch.randn(n, t, **double) > 0, torch.rand(n, t, **double) < 0.5


@settings(max_examples=25)
@given(seed=seeds)
def test_population_loss_slow_twin_and_missing_answers(seed):
    log_odds, right, present = answers_of(seed)
    slow = []
    for z, r, p in zip(log_odds.tolist(), right.tolist(), present.tolist(), strict=True):
        terms = [math.log1p(math.exp(-a if b else a)) for a, b, seen in zip(z, r, p, strict=True) if seen]
        slow.append(sum(terms) / len(terms) if terms else 0.0)
    value = population_loss(log_odds, right, present)
    torch.testing.assert_close(value, torch.tensor(slow, dtype=torch.float64), atol=1e-9, rtol=1e-9)
    other = torch.where(present, right, ~right)
    torch.testing.assert_close(value, population_loss(log_odds, other, present), atol=0, rtol=0)


def test_population_minimiser_is_the_probability_given_the_context():
    """Two kinds of people, right with .9 and .3; a context of two answers: sigmoid(g) is P(right | context)."""
    skills, kinds = np.array([0.9, 0.3]), np.array([0.4, 0.6])
    cells = list(itertools.product([0, 1], repeat=3))  # two answers of the context, and the one to predict
    joint = [
        float(sum(k * s ** sum(c) * (1 - s) ** (3 - sum(c)) for k, s in zip(kinds, skills, strict=True))) for c in cells
    ]
    n_right = torch.tensor([a + b for a, b, _ in cells])
    right = torch.tensor([[bool(c)] for *_, c in cells])

    def risk(logits):
        value = population_loss(logits[n_right][:, None], right, torch.ones(8, 1, dtype=torch.bool))
        return (torch.tensor(joint, dtype=torch.float64) * value).sum()

    g = minimiser(risk, 3)
    for count in range(3):
        posterior = kinds * skills**count * (1 - skills) ** (2 - count)
        assert 1 / (1 + math.exp(-g[count])) == pytest.approx(posterior @ skills / posterior.sum(), abs=1e-6)


def contexts(seed, e=3, c=6, d=4, k=2):
    rng = torch.Generator().manual_seed(seed)
    said = torch.randint(0, 2, (e, c, 2 * k + 1), generator=rng).float()
    return Context(torch.randn(e, c, d, generator=rng), said, torch.rand(e, c, generator=rng) < 0.6)


@pytest.mark.parametrize("encoder", ["mean", "attention"])
@settings(max_examples=15)
@given(seed=seeds, order=st.permutations(range(6)), experts=st.permutations(range(3)))
def test_a_context_is_a_set_and_experts_are_apart(encoder, seed, order, experts):
    torch.manual_seed(0)
    rejector, context = PopulationRejector(4, 2, encoder), contexts(seed)
    x = torch.randn(3, 5, 4)
    value = rejector(x, context)
    shuffled = Context(context.inputs[:, order], context.given[:, order], context.present[:, order])
    torch.testing.assert_close(rejector(x, shuffled), value, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(rejector(x[experts], context.take(torch.tensor(experts))), value[experts])
    absent = ~context.present[..., None]
    garbage = Context(context.inputs + 9 * absent, context.given + 9 * absent, context.present)
    torch.testing.assert_close(rejector(x, garbage), value, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("encoder", ["mean", "attention"])
def test_an_empty_context_is_allowed(encoder):
    torch.manual_seed(0)
    context = contexts(0)
    nobody = Context(context.inputs, context.given, torch.zeros_like(context.present))
    assert torch.isfinite(PopulationRejector(4, 2, encoder)(torch.randn(3, 5, 4), nobody)).all()


# ------------------------------------------------------------------ teams, on a small problem


@pytest.fixture(scope="module")
def team():
    """Return x, y and the answers of three experts: the first is right where x_0 > 0, the others half of the time."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = (rng.random(400) < 0.5).astype(np.int64)
    right = np.column_stack([np.where(x[:, 0] > 0, 0.98, 0.4), np.full((400, 2), 0.5)])
    answers = np.where(rng.random((400, 3)) < right, y[:, None], 1 - y[:, None])
    return x, y, np.where(rng.random((400, 3)) < 0.9, answers, -1)


EVERYBODY = np.ones((400, 3), dtype=bool)


@pytest.mark.parametrize("method", [Deccaf(), TwoStageSurrogate(), L2DPop("mean")], ids=lambda one: type(one).__name__)
def test_each_method_finds_the_specialist_and_asks_only_who_is_there(method, team, monkeypatch):
    x, y, answers = team
    monkeypatch.setattr("benchmarks.field.methods.small_training.MOST_EPOCHS", 60)
    monkeypatch.setattr("benchmarks.field.methods.first_stage.MOST_CLASSES_TO_BOOST", 0)
    monkeypatch.setattr("benchmarks.field.methods.l2d_pop.ALL_EPISODES", 400)
    method.fit(x, y, answers)
    choice = method.decide(x, fees=np.zeros((400, 3)), available=EVERYBODY)
    assert (choice.expert[x[:, 0] > 0.5] == 0).mean() > 0.8
    absent = EVERYBODY & (np.arange(3) != 0)
    assert not (method.decide(x, fees=np.zeros((400, 3)), available=absent).expert == 0).any()
    dear = method.decide(x, fees=np.full((400, 3), 0.9), available=EVERYBODY)
    assert (dear.expert < 0).mean() > 0.9


@pytest.fixture
def plain_first_stage(monkeypatch):
    """Leave boosting to the second stage, to be quick."""
    monkeypatch.setattr("benchmarks.field.methods.first_stage.MOST_CLASSES_TO_BOOST", 0)


@pytest.mark.usefixtures("plain_first_stage")
def test_deccaf_permuting_experts_permutes_the_answer(team):
    x, y, answers = team
    order = [2, 0, 1]
    one, two = Deccaf().fit(x, y, answers), Deccaf().fit(x, y, answers[:, order])
    np.testing.assert_allclose(
        one.expert_proba(x, EVERYBODY)[:, order], two.expert_proba(x, EVERYBODY), atol=1e-9, rtol=0
    )


@pytest.mark.usefixtures("plain_first_stage")
def test_deccaf_somebody_who_never_answered_changes_nobody(team):
    x, y, answers = team
    silent = np.column_stack([answers, np.full(400, -1)])
    one, two = Deccaf().fit(x, y, answers), Deccaf().fit(x, y, silent)
    available = np.column_stack([EVERYBODY, EVERYBODY[:, 0]])
    np.testing.assert_allclose(two.expert_proba(x, available)[:, :3], one.expert_proba(x, EVERYBODY), atol=1e-9)


@pytest.mark.usefixtures("plain_first_stage")
def test_deccaf_assigns_within_capacity_as_brute_force_would(team):
    x, y, answers = team
    method, fees, available = Deccaf().fit(x, y, answers), np.full((5, 3), 0.02), EVERYBODY[:5]
    capacity = {"expert_0": 2, "expert_1": 1, "expert_2": 1}
    batch = method.assign(x[:5], capacity=capacity, fees=fees, available=available)
    load = np.bincount(batch.expert[batch.expert >= 0], minlength=3)
    assert (load <= list(capacity.values())).all()
    class_proba = method.first_.proba(x[:5])
    value = np.column_stack([class_proba.max(axis=1), method.expert_proba(x[:5], available) - fees])
    best = max(
        sum(value[i, who] for i, who in enumerate(way))
        for way in itertools.product(range(4), repeat=5)
        if all(way.count(j + 1) <= most for j, most in enumerate(capacity.values()))
    )
    assert value[np.arange(5), batch.expert + 1].sum() == pytest.approx(best, abs=1e-9)


def test_shrunken_shares_by_hand():
    shares = shrunken_shares(np.array([0, 0, 1, 1]), np.array([True, True, True, False]), n_experts=3)
    np.testing.assert_allclose(shares, [(2 + 7.5) / 12, (1 + 7.5) / 12, 0.75])
