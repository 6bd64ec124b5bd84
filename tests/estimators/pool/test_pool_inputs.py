"""What users pass to a pool: judges, scores a little outside, integer column names, marks by name, threads."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from defero import ExpertPool, InputError, Team, Terms
from defero.estimators.pool import expert_pool
from defero.judge import Judge
from defero.learn.fit_scores import fit_scores

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
MARKS = (rng.random((200, 2)) < [0.6, 0.8]).astype(float)


def test_a_judge_is_a_judge():
    with pytest.raises(InputError, match=r"Judge\(0.9, 0.8\)") as error:
        ExpertPool(judge=(0.9, 0.8)).fit(X, MARKS)
    assert error.value.argument == "judge"


def test_scores_a_little_outside_are_not_told_to_be_divided():
    with pytest.raises(InputError, match=r"got -0\.285714 for expert_0") as error:
        ExpertPool().fit(X, Judge(0.9, 0.8).unbiased(MARKS))
    assert "divide" not in str(error.value)
    assert "judge=Judge" in str(error.value)
    with pytest.raises(InputError, match="divide by the largest"):
        ExpertPool().fit(X, 10 * MARKS)


def test_integer_column_names(tmp_path):
    frame = pd.DataFrame(X)
    pool = ExpertPool().fit(frame, MARKS)
    pool.save(tmp_path / "pool")
    again = Team.load(tmp_path / "pool").decide(frame[:5])
    assert again.name.tolist() == pool.decide(frame[:5]).name.tolist()
    pool.add_expert("new", frame[:20], MARKS[:20, 0])
    mixed = pd.DataFrame({"task": np.where(X[:, 0] > 0, "a", "b"), 0: X[:, 1]})
    assert len(ExpertPool().fit(mixed, MARKS).decide(mixed)) == 200


def test_two_columns_of_one_name_are_an_error():
    frame = pd.DataFrame(X[:, :2], columns=[0, "0"])
    with pytest.raises(InputError, match="two columns") as error:
        ExpertPool().fit(frame, MARKS)
    assert error.value.argument == "X"


def test_marks_and_answers_of_a_cascade_by_name():
    pool = ExpertPool().fit(X, MARKS, prices=[0.1, 1.0], expert_names=["small", "large"])
    rule = {"terms": Terms(judge=Judge(0.9, 0.8), error_cost=5.0, judge_price=0.01)}
    by_place = pool.next_step(X[:2], marks=[[1, np.nan], [0, np.nan]], **rule)
    by_name = pool.next_step(X[:2], marks={"small": [1, 0]}, **rule)
    one = pool.next_step(X[0], marks={"small": 0}, **rule)
    for name in ("ask", "judged", "stands", "p_right", "expected_cost"):
        np.testing.assert_array_equal(getattr(by_place, name), getattr(by_name, name))
    assert one.ask.tolist() == [by_place.ask[1]]
    heard = pool.next_step(X[:2], asked={"small": [True, True]}, **rule)
    assert heard.stands.tolist() == [0, 0]
    with pytest.raises(InputError, match="did you mean 'small'") as error:
        pool.next_step(X[:2], marks={"smal": [1, 0]}, **rule)
    assert error.value.argument == "marks"


def test_small_pools_are_fitted_by_one_thread(monkeypatch):
    seen = []

    def fit(features, scores, *, columns, fold):
        seen.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return fit_scores(features, scores, columns=columns, fold=fold)

    monkeypatch.setattr(expert_pool, "fit_scores", fit)
    with threadpool_limits(2, user_api="blas"):
        ExpertPool().fit(X, MARKS)
        assert set(seen) == {1}
        assert {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"} == {2}
