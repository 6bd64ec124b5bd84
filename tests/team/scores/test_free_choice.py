"""Evaluation with gaps: the choice among all members, logs with one score each, members without a price."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted

from defero import ExpertPool, Study, Terms
from defero.judge.intervals import score_interval, wilson_interval
from defero.report.page import Provenance, score_page
from defero.team.judge_scores import judge_scores

NAMES = ["small", "large"]
PLACE = Provenance("pool", "new.csv", 0, 0, 0, "", "", "")


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    task = rng.choice(["law", "maths"], n)
    right = {"small": np.where(task == "maths", 0.95, 0.1), "large": np.where(task == "maths", 0.3, 0.9)}
    frame = pd.DataFrame({"task": task, "words": rng.uniform(5, 90, n)})
    for name, p in right.items():
        frame[name] = (rng.random(n) < p).astype(float)
    return frame


def with_gaps(frame, seed=1):
    """Half of the scores are missing."""
    rng = np.random.default_rng(seed)
    gaps = frame.copy()
    gaps[NAMES] = gaps[NAMES].where(rng.random((len(frame), 2)) < 0.5)
    return gaps.dropna(subset=NAMES, how="all")


def test_the_choice_among_all_members_is_judged_where_it_has_a_score():
    study = fitted(table(), expert_names=NAMES)
    new = with_gaps(table(seed=2))
    judged = study.evaluate(new)
    chosen = np.where(new["task"] == "maths", 0, 1)
    came = new[NAMES].to_numpy()[np.arange(len(new)), chosen]
    known = came[np.isfinite(came)]
    free = judged.to_dict()["test"]["pool"]["chosen_among_all"]
    assert free["items"] == len(known)
    assert free["quality"] == pytest.approx(known.mean(), abs=1e-6)
    low, high = wilson_interval(known.sum(), len(known))
    assert (free["low"], free["high"]) == pytest.approx((low, high), abs=0.02)
    # Where the better member has no score the other one had to be taken.
    assert free["quality"] > judged.to_dict()["test"]["kept"] + 0.1
    words = judged.summary()
    assert f"{len(known)} of {len(new)} items" in words
    assert f"{known.mean():.4f}" in words
    page = score_page(judged.record, PLACE)
    assert f"{len(known)} of {len(new)} items" in page


def test_without_gaps_there_is_nothing_to_tell_apart():
    study = fitted(table(), expert_names=NAMES)
    judged = study.evaluate(table(seed=2))
    assert judged.to_dict()["test"]["pool"]["chosen_among_all"] is None


def test_a_log_with_one_score_each_says_what_can_be_judged(tmp_path):
    study = fitted(table(), expert_names=NAMES, fees={"small": 1, "large": 2})
    log = table(n=200, seed=3)
    asked = np.random.default_rng(0).integers(0, 2, len(log))
    log.loc[asked == 0, "large"] = np.nan
    log.loc[asked == 1, "small"] = np.nan
    judged = study.report(tmp_path / "log.html", log)
    words, page = judged.summary(), (tmp_path / "log.html").read_text()
    agreed = int((asked == np.where(log["task"] == "maths", 0, 1)).sum())
    for text in (words, page):
        assert "a score of one member only" in text
        assert f"{agreed} of 200 items" in text
        assert "nan" not in text
    assert "minus the best single" not in words
    values = judged.to_dict()["test"]["pool"]
    assert values["gain"] == {"difference": None, "low": None, "high": None}


def test_items_that_only_a_member_without_a_price_has_scored_are_left_out_and_counted():
    frame = table()
    pool = ExpertPool().fit(frame[["task"]], frame[NAMES], prices={"small": 1.0, "large": None})
    new = table(n=100, seed=2)
    scores = new[NAMES].to_numpy()
    scores[:30, 0] = np.nan
    record = judge_scores(pool.team_, new[["task"]], scores, terms=Terms(error_cost=10.0))
    assert record.n_unanswered == 30
    assert record.means(record.answered)[0] == pytest.approx(record.p_right[30:].mean())
    assert np.nanmean(record.kept) == pytest.approx(scores[30:, 0].mean())
    assert record.to_dict()["kept"] == pytest.approx(scores[30:, 0].mean(), abs=1e-6)
    page = score_page(record, PLACE, kinds={"task": new["task"].tolist()})
    assert ">nan" not in page
    study = Study(team=pool.team_)
    words = study.evaluate(new.assign(small=scores[:, 0]), terms=Terms(error_cost=10.0), all_rows_new=True).summary()
    assert "nan" not in words
    assert "30 items" in words


def test_where_quality_has_a_worth_the_headline_speaks_of_money():
    frame = table()
    study = fitted(frame, expert_names=NAMES, fees={"small": 1, "large": 20}, error_cost=10.0)
    judged = study.evaluate(table(seed=2))
    record = judged.record
    # In points of money: small 10 * 0.5 - 1, large 10 * 0.6 - 20.
    assert record.ways["best_at_trade_off"].name == "small"
    assert record.ways["best_single"].name == "large"
    for words in (judged.summary(), score_page(record, PLACE)):
        assert "At 10.0 a point of quality" in words
        assert "small" in words
    assert judged.to_dict()["test"]["ways"]["best_at_trade_off"]["name"] == "small"
    assert study.evaluate(table(seed=2), terms=Terms(error_cost=10.0)).record.ways["best_at_trade_off"].name == "small"
    plain = fitted(frame, expert_names=NAMES).evaluate(table(seed=2))
    assert "best_at_trade_off" not in plain.record.ways
    assert "a point of quality" not in plain.summary()


def test_the_interval_of_right_and_wrong_is_wilson_s():
    assert score_interval(np.ones(14)) == pytest.approx((1.0, *wilson_interval(14, 14)))
    values = np.array([1.0] * 8 + [0.0] * 2)
    assert score_interval(values) == pytest.approx((0.8, *wilson_interval(8, 10)), abs=1e-9)
    # Copies add nothing.
    mean, low, high = score_interval(np.ones(28), np.repeat(np.arange(14), 2))
    assert (mean, low, high) == pytest.approx((1.0, *wilson_interval(14, 14)))
    graded = score_interval(np.array([0.9, 1.0, 0.95]))
    assert graded[1] < 0.95 < graded[2] <= 1
    assert np.isnan(score_interval(np.empty(0))).all()


def test_the_page_has_no_interval_of_no_width():
    rng = np.random.default_rng(0)
    items = pd.DataFrame({"task": rng.choice(["law", "maths"], 40)})
    scores = np.column_stack([np.ones(40), rng.integers(0, 2, 40)])
    team = ExpertPool().fit(items, scores).team_
    assert "1.000 to 1.000)" not in score_page(judge_scores(team, items, scores), PLACE)
