"""Teams with and without classes beside slow twins, written from the formulas on random teams.

Asking j costs fee_j + error cost * (1 - p_j); the model, if there is one, costs nothing and is one more member.
"""

import itertools

import numpy as np
import pytest

from defero import Team, Terms
from defero.core.errors import InputError
from defero.decide.cascade import Marking, moved
from defero.decide.rules import ALIKE
from defero.judge import Judge

SEEDS = range(6)


def random_team(seed, n=40, n_experts=4, *, model):
    """P(right) of experts, of the model (n, 2) or None, fees (n, J), who is there (n, J), and the team."""
    rng = np.random.default_rng(seed)
    proba = rng.random((n, n_experts))
    classes = None
    if model:
        top = rng.uniform(0.5, 1.0, n)
        classes = np.stack([top, 1 - top], axis=1)
    fees, there = rng.random((n, n_experts)) * 3, rng.random((n, n_experts)) < 0.8
    return proba, classes, fees, there, Team.from_probabilities(classes, proba)


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_who_decides_costs_least(seed, model):
    proba, classes, fees, there, team = random_team(seed, model=model)
    error_cost = 1.0 + seed
    decision = team.decide(terms=Terms(fees=fees, available=there, error_cost=error_cost))
    for i, who in enumerate(decision.expert.tolist()):
        costs = {j: error_cost * (1 - proba[i, j]) + fees[i, j] for j in range(4) if there[i, j]}
        if model:
            costs[-1] = error_cost * (1 - classes[i].max())
        if not costs:
            assert (who, decision.name[i], decision.expected_cost[i]) == (-1, "nobody", error_cost)
            continue
        assert costs[who] <= min(costs.values()) + ALIKE * error_cost + 1e-9
        assert decision.expected_cost[i] == pytest.approx(costs[who])
        assert decision.fee[i] == pytest.approx(fees[i, who] if who >= 0 else 0.0)


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_floor_takes_the_cheapest_who_reaches_it(seed, model):
    proba, classes, fees, there, team = random_team(seed, model=model)
    floor = 0.3 + 0.1 * seed
    decision = team.decide(terms=Terms(fees=fees, available=there, floor=floor))
    for i, who in enumerate(decision.expert.tolist()):
        members = {j: (proba[i, j], fees[i, j]) for j in range(4) if there[i, j]}
        if model:
            members[-1] = (classes[i].max(), 0.0)
        enough = {j: fee for j, (p, fee) in members.items() if p >= floor}
        assert decision.reached[i] == bool(enough)
        if enough:
            assert enough[who] == min(enough.values())
            assert f"cheapest that reaches {floor:g}" in decision.reason[i]
        elif members:
            assert members[who][0] == max(p for p, _ in members.values())
            assert f"none reaches {floor:g}" in decision.reason[i]
        else:
            assert decision.name[i] == "nobody"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_batch_within_a_budget_and_limits_is_the_best_of_all(seed):
    """All choices of one of three experts for each of five items are tried."""
    proba, _, fees, _, team = random_team(seed, n=5, n_experts=3, model=False)
    error_cost, budget, most = 4.0, 1.2 * fees.min(axis=1).sum(), 3
    terms = Terms(fees=fees, error_cost=error_cost, budget=budget, capacity={"all": most})
    rows, best = np.arange(5), np.inf
    for choice in itertools.product(range(3), repeat=5):
        who = np.array(choice)
        if fees[rows, who].sum() <= budget and np.bincount(who).max() <= most:
            best = min(best, (error_cost * (1 - proba[rows, who]) + fees[rows, who]).sum())
    if np.isinf(best):
        assert not team.assign(terms=terms).deferred.all()
        return
    batch = team.assign(terms=terms)
    assert batch.deferred.all()
    assert batch.expected_cost.sum() == pytest.approx(best)
    assert fees[rows, batch.expert].sum() <= budget + 1e-9


def test_who_has_no_budget_for_the_cheapest_is_told_and_limits_leave_cases_unanswered():
    *_, fees, _, team = random_team(0, n=5, n_experts=3, model=False)
    with pytest.raises(InputError, match=r"budget allows 0\.01, but the cheapest question to each of 5 items"):
        team.assign(terms=Terms(fees=fees, budget=0.01))
    few = team.assign(terms=Terms(capacity={"all": 1}))
    assert sorted(few.name) == ["expert_0", "expert_1", "expert_2", "nobody", "nobody"]
    assert (few.expected_cost[few.expert < 0] == 1.0).all()
    assert (few.prices >= 0).all()
    assert (few.prices <= 1.0).all()


def slow_cascade(right, fees, marking, covariance, error_cost, asked, can, depth=2):
    """Return the value of a state, looking `depth` questions ahead, and the first action: (member, judged) or None.

    After the last question nothing is asked any more.
    """
    standing = [right[j] for j in range(len(right)) if asked[j]]
    best, action = (error_cost * max(standing) if standing else -np.inf), None
    for j in range(len(right)):
        if asked[j] or not can[j] or not depth:
            continue
        then = [*asked]
        then[j] = True
        plain = error_cost * max([*standing, right[j]]) - fees[j]
        share = marking.sensitivity * right[j] + (1 - marking.specificity) * (1 - right[j])
        judged = -fees[j] - marking.price
        for mark, chance in ((1, share), (0, 1 - share)):
            after = moved(right[None], j, marking.after(right[[j]], mark), covariance)[0]
            value, _ = slow_cascade(after, fees, marking, covariance, error_cost, then, can, depth - 1)
            judged += chance * value
        for value, own in ((plain, (j, False)), (judged, (j, True))):
            if value > best + 1e-12:
                best, action = value, own
    return best, action


@pytest.mark.parametrize("seed", range(12))
def test_a_cascade_looks_two_questions_ahead(seed):
    rng = np.random.default_rng(seed)
    n_members, error_cost = 3, 5.0
    proba, fees = rng.random((1, n_members)), rng.random((1, n_members))
    judge, price = Judge(rng.uniform(0.7, 1), rng.uniform(0.7, 1)), 0.1
    team = Team.from_probabilities(None, proba)
    asked = rng.random(n_members) < 0.3
    terms = Terms(fees=fees, error_cost=error_cost, judge=judge, judge_price=price)
    step = team.next_step(asked=asked[None], terms=terms)
    marking = Marking(judge.sensitivity, judge.specificity, price)
    value, action = slow_cascade(
        proba[0], fees[0], marking, np.eye(n_members), error_cost, asked.tolist(), [True] * n_members
    )
    assert (None if step.ask[0] < 0 else (int(step.ask[0]), bool(step.judged[0]))) == action
    assert step.expected_cost[0] == pytest.approx(error_cost - (value if np.isfinite(value) else 0.0))


@pytest.mark.parametrize("model", [True, False])
def test_the_curve_is_the_decisions_at_every_error_cost(model):
    proba, classes, fees, _, team = random_team(3, n=60, model=model)
    curve = team.curve(terms=Terms(fees=fees))
    top = proba if classes is None else np.column_stack([proba, classes.max(axis=1)])
    paid = fees if classes is None else np.column_stack([fees, np.zeros(60)])
    for k in range(0, len(curve), 7):
        error_cost = curve.error_cost_for(cost=float(curve.cost[k]))
        who = (error_cost * top - paid).argmax(axis=1)
        assert top[np.arange(60), who].mean() == pytest.approx(curve.quality[k])
        assert paid[np.arange(60), who].mean() == pytest.approx(curve.cost[k])
    came = (np.random.default_rng(0).random(top.shape) < top).astype(float)
    names = [*team.expert_names, *([] if classes is None else ["model"])]
    judged = team.curve(right=dict(zip(names, came.T, strict=True)), terms=Terms(fees=fees))
    assert judged.quality[0] == pytest.approx(came[np.arange(60), paid.argmin(axis=1)].mean())


def test_learned_prices_stand_for_fees_that_nobody_names():
    from dataclasses import replace

    from defero.learn.scores import LearnedPrices

    team = Team.from_probabilities(
        lambda X: np.tile([0.5, 0.5], (len(X), 1)),
        lambda X: np.tile([0.9, 0.95], (len(X), 1)),
        classes=[0, 1],
        expert_names=["a", "b"],
    )
    priced = replace(team, prices=LearnedPrices(np.array([[0.0, 1.0]]), np.array([0.1, 0.0]), np.array([True, True])))
    X = np.array([[0.01], [3.0]])
    decision = priced.decide(X, terms=Terms(error_cost=10.0))
    assert decision.name.tolist() == ["b", "a"]
    assert decision.fee.tolist() == [0.01, 0.1]
    assert team.decide(X, terms=Terms(error_cost=10.0)).name.tolist() == ["b", "b"]
    some = priced.decide(X, terms=Terms(fees={"a": 4.0}, error_cost=10.0))
    assert some.name.tolist() == ["b", "b"]
    assert priced.gains(X, terms=Terms(error_cost=10.0)).gain.round(6).tolist() == [[3.9, 4.49], [3.9, 1.5]]
