"""The next step of a cascade as a program asks for it: answers without a mark, and what is refused."""

import numpy as np
import pytest

from defero import ExpertPool, InputError
from defero.pools import Judge

X = np.zeros((3, 1))


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(0)
    scores = (rng.random((300, 2)) < [0.6, 0.9]).astype(float)
    return ExpertPool().fit(rng.normal(size=(300, 1)), scores, prices=[0.1, 1.0], expert_names=["a", "b"])


def test_an_answer_that_was_not_judged_is_not_asked_for_again(pool):
    judge = Judge(0.95, 0.95)
    none = np.full((3, 2), np.nan)
    assert pool.next_step(X, judge=judge, trade_off=5.0).ask.tolist() == [0, 0, 0]
    asked = np.array([[True, False], [True, True], [False, False]])
    step = pool.next_step(X, marks=none, asked=asked, judge=judge, trade_off=5.0)
    assert step.ask.tolist() == [1, -1, 0]
    assert step.answer.tolist() == [0, 1, -1]
    marks = none.copy()
    marks[0, 0] = 0.0
    assert pool.next_step(X, marks=marks, judge=judge, trade_off=5.0).answer.tolist() == [0, -1, -1]


@pytest.mark.parametrize(
    ("change", "argument", "words"),
    [
        ({"judge": None}, "judge", "Judge"),
        ({"trade_off": np.inf}, "trade_off", "finite"),
        ({"trade_off": -1.0}, "trade_off", "at least 0"),
        ({"trade_off": np.nan}, "trade_off", "finite"),
        ({"judge_price": -1.0}, "judge_price", "at least 0"),
        ({"marks": np.full((3, 2), 0.5)}, "marks", "0, 1 or NaN"),
        ({"asked": np.zeros((2, 2), bool)}, "asked", "shape"),
        ({"marks": np.ones((3, 2)), "asked": np.zeros((3, 2), bool)}, "asked", "only answers are judged"),
    ],
)
def test_what_makes_no_sense_is_refused(pool, change, argument, words):
    with pytest.raises(InputError, match=words) as error:
        pool.next_step(X, **{"judge": Judge(0.9, 0.8), "trade_off": 1.0, **change})
    assert error.value.argument == argument
