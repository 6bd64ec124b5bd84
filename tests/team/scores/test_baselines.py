"""What a pool is compared with: the same items, and members who can be asked and were there in training."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import ExpertPool, InputError, Study, Team, Terms
from defero.judge import Judge
from defero.judge.intervals import mean_interval
from defero.team.judge_scores import judge_scores

NAMES = ["small", "large", "star"]


def data(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    scores = (rng.random((n, 3)) < [0.5, 0.7, 0.95]).astype(float)
    return X, scores


def test_absent_members_are_in_nothing_that_the_pool_is_compared_with():
    X, scores = data()
    team = ExpertPool().fit(X, scores, prices=[1.0, 3.0, 2.0], expert_names=NAMES).team_
    record = judge_scores(team, X, scores, terms=Terms(absent=["star"]))
    assert record.ways["best_single"].name == "large"
    assert record.ways["oracle"].quality == pytest.approx(scores[:, :2].max(axis=1).mean())
    assert record.ways["random"].quality == pytest.approx(scores[:, :2].mean())
    assert 2 not in record.curve.hull
    assert np.isnan(record.curve.member_quality[2])
    row = record.rows()[2]
    assert row["items"] == 0
    assert np.isnan(row["quality"])
    assert 2 not in team.curve(X, scores, terms=Terms(absent=["star"])).hull
    with pytest.raises(InputError, match="can be asked"):
        judge_scores(team, X, np.where([True, True, False], np.nan, scores), terms=Terms(absent=["star"]))


def test_all_ways_are_judged_on_the_same_items():
    X, scores = data()
    team = ExpertPool().fit(X, scores, prices=[1.0, 3.0, 2.0], expert_names=NAMES).team_
    # Star has no score for the hard items: on all of them the pool would look worse than star alone.
    scores[:200] = 0.0
    scores[:200, 2] = np.nan
    record = judge_scores(team, X, scores)
    assert record.compared.tolist() == [False] * 200 + [True] * 200
    assert record.pool.quality == pytest.approx(scores[200:, 2].mean())
    assert record.ways["best_single"].quality == record.pool.quality
    assert record.gain[0] == 0
    assert record.ways["oracle"].quality == pytest.approx(scores[200:].max(axis=1).mean())
    assert record.kept.mean() == pytest.approx(record.pool.quality / 2)
    assert record.free is not None
    assert record.compared_items() == "200 of 400 items, those with a score of star,"
    assert record.to_dict()["compared_items"] == 200


def test_a_newcomer_with_few_scores_is_no_baseline_and_its_rows_are_remembered(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"x": rng.normal(size=300), "small": rng.integers(0, 2, 300), "large": rng.integers(0, 2, 300)}
    )
    study = fitted(table, expert_names=["small", "large"], fees={"small": 1, "large": 2})
    more = pd.DataFrame({"x": rng.normal(size=40), "small": 1, "large": 0, "new": 1})
    study.team = study.team.copy().add_expert("new", more[["x"]], more["new"], price=0.1)
    study.save(tmp_path / "pool")
    again = Study.load(tmp_path / "pool")
    fresh = pd.DataFrame({"x": rng.normal(size=30), "small": 1, "large": 0, "new": 1})
    judged = again.evaluate(pd.concat([more, fresh], ignore_index=True), terms=Terms(fees={"all": 1}))
    assert judged.seen_by_fit == 40
    assert judged.record.ways["best_single"].name != "new"
    assert 2 not in judged.record.curve.hull
    team = Team.load(tmp_path / "pool")
    assert "new" not in team.remove_expert("new").facts.joined


def test_marks_of_a_newcomer_are_corrected_by_the_judge_of_fit(tmp_path):
    X, scores = data(n=8000)
    rng = np.random.default_rng(1)
    marks = np.where(scores == 1, rng.random(scores.shape) < 0.9, rng.random(scores.shape) < 0.3).astype(float)
    pool = ExpertPool(judge=Judge(0.9, 0.7)).fit(X, marks[:, :2])
    pool.save(tmp_path / "pool")
    team = Team.load(tmp_path / "pool").add_expert("star", X[:6000], marks[:6000, 2])
    assert team.score_facts.train_score[2] == pytest.approx(0.95, abs=0.03)
    assert team.scores(X).expert_proba[:, 2].mean() == pytest.approx(0.95, abs=0.04)


def test_the_interval_counts_a_group_as_one_draw():
    values = np.random.default_rng(0).normal(size=50)
    one, copies = mean_interval(values, np.arange(50)), mean_interval(np.repeat(values, 8), np.repeat(np.arange(50), 8))
    assert copies == pytest.approx(one)
    half = 1.959964 * values.std(ddof=1) / np.sqrt(50)
    assert one == pytest.approx((values.mean(), values.mean() - half, values.mean() + half))


def test_the_interval_of_an_evaluation_is_that_of_the_groups_of_fit():
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 5)
    right = np.repeat(rng.random((60, 2)) < [0.3, 0.7], 5, axis=0).astype(int)
    table = pd.DataFrame({"x": rng.normal(size=300), "patient": patient, "a": right[:, 0], "b": right[:, 1]})
    widths = []
    for groups in ("patient", None):
        roles = {"expert_names": ["a", "b"], "features": ["x"], "groups": groups, "fees": {"a": 0, "b": 1}}
        study = fitted(table, **roles)
        _, low, high = study.evaluate(table.assign(x=table["x"] + 1), terms=Terms(error_cost=0.01)).record.gain
        widths.append(high - low)
    assert widths[0] > 1.5 * widths[1]


@pytest.mark.parametrize(
    ("prices", "words"), [([1.0, 2.0, 0.5], "star was the cheapest and the best"), ([1.0, 1.0, 1.0], "cost the same")]
)
def test_why_there_is_no_zero_router(prices, words):
    X, scores = data()
    team = ExpertPool().fit(X, scores, prices=prices, expert_names=NAMES).team_
    assert words in judge_scores(team, X, scores).area_in_words()
