"""Decision, ExpertSets and Answer: frozen, checked, and able to answer the obvious questions."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero.core.errors import InputError
from defero.core.results import Answer, Decision, ExpertSets
from defero.core.wording import join_names

DECISION = {
    "expert": [0, -1, 1],
    "expert_names": ("ann", "bob"),
    "expected_cost": [0.1, 0.2, 0.3],
    "model_value": [0.5, 0.8, 0.1],
    "best_expert": [0, 0, 1],
    "best_value": [0.9, 0.7, 0.7],
    "p_right": [0.9, 0.8, 0.7],
}
ANSWER = {
    "label": np.array(["a", "b"], dtype=object),
    "confidence": [0.5, 0.75],
    "heard": np.array([[True, False], [False, False]]),
}
SETS = {"mask": np.array([[True, False], [True, True], [False, False]]), "expert_names": ("ann", "bob")}
VALUES = [(Decision, DECISION), (Answer, ANSWER), (ExpertSets, SETS)]


@pytest.mark.parametrize(("kind", "fields"), VALUES)
def test_nothing_can_be_assigned_or_written(kind, fields):
    given = {name: np.array(value) if name != "expert_names" else value for name, value in fields.items()}
    value = kind(**given)
    for name in fields:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)
        array = getattr(value, name)
        if name != "expert_names":
            with pytest.raises(ValueError, match="read-only"):
                array[0] = array[1]
            before = array.copy()
            given[name][:] = given[name][::-1].copy()
            assert np.array_equal(array, before)


def test_a_decision_answers_the_obvious_questions():
    decision = Decision(**DECISION)
    assert len(decision) == 3
    assert decision.name.tolist() == ["ann", "model", "bob"]
    assert decision.deferred.tolist() == [True, False, True]
    assert decision.coverage == pytest.approx(1 / 3)
    assert decision.load.tolist() == [1, 1]
    assert decision.reason == ["ann 0.900 >= model 0.500", "model 0.800 > ann 0.700", "bob 0.700 >= model 0.100"]


def test_a_decision_on_nothing_has_no_coverage():
    nothing = Decision(**{**DECISION, **{name: [] for name in DECISION if name != "expert_names"}})
    assert np.isnan(nothing.coverage)
    assert nothing.load.tolist() == [0, 0]
    assert nothing.reason == []


def slow_reason(decision, i):
    """One phrase at a time."""
    best, asked = int(decision.best_expert[i]), int(decision.expert[i])
    if best == -1:
        return "no expert available"
    model = f"model {decision.model_value[i]:.3f}"
    expert = f"{decision.expert_names[best]} {decision.best_value[i]:.3f}"
    if asked == best and decision.best_value[i] >= decision.model_value[i]:
        return f"{expert} >= {model}"
    if asked == -1 and decision.model_value[i] > decision.best_value[i]:
        return f"{model} > {expert}"
    decider = "model" if asked == -1 else decision.expert_names[asked]
    return f"{decider} by rule, with {model} and best expert {expert}"


@given(st.integers(0, 10_000))
def test_reasons_are_the_slow_twins(seed):
    rng = np.random.default_rng(seed)
    n = 40
    value = np.round(rng.choice([rng.normal(size=n), rng.integers(-3, 2003, n) / 2000], axis=0), 4)
    value[rng.random(n) < 0.1] = -np.inf
    whom = [rng.integers(-1, 3, n) for _ in range(2)]
    model = np.round(rng.integers(0, 2001, n) / 2000, 4)
    decision = Decision(whom[0], ("ann", "bob", "50 %"), rng.random(n), model, whom[1], value)
    assert decision.reason == [slow_reason(decision, i) for i in range(n)]
    assert decision.columns(5)["reason"] == decision.reason[:5]


def test_a_reason_never_states_a_comparison_that_does_not_hold():
    """Baselines decide by something else than the numbers; the reason says so."""
    decision = Decision(**{**DECISION, "expert": [-1, 0, 0]})
    assert decision.reason == [
        "model by rule, with model 0.500 and best expert ann 0.900",
        "ann by rule, with model 0.800 and best expert ann 0.700",
        "ann by rule, with model 0.100 and best expert bob 0.700",
    ]


def test_sets_answer_the_obvious_questions():
    sets = ExpertSets(**SETS)
    assert len(sets) == 3
    assert sets.size.tolist() == [1, 2, 0]
    assert [sets.members(i) for i in range(3)] == [["ann"], ["ann", "bob"], []]


def test_an_answer_tells_who_was_heard():
    answer = Answer(**ANSWER)
    assert len(answer) == 2
    assert answer.by_model.tolist() == [False, True]
    assert answer.label.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("kind", "fields", "change", "message"),
    [
        (Decision, DECISION, {"expert": [0, -1, 2]}, r"expert must be \(n,\) whole numbers from -1 .* to 1"),
        (Decision, DECISION, {"expert": [0, -2, 1]}, r"expert must be \(n,\) whole numbers from -1 .* to 1"),
        (Decision, DECISION, {"expert": [0.0, 0.5, 1.0]}, r"expert must be \(n,\) whole numbers"),
        (Decision, DECISION, {"expert": [[0]]}, r"expert must be \(n,\) whole numbers"),
        (Decision, DECISION, {"best_expert": [5, 0, 0]}, r"best_expert must be \(n,\) whole numbers"),
        (Decision, DECISION, {"best_expert": [0]}, r"best_expert must have shape \(3,\) like expert, got \(1,\)"),
        (Decision, DECISION, {"p_right": [0, 0]}, r"p_right must have shape \(3,\) like expert, got \(2,\)"),
        (Decision, DECISION, {"expected_cost": [0]}, r"expected_cost must have shape \(3,\) like expert, got \(1,\)"),
        (Decision, DECISION, {"model_value": [[1, 2, 3]]}, r"model_value must have shape \(3,\) like expert"),
        (Decision, DECISION, {"best_value": 0}, r"best_value must have shape \(3,\) like expert, got \(\)"),
        (Decision, DECISION, {"expert_names": ("a", "a")}, "expert_names must be distinct, got a more than once"),
        (ExpertSets, SETS, {"mask": [[1, 0]]}, r"mask must be \(n, J\) True or False, got shape \(1, 2\) of int64"),
        (
            ExpertSets,
            SETS,
            {"mask": np.array([True])},
            r"mask must be \(n, J\) True or False, got shape \(1,\) of bool",
        ),
        (ExpertSets, SETS, {"expert_names": ("a",)}, "expert_names must be 2 names, one per column, got 1"),
        (
            Answer,
            ANSWER,
            {"heard": [[1, 0], [0, 0]]},
            r"heard must be \(n, J\) True or False, got shape \(2, 2\) of int",
        ),
        (Answer, ANSWER, {"label": ["a"]}, r"label must have shape \(2,\) like heard, got \(1,\)"),
        (Answer, ANSWER, {"confidence": [1.0]}, r"confidence must have shape \(2,\) like heard, got \(1,\)"),
    ],
)
def test_what_is_wrong_is_said(kind, fields, change, message):
    with pytest.raises(InputError, match=message):
        kind(**{**fields, **change})


def test_a_long_list_is_cut_short():
    assert join_names(range(13)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ... (13 in all)"
