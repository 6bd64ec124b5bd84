"""The next step of a cascade as a program asks for it: answers without a mark, and what is refused."""

import numpy as np
import pytest

from defero import ExpertPool, InputError, Team, Terms
from defero.judge import Judge

X = np.zeros((3, 1))


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    scores = (rng.random((300, 2)) < [0.6, 0.9]).astype(float)
    return ExpertPool().fit(rng.normal(size=(300, 1)), scores, prices=[0.1, 1.0], expert_names=["a", "b"])


def terms(**change):
    return Terms(**{"judge": Judge(0.95, 0.95), "error_cost": 5.0, **change})


def test_an_answer_that_was_not_judged_is_not_asked_for_again(pool):
    none = np.full((3, 2), np.nan)
    assert pool.next_step(X, terms=terms()).ask.tolist() == [0, 0, 0]
    asked = np.array([[True, False], [True, True], [False, False]])
    step = pool.next_step(X, marks=none, asked=asked, terms=terms())
    assert step.ask.tolist() == [1, -1, 0]
    assert step.stands.tolist() == [0, 1, -1]
    assert step.reason[1].startswith("the answer of b stands: ")
    marks = none.copy()
    marks[0, 0] = 0.0
    assert pool.next_step(X, marks=marks, terms=terms()).stands.tolist() == [0, -1, -1]


def test_without_a_judge_there_is_one_question(pool):
    plain = Terms(error_cost=5.0)
    first = pool.next_step(X, terms=plain)
    assert first.ask.tolist() == pool.decide(X, terms=plain).expert.tolist()
    then = pool.next_step(X, asked={"b": True}, terms=plain)
    assert then.ask.tolist() == [-1] * 3
    assert then.stands.tolist() == [1] * 3
    assert (then.expected_cost <= first.expected_cost + 1e-9).all()


def test_a_local_classifier_goes_first_and_a_dear_expert_after_a_bad_mark():
    team = Team.from_probabilities([[0.8, 0.2]] * 3, [[0.97]] * 3, expert_names=["api"])
    costs = {"fees": {"api": 1.0}, "error_cost": 8.0, "judge": Judge(0.9, 0.9), "judge_price": 0.05}
    first = team.next_step(terms=Terms(**costs))
    assert first.to_frame().ask.tolist() == ["model"] * 3
    assert first.judged.all()
    then = team.next_step(marks={"model": [1, 0, 1]}, terms=Terms(**costs))
    assert then.to_frame().ask.tolist() == ["", "api", ""]
    assert then.to_frame().stands.tolist() == ["model", "", "model"]


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"terms": terms(judge=(0.9, 0.8))}, "judge", "Judge"),
        ({"terms": terms(error_cost=None)}, "judge", "error_cost"),
        ({"terms": terms(judge_price=-1.0)}, "judge_price", "at least 0"),
        ({"terms": terms(budget=3.0)}, "budget", "no effect"),
        ({"marks": np.full((3, 2), 0.5)}, "marks", "0, 1 or NaN"),
        ({"asked": np.zeros((2, 2), bool)}, "asked", "shape"),
        ({"marks": np.ones((3, 2)), "asked": np.zeros((3, 2), bool)}, "asked", "only answers are judged"),
    ],
)
def test_what_makes_no_sense_is_refused(pool, change, argument, words):
    with pytest.raises(InputError, match=words) as error:
        pool.next_step(X, **{"terms": terms(), **change})
    assert error.value.argument == argument


def test_a_mark_does_not_say_which_error_it_is_so_that_a_cost_matrix_is_refused():
    team = Team.from_probabilities([[0.8, 0.2]], [[0.97]], expert_names=["api"])
    with pytest.raises(InputError, match=r"judge and cost_matrix exclude each other.*error_cost"):
        team.next_step(terms=Terms(cost_matrix=[[0, 1], [5, 0]], judge=Judge(0.9, 0.9)))
