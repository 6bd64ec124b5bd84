"""Asking one after the other: against exact dynamic programming, the one-step rule, and by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from exact_asking import asked, drawn_case, law_of, one_step_choice, optimum, policy_cost
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core import InputError
from defero.core.law import Law, uniform_errors
from defero.decide import DEFAULT_FEE, ask_in_turn, look_ahead, next_step
from defero.decide.terms import Terms
from defero.decide.votes import bayes_vote

HERE = Path(__file__).parent


def step_of(case, **more):
    belief, right, errors, _, fees, costs = case
    known = {"law": Law(errors), "right": right[None]}
    return next_step(belief[None], right.mean(axis=1), **known, terms=Terms(fees=fees, cost_matrix=costs), **more)


def our_choice(belief, laws, fees, costs, left):
    """Return whom `next_step` asks, as a policy of exact_asking."""
    k, j = len(belief), len(laws)
    right = np.array([np.diag(law) for law in laws])
    wrong = laws[0] * (1 - np.eye(k))
    known = {"law": Law(wrong / wrong.sum(axis=1, keepdims=True)), "right": right[None]}
    terms = Terms(fees=fees, cost_matrix=costs, available=np.isin(np.arange(j), list(left)))
    ask = next_step(belief[None], right.mean(axis=1), **known, terms=terms).ask[0]
    return None if ask < 0 else int(ask)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(1, 4), st.booleans(), st.booleans())
def test_few_experts_cost_what_the_optimum_costs(seed, k, j, by_class, own_costs):
    case = drawn_case(np.random.default_rng(seed), k=k, j=j, by_class=by_class, own_costs=own_costs)
    belief, _, _, laws, fees, costs = case
    step = step_of(case)
    best = optimum(belief, laws, fees, costs)
    assert step.expected_cost[0] == pytest.approx(best, abs=1e-9)
    assert step.answer_cost[0] == pytest.approx(min(belief @ costs), abs=1e-12)
    if step.ask[0] >= 0:
        first = asked(belief, laws, fees, costs, frozenset(range(j)), int(step.ask[0]), optimum)
        assert first == pytest.approx(best, abs=1e-9)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.integers(1, 4), st.booleans())
def test_never_worse_than_the_one_step_rule(seed, k, j, own_costs):
    belief, _, _, laws, fees, costs = drawn_case(np.random.default_rng(seed), k=k, j=j, own_costs=own_costs)
    ours = policy_cost(belief, laws, fees, costs, our_choice)
    assert ours <= policy_cost(belief, laws, fees, costs, one_step_choice) + 1e-9
    assert ours == pytest.approx(optimum(belief, laws, fees, costs), abs=1e-9)


def test_looking_at_a_few_of_the_experts_costs_little(monkeypatch):
    """A fixed random set: four experts of whom only the best two, then three, are looked at together."""
    excess = {}
    for some in (2, 3):
        monkeypatch.setattr("defero.decide.asking.n_candidates", lambda *_, some=some, **__: some)
        ours, best, greedy = [], [], []
        for seed, k in [(seed, k) for seed in range(30) for k in (2, 3)]:
            belief, _, _, laws, fees, costs = drawn_case(np.random.default_rng(seed), k=k, j=4)
            ours.append(policy_cost(belief, laws, fees, costs, our_choice))
            best.append(optimum(belief, laws, fees, costs))
            greedy.append(policy_cost(belief, laws, fees, costs, one_step_choice))
        excess[some] = 100 * (np.mean(ours) / np.mean(best) - 1)
        assert np.mean(ours) < np.mean(greedy)
        assert (np.array(ours) >= np.array(best) - 1e-9).all()
    excess["one-step rule"] = 100 * (np.mean(greedy) / np.mean(best) - 1)
    recorded = json.loads((HERE / "asking_excess.json").read_text())
    assert {str(name): round(value, 3) for name, value in excess.items()} == recorded["percent_above_the_optimum"]
    assert excess[3] <= 0.5


@given(st.integers(0, 10**6), st.integers(5, 7), st.booleans())
def test_many_classes_promise_no_less_than_the_optimum_and_little_more(seed, k, own_costs):
    belief, right, errors, laws, fees, costs = drawn_case(np.random.default_rng(seed), k=k, j=2, own_costs=own_costs)
    terms, known = Terms(fees=fees, cost_matrix=costs), {"law": Law(errors), "right": right[None]}
    cost = next_step(belief[None], right[:, 0], terms=terms, **known).expected_cost[0]
    best = optimum(belief, laws, fees, costs)
    one = policy_cost(belief, laws, fees, costs, lambda *state: one_step_choice(*state) if len(state[4]) == 2 else None)
    assert best - 1e-9 <= cost <= one + 1e-9


def test_it_goes_on_where_the_one_step_rule_stalls():
    """No single answer of 0.8 can turn the model's 0.85, two can: the one-step value of everybody is exactly 0."""
    belief, k = np.array([0.85, 0.15]), 2
    laws, fees, costs = [law_of(0.8, k)] * 3, np.full(3, 0.005), 1 - np.eye(k)
    assert one_step_choice(belief, laws, fees, costs, frozenset(range(3))) is None
    step = next_step(belief[None], [0.8] * 3, terms=Terms(fees=fees))
    assert step.ask.tolist() == [0]
    assert step.expected_cost[0] == pytest.approx(optimum(belief, laws, fees, costs))
    assert step.expected_cost[0] < step.answer_cost[0] - 0.01
    settled = ask_in_turn([[1, 1, 1]], [0.8] * 3, belief[None], terms=Terms(fees=fees))
    assert settled.label.tolist() == [1]


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.01, 0.05]), st.booleans())
def test_the_answer_is_the_bayes_vote_of_those_asked(seed, fee, together):
    rng = np.random.default_rng(seed)
    n, j, k = rng.integers(1, 6), rng.integers(0, 9), rng.integers(1, 7)
    answers, can = rng.integers(-1, k, size=(n, j)), rng.random((n, j)) < 0.8
    experts, model = rng.random((n, j)), rng.dirichlet(np.ones(k), size=n)
    law = Law(uniform_errors(k), difficulty=1.5, decoy=0.4, temper=0.3) if together else None
    settled = ask_in_turn(answers, experts, model, terms=Terms(fees=np.full(j, fee), available=can), law=law)
    vote = bayes_vote(answers, settled.heard, experts, model, law=law)
    assert np.array_equal(settled.label, vote.label)
    assert settled.confidence == pytest.approx(vote.confidence)
    assert settled.fees == pytest.approx(fee * settled.n_asked)
    assert not (settled.heard & ~(can & (answers >= 0))).any()


@given(st.integers(0, 10_000), st.sampled_from([2, 3, 6]), st.booleans())
def test_each_question_is_the_next_step(seed, k, together):
    rng = np.random.default_rng(seed)
    n, j = 3, 5
    answers, experts, model = rng.integers(0, k, (n, j)), rng.random((n, j)), rng.dirichlet(np.ones(k), size=n)
    known = {"right": rng.random((n, j, k)), "law": Law(uniform_errors(k), difficulty=1.0, decoy=0.3, temper=0.4)}
    terms = {"terms": Terms(fees=rng.uniform(0.005, 0.05, j)), **(known if together else {})}
    settled = ask_in_turn(answers, experts, model, **terms)
    so_far = np.full((n, j), -1)
    for _ in range(j + 1):
        steps = next_step(model, experts, answers=so_far, **terms)
        rows = np.flatnonzero(steps.ask >= 0)
        so_far[rows, steps.ask[rows]] = answers[rows, steps.ask[rows]]
    assert (steps.ask == -1).all()
    assert np.array_equal(so_far >= 0, settled.heard)
    assert np.array_equal(steps.label, settled.label)
    assert steps.p_right == pytest.approx(settled.confidence)
    assert steps.expected_cost == pytest.approx(steps.answer_cost)


@given(st.integers(0, 10_000))
def test_skill_alike_for_all_classes_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    n, j, k = 4, 4, rng.integers(2, 6)
    experts, model, fees = rng.random((n, j)), rng.dirichlet(np.ones(k), size=n), rng.uniform(0.005, 0.05, j)
    plain, by_class = (
        next_step(model, experts, terms=Terms(fees=fees), right=right)
        for right in (None, np.repeat(experts[:, :, None], k, axis=2))
    )
    assert plain.expected_cost == pytest.approx(by_class.expected_cost)
    units = next_step(model, experts, terms=Terms(fees=40 * fees, error_cost=40.0))
    assert units.expected_cost == pytest.approx(40 * plain.expected_cost)
    assert np.array_equal(units.ask, plain.ask)


@given(st.integers(0, 10_000))
def test_permuting_experts_permutes_who_is_asked(seed):
    rng = np.random.default_rng(seed)
    answers, experts, model = rng.integers(-1, 3, (4, 9)), rng.random((4, 9)), rng.dirichlet(np.ones(3), size=4)
    order = rng.permutation(9)
    plain = ask_in_turn(answers, experts, model, terms=Terms(fees=np.full(9, 0.01)))
    permuted = ask_in_turn(answers[:, order], experts[:, order], model, terms=Terms(fees=np.full(9, 0.01)))
    assert np.array_equal(permuted.heard, plain.heard[:, order])
    assert np.array_equal(permuted.label, plain.label)


def test_pieces_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    answers, experts, model = rng.integers(0, 6, (40, 7)), rng.random((40, 7)), rng.dirichlet(np.ones(6), size=40)
    whole = ask_in_turn(answers, experts, model)
    monkeypatch.setattr(look_ahead, "_NUMBERS_AT_ONCE", 5_000)
    monkeypatch.setattr("defero.decide.costs._NUMBERS_AT_ONCE", 100)
    assert np.array_equal(ask_in_turn(answers, experts, model).heard, whole.heard)


def test_the_next_answer_counts_as_it_will_beside_those_heard():
    """The second of two who find the same cases hard is worth less than the first, and is right more often."""
    law = Law(uniform_errors(2), difficulty=2.0)
    known = {"answers": [[0, -1]], "terms": Terms(fees=[0.01, 0.01])}
    heard = next_step([[0.5, 0.5]], [0.9, 0.9], **known, law=law)
    alone = next_step([[0.5, 0.5]], [0.9, 0.9], **known)
    assert np.concatenate([heard.answer_cost, alone.answer_cost]) == pytest.approx([0.1, 0.1])
    assert heard.expected_cost[0] > alone.expected_cost[0]


@given(st.integers(0, 10_000), st.floats(0, 4), st.floats(0, 0.9))
def test_who_is_asked_first_and_alone_tells_what_they_tell_alone(seed, difficulty, decoy):
    rng = np.random.default_rng(seed)
    model, experts, terms = rng.dirichlet(np.ones(3), size=4), rng.random((4, 1)), Terms(fees=[0.01])
    plain = next_step(model, experts, terms=terms)
    law = Law(uniform_errors(3), difficulty=difficulty, decoy=decoy, temper=0.5)
    together = next_step(model, experts, terms=terms, law=law)
    assert np.array_equal(together.ask, plain.ask)
    assert together.expected_cost == pytest.approx(plain.expected_cost, abs=1e-9)


@given(st.integers(0, 10_000), st.integers(0, 3))
def test_no_more_questions_than_allowed(seed, most):
    rng = np.random.default_rng(seed)
    answers, experts, model = rng.integers(-1, 3, (4, 5)), rng.random((4, 5)), rng.dirichlet(np.ones(3), size=4)
    settled = ask_in_turn(answers, experts, model, terms=Terms(fees=np.full(5, 0.001)), max_questions=most)
    assert (settled.n_asked <= most).all()
    if most == 0:
        assert np.array_equal(settled.confidence, model.max(axis=1))


def test_without_fees_a_question_costs_a_hundredth_of_an_error():
    model, experts = [[0.7, 0.3]], [0.8, 0.8, 0.8]
    plain = next_step(model, experts, terms=Terms(error_cost=50.0))
    assert plain.expected_cost == pytest.approx(
        next_step(model, experts, terms=Terms(fees=[50 * DEFAULT_FEE] * 3, error_cost=50.0)).expected_cost
    )
    assert next_step([[0.991, 0.009]], [1.0]).ask.tolist() == [-1]


def test_the_dear_expert_is_asked_only_where_they_are_worth_it():
    answers, experts, flat = [[1, 1]], [0.95, 0.8], [[0.5, 0.5]]
    assert ask_in_turn(answers, experts, flat, terms=Terms(fees=[0.1, 0.1])).heard.tolist() == [[True, False]]
    assert ask_in_turn(answers, experts, flat, terms=Terms(fees=[0.3, 0.1])).heard.tolist() == [[False, True]]
    assert ask_in_turn(answers, experts, flat, terms=Terms(fees=[0.5, 0.5])).heard.tolist() == [[False, False]]
    scarce = ask_in_turn(answers, experts, flat, terms=Terms(fees=[0.1, 0.1], prices=[0.2, 0.0]))
    assert scarce.heard.tolist() == [[False, True]]
    assert scarce.fees.tolist() == [0.1]  # a price is no money


def test_costs_by_class_turn_the_label_and_the_question():
    """Missing class 1 costs ten times as much: 0.2 of it is enough to call it, and to ask."""
    costs = [[0, 1], [10, 0]]
    step = next_step([[0.8, 0.2]], [0.5], terms=Terms(cost_matrix=costs), classes=["well", "ill"])
    assert (step.label[0], step.p_right[0], step.ask[0]) == ("ill", pytest.approx(0.2), -1)
    assert step.answer_cost.tolist() == [pytest.approx(0.8)]
    assert next_step([[0.97, 0.03]], [0.9], terms=Terms(fees=[0.2], cost_matrix=costs)).ask.tolist() == [-1]
    assert next_step([[0.97, 0.03]], [0.9], terms=Terms(fees=[0.1], cost_matrix=costs)).ask.tolist() == [0]


def test_steps_say_what_comes_next():
    steps = next_step([[0.5, 0.5], [0.999, 0.001]], [0.9], classes=["a", "b"], expert_names=["ann"])
    frame = steps.to_frame()
    assert frame["ask"].tolist() == ["ann", ""]
    assert frame["label"].isna().tolist() == [True, False]
    assert frame["label"][1] == "a"
    assert frame["p_right"].isna().tolist() == [True, False]
    assert "ann" in steps.reason[0]
    assert "Steps: 2 cases" in repr(steps)


def test_edges():
    assert ask_in_turn(np.empty((1, 0), int), [], [[0.25, 0.75]]).label.tolist() == [1]
    assert ask_in_turn([[-1]], [1.0], [[0.25, 0.75]]).by_model.all()
    assert ask_in_turn([[0]], [0.9], [[1.0]]).n_asked.tolist() == [0]
    assert len(ask_in_turn(np.empty((0, 2), int), [0.5, 0.5], np.empty((0, 3)))) == 0
    certain = ask_in_turn([[0, 1]], [1.0, 0.0], [[0.25, 0.75]], terms=Terms(fees=[0.001, 0.001]), classes=["a", "b"])
    assert certain.label.tolist() == ["a"]
    assert certain.n_asked.tolist() == [1]
    assert next_step(np.empty((0, 3)), [0.5]).ask.shape == (0,)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("max_questions", {"max_questions": -1}),
        ("max_questions", {"max_questions": 1.5}),
        ("fees", {"terms": Terms(fees=[0.1])}),
        ("fees", {"terms": Terms(fees=[0.1, np.nan])}),
        ("available", {"terms": Terms(available=[1, 0])}),
        ("error_cost", {"terms": Terms(error_cost=0.0)}),
        ("cost_matrix", {"terms": Terms(cost_matrix=[[0, 1]])}),
        ("cost_matrix", {"terms": Terms(cost_matrix=[[0, -1], [1, 0]])}),
        ("law.errors", {"law": Law.independent(3)}),
        ("right", {"right": np.full((2, 2, 2), 0.8)}),
    ],
)
def test_what_is_wrong_is_said(argument, options):
    with pytest.raises(InputError) as error:
        ask_in_turn([[0, 1]], [0.5, 0.6], [[0.5, 0.5]], **options)
    assert error.value.argument == argument
