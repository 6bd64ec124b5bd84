"""The stages after fit: calibrate, conformalize, panels and votes, each on rows of its own."""

import warnings
from importlib import import_module

import numpy as np
import pytest

from defero import DeferralClassifier, InputError, Recipe, Team, TwoStageDeferral
from defero.datasets import wedge
from defero.decide.terms import Terms
from defero.judge import expected_calibration_error, missed_share, set_coverage
from defero.team import judge, try_out

PARTS = [wedge(n, random_state=seed) for seed, n in enumerate((1_500, 1_000, 1_500, 4_000))]
TRAIN, CAL, CONF, TEST = PARTS


@pytest.fixture(scope="module")
def team():
    return DeferralClassifier("linear", loss="ova", random_state=0).fit(
        TRAIN.features, TRAIN.labels, experts=TRAIN.answers
    )


@pytest.fixture(scope="module")
def ready(team):
    router = team.team_.copy().calibrate(CAL.features, CAL.labels, CAL.answers)
    return router.copy().conformalize(CONF.features, CONF.labels, CONF.answers, alpha=0.1, target="any-correct")


def test_calibration_makes_probabilities_honest():
    skewed = Team.from_probabilities(
        lambda x: np.full((len(x), 2), 0.5), lambda x: np.full((len(x), 1), 0.95), classes=[0, 1], expert_names=["ann"]
    )
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2_000)
    answers = np.where(rng.random(2_000) < 0.7, y, 1 - y)[:, None]
    x = np.arange(2_000.0)[:, None]
    honest = skewed.copy().calibrate(x[:1_000], y[:1_000], answers[:1_000])
    proba = honest.scores(x[1_000:]).expert_proba[:, 0]
    assert expected_calibration_error(proba, answers[1_000:, 0] == y[1_000:]) < 0.05


@pytest.mark.parametrize("target", ["any-correct", "all-correct", "missed-share"])
def test_the_promise_is_kept_on_deferred_items(team, target):
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, alpha=0.1, target=target)
    rows = router.decide(TEST.features).deferred
    sets = router.predict_set(TEST.features, fill_empty=False)
    mask, correct = sets.mask[rows], (TEST.answers == TEST.labels[:, None])[rows]
    se = 3 * np.sqrt(0.09 / 2_000)  # of the test part, and as much again for the calibration part
    if target == "missed-share":
        assert missed_share(mask, correct) <= 0.1 + 2 * se
    else:
        assert set_coverage(mask, correct, target=target) >= 0.9 - 2 * se


def test_groups_keep_the_promise_each(team):
    where = [np.where(part.features[:, 0] < 0.3, "low", "high") for part in (CONF, TEST)]
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, alpha=0.2, strata=where[0])
    rows = router.decide(TEST.features).deferred
    mask = router.predict_set(TEST.features, fill_empty=False, strata=where[1]).mask
    correct = TEST.answers == TEST.labels[:, None]
    for group in ("low", "high"):
        chosen = rows & (where[1] == group)
        assert set_coverage(mask[chosen], correct[chosen], target="any-correct") >= 0.72


def test_rows_that_an_earlier_stage_saw_are_refused(team, ready):
    with pytest.raises(InputError, match="calibrate: 1500 of 1500 rows were seen by fit, and nothing can be promised"):
        team.team_.copy().calibrate(TRAIN.features, TRAIN.labels, TRAIN.answers)
    with pytest.raises(InputError, match="conformalize: 1000 of 1000 rows were seen by fit or calibrate"):
        ready.copy().conformalize(CAL.features, CAL.labels, CAL.answers)
    one = np.vstack([TRAIN.features[:1], CONF.features[1:]])
    labels = np.concatenate([TRAIN.labels[:1], CONF.labels[1:]])
    answers = np.concatenate([TRAIN.answers[:1], CONF.answers[1:]])
    with pytest.raises(InputError, match=r"conformalize: 1 of 1500 rows were seen by fit.* The first is row 0,"):
        team.team_.copy().conformalize(one, labels, answers)
    with pytest.raises(InputError, match="The first is row 1499, counted from 0; where other cases merely look alike"):
        team.team_.copy().conformalize(np.roll(one, -1, axis=0), np.roll(labels, -1), np.roll(answers, -1, axis=0))


def test_rows_that_only_look_alike_are_warned_of_and_not_refused():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 12, (900, 2)).astype(float), rng.integers(0, 2, 900)
    answers = np.where(rng.random((900, 6)) < 0.6, y[:, None], 1 - y[:, None])
    team = DeferralClassifier("linear", loss="ova").fit(x[:300], y[:300], experts=answers[:300])
    with pytest.warns(UserWarning, match=r"calibrate: \d+ of 300 rows have the features of rows that fit used"):
        team.calibrate(x[300:600], y[300:600], experts=answers[300:600])
    with pytest.warns(UserWarning, match=r"conformalize: \d+ of 300 rows have the features of rows that fit or calib"):
        team.conformalize(x[600:], y[600:], experts=answers[600:])
    assert team.predict_set(x).mask.shape == (900, 6)


def test_calibrating_anew_drops_the_panel(team, ready):
    assert ready.panel is not None
    with pytest.warns(UserWarning, match="calibrate drops the panel's thresholds; call conformalize again"):
        again = ready.copy().calibrate(CAL.features, CAL.labels, CAL.answers)
    assert again.panel is None
    with pytest.raises(InputError, match="no panel yet: call conformalize"):
        again.predict_set(TEST.features)


def test_what_voids_the_promise_warns(ready):
    with pytest.warns(UserWarning, match="does not hold with other fees than in conformalize; conformalize anew"):
        ready.predict_set(TEST.features, terms=Terms(fees=[0.1, 0, 0, 0]))
    with pytest.warns(UserWarning, match="does not hold with absent experts"):
        sets = ready.predict_set(TEST.features, terms=Terms(available=[True, True, True, False]))
    assert not sets.mask[:, 3].any()
    fees = [0.1, 0.0, 0.0, 0.0]
    same = ready.copy().conformalize(CONF.features, CONF.labels, CONF.answers, terms=Terms(fees=fees))
    same.predict_set(TEST.features, terms=Terms(fees=fees))


@pytest.mark.parametrize("vote", ["bayes", "weighted", "majority", "sequential", "expert"])
def test_votes_hear_the_panel_and_nobody_else(ready, vote):
    gone = np.random.default_rng(0).random(TEST.answers.shape) < 0.3
    answers = np.where(gone, -1, TEST.answers)
    said = ready.answer(TEST.features, answers, vote=vote)
    assert not (said.heard & gone).any()
    assert np.mean(said.label == TEST.labels) > 0.75
    if vote not in ("expert", "sequential"):
        deferred = ready.decide(TEST.features).deferred
        panel = ready.predict_set(TEST.features).mask & deferred[:, None] & ~gone
        who = ready.decide(TEST.features).expert
        panel[np.flatnonzero(deferred), who[deferred]] = ~gone[deferred, who[deferred]]
        somebody = panel.any(axis=1)
        np.testing.assert_array_equal(said.heard[somebody], panel[somebody])
        # Of whose panel nobody is recorded, whoever would decide among the recorded is heard.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            among = ready.decide(TEST.features, terms=Terms(available=~gone))
        silent = deferred & ~somebody & among.deferred
        assert np.array_equal(said.heard[silent].argmax(axis=1), among.expert[silent])
        assert (said.heard[silent].sum(axis=1) == 1).all()
        assert not said.heard[~somebody & ~silent].any()


def test_the_default_vote_is_one_expert_before_and_bayes_after_conformalize(team, ready):
    one, many = team.team_.answer(TEST.features, TEST.answers), ready.answer(TEST.features, TEST.answers)
    assert one.heard.sum(axis=1).max() == 1
    np.testing.assert_array_equal(many.label, ready.answer(TEST.features, TEST.answers, vote="bayes").label)
    with pytest.raises(
        InputError, match="vote must be one of bayes, weighted, majority, sequential, expert, got 'loudest'"
    ):
        ready.answer(TEST.features, TEST.answers, vote="loudest")


def test_the_score_does_not_depend_on_the_panel(team, ready):
    plain = team.team_.copy().calibrate(CAL.features, CAL.labels, CAL.answers)
    arguments = (TEST.features, TEST.labels, TEST.answers)
    assert ready.score(*arguments) == plain.score(*arguments)


def test_calibrator_and_panel_survive_the_folder(ready, tmp_path):
    ready.save(tmp_path / "model")
    again = Team.load(tmp_path / "model")
    np.testing.assert_array_equal(again.scores(TEST.features).expert_raw, ready.scores(TEST.features).expert_raw)
    np.testing.assert_array_equal(again.predict_set(TEST.features).mask, ready.predict_set(TEST.features).mask)
    assert again.panel.predictor.promise() == ready.panel.predictor.promise()
    np.testing.assert_array_equal(
        again.answer(TEST.features, TEST.answers).label, ready.answer(TEST.features, TEST.answers).label
    )


def test_a_mixture_of_experts_cannot_be_calibrated_or_conformalized():
    moe = DeferralClassifier("mlp", loss="moe", recipe=Recipe(max_epochs=2), random_state=0)
    moe.fit(TRAIN.features, TRAIN.labels, experts=TRAIN.answers)
    with pytest.raises(InputError, match="weights are no probabilities and cannot be calibrated"):
        moe.calibrate(CAL.features, CAL.labels, experts=CAL.answers)
    with pytest.raises(InputError, match="cannot be conformalized"):
        moe.conformalize(CONF.features, CONF.labels, experts=CONF.answers)


def test_every_estimator_has_the_stages():
    for estimator in (TwoStageDeferral(), DeferralClassifier("linear", loss="softmax")):
        estimator.fit(TRAIN.features, TRAIN.labels, experts=TRAIN.answers)
        estimator.calibrate(CAL.features, CAL.labels, experts=CAL.answers)
        estimator.conformalize(CONF.features, CONF.labels, experts=CONF.answers, alpha=0.2, target="missed-share")
        sets = estimator.predict_set(TEST.features)
        assert sets.size.min() >= 1
        assert estimator.answer(TEST.features, TEST.answers).label.shape == (4_000,)


def test_the_judge_tells_what_was_promised_and_kept(ready):
    record = judge(ready, TEST.features, TEST.labels, TEST.answers)
    panel = record.panel
    assert panel.asked_for == 0.9
    assert panel.low <= panel.kept <= panel.high
    rows = ready.decide(TEST.features).deferred
    sets = ready.predict_set(TEST.features, fill_empty=False)
    correct = (TEST.answers == TEST.labels[:, None])[rows]
    assert panel.kept == pytest.approx(set_coverage(sets.mask[rows], correct, target="any-correct"))
    assert panel.raw_size == pytest.approx(sets.size[rows].mean())
    way = next(one for one in record.ways if one.name == "panel")
    assert way.accuracy == np.mean(ready.answer(TEST.features, TEST.answers).label == TEST.labels)


def test_whoever_decides_is_on_the_panel_fees_or_not(team):
    fees = [0.0, 0.3, 0.0, 0.1]
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, alpha=0.4, terms=Terms(fees=fees))
    decision = router.decide(TEST.features, terms=Terms(fees=fees))
    heard = router.answer(TEST.features, TEST.answers, terms=Terms(fees=fees)).heard
    rows = np.flatnonzero(decision.deferred)
    assert heard[rows, decision.expert[rows]].all()
    assert not heard[~decision.deferred].any()


def test_a_promise_for_a_smaller_pool(team):
    there = [True, True, True, False]
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, terms=Terms(available=there))
    sets = router.predict_set(TEST.features, terms=Terms(available=there))
    assert not sets.mask[:, 3].any()
    with pytest.warns(UserWarning, match="does not hold with absent experts"):
        router.predict_set(TEST.features, terms=Terms(available=[False, True, True, False]))
    with pytest.raises(InputError, match=r"available must have one entry per expert \(J,\) here"):
        team.team_.copy().conformalize(
            CONF.features, CONF.labels, CONF.answers, terms=Terms(available=np.ones((1_500, 4), bool))
        )


def test_fees_for_each_item_that_equal_those_of_conformalize_do_not_warn(team):
    fees = np.array([0.1, 0.0, 0.0, 0.0])
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, terms=Terms(fees=fees))
    router.predict_set(TEST.features, terms=Terms(fees=np.tile(fees, (4_000, 1))))


def test_reuse_is_found_by_labels_and_answers_where_features_repeat():
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 4, (1_000, 2)).astype(float), rng.integers(0, 3, 1_000)
    answers = rng.integers(0, 3, (1_000, 12))
    team = DeferralClassifier("linear", loss="ova").fit(x, y, experts=answers)
    with pytest.raises(InputError, match="conformalize: 1000 of 1000 rows were seen by fit"):
        team.conformalize(x, y, experts=answers)
    few = DeferralClassifier("linear", loss="ova").fit(x, y, experts=answers[:, :1])
    with pytest.warns(UserWarning, match="1000 of 1000 rows have the features of rows that fit used"):
        few.conformalize(x, y, experts=answers[:, :1])


@pytest.mark.parametrize(("part", "stage"), [(TRAIN, "fit"), (CAL, "calibrate"), (CONF, "conformalize")])
def test_no_stage_is_judged_on_its_own_rows(ready, part, stage):
    with pytest.raises(InputError, match=f"judge: {len(part)} of {len(part)} rows were seen by .*{stage}"):
        judge(ready, part.features, part.labels, part.answers)


def test_a_panels_verdict_knows_how_many_cases_it_was_calibrated_on(ready, monkeypatch):
    told = []
    monkeypatch.setattr(import_module("defero.team.judge"), "team_record", lambda trial, **known: told.append(known))
    judge(ready, TEST.features, TEST.labels, TEST.answers)
    deferred = ready.decide(CONF.features).deferred
    right = (CONF.answers == CONF.labels[:, None]).any(axis=1)
    assert told[0]["panel_cases"] == (deferred & right).sum()


def test_groups_are_checked_and_judged(team):
    groups = np.where(CONF.features[:, 0] < 0.3, 1, 2)
    router = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, strata=groups)
    assert judge(router, TEST.features, TEST.labels, TEST.answers).panel is None
    assert "calibrated inside strata" in try_out(router, TEST.features, TEST.labels, TEST.answers).panel_note
    there = np.where(TEST.features[:, 0] < 0.3, 1, 2)
    assert judge(router, TEST.features, TEST.labels, TEST.answers, strata=there).panel.kept > 0.85
    one = team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, strata=np.ones(1_500))
    assert judge(one, TEST.features, TEST.labels, TEST.answers).panel is None
    with pytest.raises(InputError, match=r"strata must have shape \(1500,\), one stratum per item, got \(3,\)"):
        team.team_.copy().conformalize(CONF.features, CONF.labels, CONF.answers, strata=[1, 2, 3])


def test_somebody_elses_probabilities_can_be_calibrated_and_conformalized():
    texts = np.array([f"case {i}" for i in range(600)])
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    answers = np.where(rng.random((600, 2)) < 0.8, y[:, None], 1 - y[:, None])
    router = Team.from_probabilities(
        lambda x: np.full((len(x), 2), 0.5),
        lambda x: np.full((len(x), 2), 0.7),
        classes=[0, 1],
        expert_names=["a", "b"],
    )
    router = router.copy().calibrate(texts[:200], y[:200], answers[:200])
    router = router.copy().conformalize(texts[200:400], y[200:400], answers[200:400])
    assert router.predict_set(texts[400:]).size.min() >= 1
    with pytest.raises(InputError, match="conformalize: 200 of 200 rows were seen by calibrate"):
        router.copy().conformalize(texts[:200], y[:200], answers[:200])
    fixed = Team.from_probabilities(np.full((200, 2), 0.5), np.full((200, 2), 0.7))
    assert fixed.copy().calibrate(None, y[:200], answers[:200]).scores().expert_proba.mean() > 0.7


def test_fees_and_absences_by_name(team):
    router = team.team_
    named = router.decide(TEST.features, terms=Terms(fees={"expert_1": 0.3}, available={"expert_0": False}))
    plain = router.decide(TEST.features, terms=Terms(fees=[0, 0.3, 0, 0], available=[False, True, True, True]))
    np.testing.assert_array_equal(named.expert, plain.expert)
    with pytest.raises(InputError, match=r"fees: no expert dr_who.*expert_0, expert_1, expert_2, expert_3"):
        router.decide(TEST.features, terms=Terms(fees={"dr_who": 1.0}))
    panel = (
        router.copy().conformalize(CONF.features, CONF.labels, CONF.answers, terms=Terms(fees={"expert_1": 0.3})).panel
    )
    assert panel.fees == (0.0, 0.3, 0.0, 0.0)


def test_asking_one_after_the_other_needs_no_panel_and_minds_the_fees(team):
    free = team.team_.answer(TEST.features, TEST.answers, vote="sequential")
    dear = team.team_.answer(TEST.features, TEST.answers, vote="sequential", terms=Terms(fees=[0.2] * 4))
    assert dear.n_asked.mean() < free.n_asked.mean()
    assert np.mean(free.label == TEST.labels) > np.mean(team.predict(TEST.features) == TEST.labels) + 0.1
    one = team.team_.answer(TEST.features, TEST.answers, vote="sequential", terms=Terms(available={"expert_0": False}))
    assert not one.heard[:, 0].any()
