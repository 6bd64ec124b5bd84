"""A team under costs and limits: the next step and the batch, on calibrated probabilities, without a new fit."""

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest

from defero import ConfidenceThreshold, DeferralClassifier, Team
from defero.core import InputError
from defero.core.law import uniform_errors
from defero.datasets import wedge
from defero.decide import assign
from defero.decide.terms import Terms
from defero.team import asking as team_asking
from defero.team.asking import next_gains_of, next_step_of

FEES = [0.1, 0.05, 0.0, 0.2]


@lru_cache
def parts():
    return [wedge(n, random_state=seed) for seed, n in enumerate((1_500, 600, 600, 400))]


@lru_cache
def team():
    train, cal, conf, _ = parts()
    model = DeferralClassifier("linear", loss="ova", random_state=0)
    model.fit(train.features, train.labels, experts=train.answers)
    model.calibrate(cal.features, cal.labels, experts=cal.answers)
    return model.conformalize(conf.features, conf.labels, conf.answers)


def test_without_limits_a_batch_is_the_decision():
    router, new = team().team_, parts()[3]
    decision = router.decide(new.features, terms=Terms(fees=FEES))
    batch = router.assign(new.features, terms=Terms(fees=FEES))
    assert router.selection is not None
    assert np.array_equal(batch.expert, decision.expert)
    assert batch.expected_cost == pytest.approx(decision.expected_cost)
    assert batch.sentences() == []
    money = router.assign(new.features, terms=Terms(fees=[40 * fee for fee in FEES], error_cost=40))
    assert np.array_equal(money.expert, batch.expert)
    assert money.expected_cost == pytest.approx(40 * batch.expected_cost)


def test_limits_by_name_hold_and_their_prices_are_explained():
    router, new = team().team_, parts()[3]
    first, second = router.expert_names[:2]
    free = router.assign(new.features, terms=Terms(fees=FEES))
    terms = Terms(capacity={first: (0, 20), second: (70, 90)}, at_most_asked=0.6, fees=FEES)
    batch = router.assign(new.features, terms=terms)
    assert free.load[0] > 20
    assert batch.load[0] <= 20
    assert 70 <= batch.load[1] <= 90
    assert batch.load.sum() <= 0.6 * 400
    assert any(f"to {first} would save" in one for one in batch.sentences())
    paid = router.assign(new.features, terms=Terms(budget=5.0, fees=FEES))
    rows = np.flatnonzero(paid.deferred)
    assert np.array(FEES)[paid.expert[rows]].sum() <= 5.0 + 1e-9
    assert paid.saved < free.saved
    absent = router.assign(new.features, terms=Terms(fees=FEES, available={first: False}))
    assert absent.load[0] == 0


def test_asked_in_turn_round_by_round_is_the_sequential_answer():
    router, new = team().team_, parts()[3]
    recorded = new.answers.astype(object)
    so_far = np.full(recorded.shape, None, dtype=object)
    for _ in range(5):
        steps = router.next_step(new.features, answers=so_far, terms=Terms(fees=[0.02] * 4))
        rows = np.flatnonzero(steps.ask >= 0)
        so_far[rows, steps.ask[rows]] = recorded[rows, steps.ask[rows]]
    assert not len(rows)
    answer = router.answer(new.features, recorded, vote="sequential", terms=Terms(fees=[0.02] * 4))
    assert np.array_equal(steps.label, answer.label)
    assert steps.p_right == pytest.approx(answer.confidence)
    assert np.array_equal([[one is not None for one in row] for row in so_far], answer.heard)
    assert steps.expected_cost == pytest.approx(1 - answer.confidence)


def test_fees_prices_and_absences_change_the_next_step():
    router, new = team().team_, parts()[3]
    names = router.expert_names
    plain = router.next_step(new.features)
    assert (plain.ask == 0).any()
    assert not (router.next_step(new.features, terms=Terms(available={names[0]: False})).ask == 0).any()
    assert not (router.next_step(new.features, terms=Terms(fees={names[0]: 2.0})).ask == 0).any()
    assert not (router.next_step(new.features, terms=Terms(prices={names[0]: 2.0})).ask == 0).any()
    assert names[0] in plain.reason[int(np.flatnonzero(plain.ask == 0)[0])]


def test_where_asking_did_not_pay_nobody_is_asked_but_lower_limits_hold():
    router, new = team().team_.copy(), parts()[3]
    router.selection = replace(router.selection, asks=False)
    batch = router.assign(new.features, terms=Terms(capacity={router.expert_names[0]: 5}))
    assert not batch.deferred.any()
    assert batch.sentences() == []  # no limit of the user's keeps anybody from a question
    assert "did not pay" in batch.reason[0]
    assert any("did not pay" in reason for reason in router.decide(new.features).reason)
    assert router.assign(new.features, terms=Terms(capacity={router.expert_names[1]: (7, 30)})).load.tolist() == [
        0,
        7,
        0,
        0,
    ]
    router.selection = replace(router.selection, asks_several=False)
    steps = router.next_step(new.features)
    assert (steps.ask == -1).all()
    assert "did not pay" in steps.reason[0]
    # That was judged for errors that all cost the same.
    matrix = 50.0 * (np.arange(len(router.classes))[:, None] == 0) * (1 - np.eye(len(router.classes)))
    assert router.assign(new.features, terms=Terms(cost_matrix=matrix + 1 - np.eye(len(matrix)))).deferred.any()
    assert (router.next_step(new.features, terms=Terms(cost_matrix=matrix + 1 - np.eye(len(matrix)))).ask >= 0).any()


def test_costs_by_class_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    belief, skill, matrix = rng.dirichlet(np.ones(3), 5), rng.random((5, 2)), rng.uniform(0, 5, (3, 3))
    router = Team.from_probabilities(belief, skill, classes=["a", "b", "c"], expert_names=["ann", "bob"])
    batch = router.assign(terms=Terms(cost_matrix=matrix, fees=[0.1, 0.2], capacity={"ann": (0, 2)}))
    law = [[(1 - p) * uniform_errors(3) + p * np.eye(3) for p in row] for row in skill]
    model = (belief @ matrix).min(axis=1)
    asked = [[(belief[i] @ (law[i][j] * matrix)).sum() for j in range(2)] for i in range(5)]
    value = model[:, None] - np.array(asked) - [0.1, 0.2]
    assert batch.saved == pytest.approx(assign(value, terms=Terms(capacity=[2, None])).saved)
    assert batch.answer_cost == pytest.approx(model)
    assert batch.label.tolist() == np.array(["a", "b", "c"])[(belief @ matrix).argmin(axis=1)].tolist()
    frame = batch.to_frame()
    assert frame["label"].isna().tolist() == batch.deferred.tolist()


def test_pieces_make_no_difference(monkeypatch):
    train = parts()[0]
    model = DeferralClassifier(random_state=0)
    model.fit(train.features[:400], train.labels[:400], experts=train.answers[:400])
    new, matrix = parts()[3].features[:60], 1 - np.eye(4) + np.triu(np.ones((4, 4)), 1)
    whole = (
        model.next_step(new, terms=Terms(cost_matrix=matrix)),
        model.assign(new, terms=Terms(cost_matrix=matrix, at_most_asked=0.5)),
    )
    monkeypatch.setattr(team_asking, "_NUMBERS_AT_ONCE", 200)
    pieces = (
        model.next_step(new, terms=Terms(cost_matrix=matrix)),
        model.assign(new, terms=Terms(cost_matrix=matrix, at_most_asked=0.5)),
    )
    for one, other in zip(whole, pieces, strict=True):
        assert one.expected_cost == pytest.approx(other.expected_cost)
        assert one.to_frame().equals(other.to_frame())


def test_an_estimator_forwards():
    new = parts()[3].features
    terms = {"terms": Terms(fees=FEES, error_cost=3.0)}
    assert np.array_equal(team().assign(new, **terms).expert, team().team_.assign(new, **terms).expert)
    assert np.array_equal(team().next_step(new, **terms).ask, team().team_.next_step(new, **terms).ask)


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("capacity", {"capacity": {"nobody": 3}}),
        ("fees", {"fees": {"nobody": 3}}),
        ("cost_matrix", {"cost_matrix": np.eye(3)}),
        ("error_cost", {"error_cost": -1}),
        ("budget", {"budget": -1.0, "fees": FEES}),
        ("budget", {"budget": 5.0}),
    ],
)
def test_what_is_wrong_is_said(argument, options):
    router = team().team_
    with pytest.raises(InputError) as error:
        router.assign(parts()[3].features, terms=Terms(**options))
    assert error.value.argument == argument


def test_prices_of_the_wrong_shape_are_called_so():
    router = team().team_
    with pytest.raises(InputError) as error:
        router.next_step(parts()[3].features, terms=Terms(prices=[1, 2, 3]))
    assert error.value.argument == "prices"


def test_a_rule_or_weights_that_compare_no_costs_are_refused():
    train = parts()[0]
    baseline = ConfidenceThreshold().fit(train.features, train.labels, experts=train.answers)
    with pytest.raises(InputError, match="ask-below-threshold"):
        baseline.assign(train.features)
    mixture = DeferralClassifier("linear", loss="moe", random_state=0)
    mixture.fit(train.features[:300], train.labels[:300], experts=train.answers[:300])
    for method in (mixture.assign, mixture.next_step):
        with pytest.raises(InputError, match="no probabilities"):
            method(train.features)
    with pytest.raises(InputError, match="prices"):
        team().team_.next_step(train.features, terms=Terms(prices={"nobody": 1.0}))


@pytest.mark.parametrize("fees", [{"bob": -2.0}, [0.0, -2.0], [[0.0, 0.0], [0.0, -2.0]]])
@pytest.mark.parametrize("method", ["decide", "next_step", "assign", "gains"])
def test_a_negative_fee_is_refused(method, fees):
    router = Team.from_probabilities([[0.5, 0.5]] * 2, [[0.9, 0.8]] * 2, expert_names=["ann", "bob"])
    with pytest.raises(InputError) as error:
        getattr(router, method)(terms=Terms(fees=fees))
    assert error.value.argument == "fees"
    assert all(fact in str(error.value) for fact in ("-2", "bob"))
    assert router.next_step(terms=Terms(prices={"ann": -1.0})).ask.tolist() == [0, 0]  # prices may be


def test_a_cost_matrix_with_names_is_put_in_the_order_of_the_classes():
    router = Team.from_probabilities([[0.8, 0.2]], [[0.9]], classes=["benign", "malign"], expert_names=["ann"])
    plain = [[0, 10], [100, 0]]
    frame = pd.DataFrame(plain, index=["benign", "malign"], columns=["benign", "malign"])
    turned = frame.loc[["malign", "benign"], ["malign", "benign"]]
    for matrix in (frame, turned, turned.T.to_dict()):
        assert router.assign(terms=Terms(cost_matrix=matrix)).answer_cost == pytest.approx([8.0])
        assert router.next_step(terms=Terms(cost_matrix=matrix)).answer_cost == pytest.approx([8.0])
    for wrong, facts in (
        (frame.rename(columns={"malign": "malignant"}), ["column", "malign", "malignant"]),
        (frame.iloc[:1], ["row", "malign"]),
        ({"benign": 3, "malign": {}}, ["benign", "3"]),
    ):
        with pytest.raises(InputError) as error:
            router.next_step(terms=Terms(cost_matrix=wrong))
        assert all(fact in str(error.value) for fact in ("cost_matrix", *facts))


def test_gains_are_those_of_the_batch():
    router, new = team().team_, parts()[3]
    gains = router.gains(new.features, terms=Terms(fees=FEES))
    batch = router.assign(new.features, terms=Terms(fees=FEES))
    assert assign(gains.gain).expert.tolist() == batch.expert.tolist()
    assert gains.answer_cost == pytest.approx(batch.answer_cost)


def test_answers_of_an_unknown_name_are_refused_with_the_nearest_one():
    router = Team.from_probabilities([[0.5, 0.5]], [[0.9, 0.8]], expert_names=["ann", "bob"])
    with pytest.raises(InputError) as error:
        router.next_step(answers=pd.DataFrame({"ann": [0], "bobb": [1]}))
    assert error.value.argument == "answers"
    assert all(fact in str(error.value) for fact in ("'bobb'", "did you mean 'bob'"))
    with pytest.raises(InputError) as error:
        router.next_step(answers=[[0, 7]])
    assert error.value.argument == "answers"


def test_answers_by_name_are_those_of_the_array_and_may_leave_experts_out():
    router = Team.from_probabilities([[0.5, 0.5]] * 2, [[0.9, 0.8]] * 2, expert_names=["ann", "bob"])
    by_name = router.next_step(answers={"bob": [1, None]})
    assert by_name.to_frame().equals(router.next_step(answers=[[None, 1], [None, None]]).to_frame())
    for wrong, facts in (({"bobb": [1, 0]}, "did you mean 'bob'"), ({"bob": [1]}, "'bob' must have 2 answers")):
        with pytest.raises(InputError, match=facts) as error:
            router.next_step(answers=wrong)
        assert error.value.argument == "answers"


def test_gains_of_the_next_question_lead_to_the_next_step():
    router, new = team().team_, parts()[3]
    features = router.features(new.features)
    scores = router.score_features(features)
    recorded = router.answer_numbers(new.answers, n_items=len(scores))
    answer_idx = np.where(np.random.default_rng(0).random(recorded.shape) < 0.3, recorded, -1)
    terms = Terms(fees=[0.02] * 4).of(router.expert_names, router.classes)
    steps = next_step_of(router, features, scores, answer_idx, terms)
    gains = next_gains_of(router, features, scores, answer_idx, terms)
    assert np.isneginf(gains.gain[answer_idx >= 0]).all()
    asked = steps.ask >= 0
    assert np.array_equal(gains.gain.max(axis=1) > 1e-12, asked)
    best = gains.gain[asked].max(axis=1)
    assert gains.gain[asked, steps.ask[asked]] == pytest.approx(best, abs=1e-8)
    assert (gains.answer_cost[asked] - best) == pytest.approx(steps.expected_cost[asked])
    assert asked.any()
    assert steps.settled.tolist() == (~asked & (answer_idx >= 0).any(axis=1)).tolist()
