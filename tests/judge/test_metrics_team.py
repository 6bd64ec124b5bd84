"""A team's record: each number beside a slow count, and a sentence instead of a crash where nothing is known."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.trial import Trial
from defero.judge import clopper_pearson_interval, expected_calibration_error, holm, wilson_interval
from defero.judge.accuracy import trial_curve
from defero.judge.intervals import Share
from defero.judge.record.members import PromiseRecord
from defero.judge.record.team import team_record


def trial_of(label_idx, class_proba, expert_proba, answer_idx):
    """Decide for the more probable of the model and the best recorded expert."""
    answers, experts = np.asarray(answer_idx, int), np.asarray(expert_proba, float)
    scores = Scores.from_probabilities(class_proba, experts)
    n, n_experts = answers.shape
    value = np.where(answers >= 0, experts, -np.inf)
    best = np.array([int(row.argmax()) if n_experts and row.max() > -np.inf else -1 for row in value], int).reshape(n)
    best_value = np.array([row[j] if j >= 0 else -np.inf for row, j in zip(value, best, strict=True)]).reshape(n)
    whom = np.where(best_value >= scores.model_proba, best, -1)
    names = tuple(f"e{j}" for j in range(n_experts))
    decision = Decision(whom, names, np.zeros(n), scores.model_proba, best, best_value)
    return Trial(np.arange(scores.n_classes), np.asarray(label_idx, int), answers, scores, decision, scores)


def random_trial(seed=0, *, n=200, n_experts=3, n_classes=3, gaps=0.4):
    rng = np.random.default_rng(seed)
    label_idx = rng.integers(0, n_classes, n)
    answers = np.where(rng.random((n, n_experts)) < 0.7, label_idx[:, None], rng.integers(0, n_classes, (n, n_experts)))
    answers[rng.random((n, n_experts)) < gaps] = -1
    return trial_of(label_idx, rng.dirichlet(np.ones(n_classes), n), rng.random((n, n_experts)), answers)


def judged(trial, **options):
    return team_record(trial, rng=np.random.default_rng(0), **options)


def test_every_count_is_that_of_a_loop():
    trial = random_trial()
    record = judged(trial, training_answers=[5, 50, 500])
    items = range(len(trial))
    assert record.team.right == sum(trial.team_label_idx[i] == trial.label_idx[i] for i in items)
    assert (record.team_minus_model.first, record.team_minus_model.second) == (record.team.value, record.model.value)
    assert record.team_minus_model.difference == pytest.approx(record.team.value - record.model.value)
    for j, expert in enumerate(record.experts):
        mine = [i for i in items if trial.answer_idx[i, j] >= 0]
        right = [trial.answer_idx[i, j] == trial.label_idx[i] for i in mine]
        assert (expert.alone.right, expert.alone.total) == (sum(right), len(mine))
        assert expert.team_minus_expert.n == len(mine)
        assert expert.team_minus_expert.second == expert.alone.value
        assert expert.team_minus_expert.first == pytest.approx(np.mean([trial.team_correct[i] for i in mine]))
        asked = [i for i in items if trial.decision.expert[i] == j]
        assert expert.asked.total == len(asked)
        assert expert.promised == pytest.approx(np.mean([trial.scores.expert_proba[i, j] for i in asked]))
        claimed = [trial.scores.expert_proba[i, j] for i in mine]
        assert expert.figures["calibration_error"].value == pytest.approx(expected_calibration_error(claimed, right))
        assert (
            0
            <= expert.figures["smooth_error"].low
            <= expert.figures["smooth_error"].value
            <= expert.figures["smooth_error"].high
            <= 1
        )
        for k in range(3):
            there = [right[place] for place, i in enumerate(mine) if trial.label_idx[i] == k]
            assert record.skill.count[j, k] == len(there)
            assert record.skill.accuracy[j, k] == pytest.approx(np.mean(there))
    assert [expert.training_answers for expert in record.experts] == [5, 50, 500]
    assert record.mean_error == pytest.approx(
        np.mean([expert.figures["calibration_error"].value for expert in record.experts])
    )
    seen = trial.observed
    pooled = expected_calibration_error(trial.scores.expert_proba[seen], trial.expert_correct[seen])
    assert record.pooled_error == pytest.approx(pooled)


def test_the_models_own_honesty():
    trial = random_trial(1)
    record, decides = judged(trial), ~trial.decision.deferred
    own = record.model_member
    assert own.asked == Share(int(trial.model_correct[decides].sum()), int(decides.sum()))
    assert own.promised == pytest.approx(trial.scores.model_proba[decides].mean())
    claimed = expected_calibration_error(trial.scores.model_proba, trial.model_correct)
    assert own.figures["calibration_error"].value == pytest.approx(claimed)
    found = record.by_predicted_class
    assert found.groups.tolist() == [0, 1, 2]
    for g in range(3):
        named = trial.scores.class_idx == g
        assert found.count[g, 0] == named.sum()
        assert found.promised[g, 0] == pytest.approx(trial.scores.model_proba[named].mean())
        assert found.accuracy[g, 0] == pytest.approx(trial.model_correct[named].mean())


def kept_promise(promised, kept, n_members=1):
    return PromiseRecord(promised, kept, n_members).verdict


def test_one_word_says_what_became_of_a_promise():
    low, high = clopper_pearson_interval(80, 100)
    assert kept_promise(high, Share(80, 100)) == "as promised"
    assert kept_promise(high + 1e-9, Share(80, 100)) == "less"
    assert kept_promise(low - 1e-9, Share(80, 100)) == "more"
    assert kept_promise(high + 1e-9, Share(80, 100), n_members=2) == "as promised", "one of two may stray farther"
    assert kept_promise(0.802, Share(800_000, 1_000_000)) == "less", "no gap is too small where it is proved"
    assert kept_promise(0.8, Share(24, 29)) == "too few"
    assert kept_promise(0.8, Share(24, 30)) == "as promised"
    assert kept_promise(0.99, Share(0, 9)) == "less"
    assert kept_promise(0.9, Share(0, 1)) == "too few"
    assert kept_promise(math.nan, Share(5, 50)) is None
    assert kept_promise(0.8, Share(0, 0)) is None


def test_the_verdict_is_that_of_the_interval_that_is_shown():
    trial = random_trial(2)
    record, told = judged(trial), judged(trial).to_dict()
    together = 5  # the model, three experts, and all experts as one
    rows = [*(one.promise for one in record.experts), record.model_member.promise, record.promises.all_experts]
    for promise in rows:
        assert promise.judged_together == together
        ends = clopper_pearson_interval(promise.kept.right, promise.kept.total, level=1 - 0.05 / together)
        assert promise.interval == pytest.approx(ends)
        outside = "less" if promise.promised > ends[1] else "more" if promise.promised < ends[0] else None
        assert promise.verdict == (outside or ("as promised" if promise.kept.total >= 30 else "too few"))
    assert [one["promise"] for one in told["experts"]] == [one.promise.to_dict() for one in record.experts]
    assert told["model_calibration"]["promise"]["verdict"] == record.model_member.promise.verdict == "less"


def test_the_total_is_what_was_promised_of_whoever_decides():
    trial = random_trial(3)
    record, told = judged(trial), judged(trial).to_dict()
    proba = trial.scores.expert_proba
    promised = [
        trial.scores.model_proba[i] if j < 0 else proba[i, j] for i, j in enumerate(trial.decision.expert.tolist())
    ]
    assert record.promised == told["promised"] == pytest.approx(np.mean(promised))
    assert record.kept == told["kept"] == record.team.value
    assert record.promises.total.interval == clopper_pearson_interval(record.team.right, record.team.total)
    assert told["promise"]["low"] < told["kept"] < told["promise"]["high"]
    assert (told["promise"]["level"], told["promise"]["verdict"]) == (0.95, "less")
    deferred = trial.decision.deferred
    assert told["experts_promise"]["promised"] == pytest.approx(np.mean(np.array(promised)[deferred]))
    assert any(caution.startswith("More was promised than kept: the team in total (") for caution in record.cautions)


def test_a_team_without_experts_is_judged_once():
    trial = trial_of(np.zeros(40, int), np.tile([0.1, 0.9], (40, 1)), np.empty((40, 0)), np.empty((40, 0), int))
    record = judged(trial)
    assert record.promised == pytest.approx(0.9)
    promises = [caution for caution in record.cautions if caution.startswith("More was promised")]
    assert len(promises) == 1
    assert ": the model (0.900 promised" in promises[0]


def test_weights_promise_nothing():
    trial = random_trial(2)
    weights = replace(trial.scores, link="weight")
    record, known = judged(replace(trial, scores=weights, uncalibrated=weights)), judged(trial)
    for one in record.experts:
        assert np.isnan(
            [
                one.promised,
                one.figures["calibration_error"].value,
                one.figures["smooth_error"].value,
                one.figures["smooth_error"].low,
                one.figures["smooth_error"].high,
            ]
        ).all()
        assert one.promise.verdict is None
    own = record.model_member
    assert np.isnan(
        [
            own.promised,
            own.figures["calibration_error"].value,
            own.figures["smooth_error"].value,
            own.figures["smooth_error"].low,
            own.figures["smooth_error"].high,
        ]
    ).all()
    assert (own.promise.verdict, own.asked) == (None, known.model_member.asked)
    assert [one.asked for one in record.experts] == [one.asked for one in known.experts]
    assert np.isnan([record.pooled_error, record.mean_error, *record.by_predicted_class.promised.ravel()]).all()
    assert not any("promise" in caution for caution in record.cautions)
    told = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert (told["estimates"], told["experts"][0]["promise"]["promised"]) == ("weights", None)
    assert known.to_dict()["estimates"] == "probabilities"


def test_estimates_above_one_are_told_with_what_helps():
    trial, raw = random_trial(2), np.full((200, 3), 0.5)
    high = Scores(trial.scores.class_proba, np.ones((200, 3)), trial.scores.model_proba, raw, "log")
    before, after = judged(replace(trial, scores=high, uncalibrated=high)), judged(replace(trial, uncalibrated=high))
    assert [before.recalibrated, after.recalibrated] == [False, True]
    assert any(
        sentence.endswith("exceed 1, a fault of the softmax loss: call calibrate.") for sentence in before.cautions
    )
    assert any("exceeded 1 before recalibration" in sentence for sentence in after.cautions)
    assert after.to_dict()["recalibrated"] is True


def test_recall_beside_a_loop_and_scipys_test():
    rng, label_idx = np.random.default_rng(4), np.arange(200) % 4
    answers = np.where(rng.random((200, 2)) < 0.7, label_idx[:, None], rng.integers(0, 4, (200, 2)))
    trial = trial_of(label_idx, rng.dirichlet(np.ones(5), 200), rng.random((200, 2)), answers)
    trial = replace(trial, classes=np.array(list("abcde")))
    record, p_values = judged(trial), []
    for k, found in enumerate(record.recall):
        there = [i for i in range(len(trial)) if trial.label_idx[i] == k]
        team, model = ([right[i] for i in there] for right in (trial.team_correct, trial.model_correct))
        assert (found.team, found.model) == (Share(sum(team), len(there)), Share(sum(model), len(there)))
        won, lost = (sum(a and not b for a, b in zip(*pair, strict=True)) for pair in ((team, model), (model, team)))
        assert found.p_value == pytest.approx(binomtest(won, won + lost).pvalue if won + lost else 1)
        p_values.append(found.p_value)
        told = record.to_dict()["recall"][k]
        assert (told["class"], told["n"]) == ("abcde"[k], len(there))
        if there:
            assert (told["team_low"], told["team_high"]) == wilson_interval(sum(team), len(there))
            assert (told["model_low"], told["model_high"]) == wilson_interval(sum(model), len(there))
    assert [found.adjusted for found in record.recall[:4]] == pytest.approx(holm(p_values[:4]))
    assert record.recall[4].adjusted == 1
    assert record.to_dict()["recall"][4]["team"] is record.to_dict()["recall"][4]["team_low"] is None


def test_a_lost_class_is_told_though_the_team_gains():
    """The expert finds every 0 and no 1; there are four times as many 0s."""
    label_idx = np.tile([0, 0, 0, 0, 1], 40)
    guess = np.where(np.arange(200) % 2, 0.6, 0.4)
    trial = trial_of(label_idx, np.column_stack([guess, 1 - guess]), np.full((200, 1), 0.9), np.zeros((200, 1)))
    record = judged(trial)
    assert record.team_minus_model.clear
    assert record.team_minus_model.difference > 0
    assert [found.lost for found in record.recall] == [False, True]
    assert (
        "Classes that the team finds less often than the model alone: 1 (0.0 % of 40 beside 50.0 %)." in record.cautions
    )


def test_a_panel_that_was_not_judged_is_told():
    record = judged(replace(random_trial(2), panel_note="Not judged here."))
    assert record.panel_note == record.to_dict()["panel_note"] == "Not judged here."
    assert judged(random_trial(2)).to_dict()["panel_note"] is None


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(0, 4))
def test_the_curve_is_that_of_a_slow_queue(seed, n, n_experts):
    trial = random_trial(seed, n=n, n_experts=n_experts)
    decision = trial.decision
    queue = [i for i in range(n) if decision.best_expert[i] >= 0]
    queue.sort(key=lambda i: decision.model_value[i] - decision.best_value[i])
    curve = trial_curve(trial)
    assert curve.rate == pytest.approx([step / n for step in range(len(queue) + 1)])
    for step, accuracy in enumerate(curve.accuracy):
        by_model = [trial.model_correct[i] for i in range(n) if i not in queue[:step]]
        by_expert = [trial.answer_idx[i, decision.best_expert[i]] == trial.label_idx[i] for i in queue[:step]]
        assert accuracy == pytest.approx((sum(by_model) + sum(by_expert)) / n)
    assert (curve.oracle >= curve.accuracy).all()
    assert curve.random[[0, -1]] == pytest.approx(curve.accuracy[[0, -1]])


def test_everything_known_of_a_team_is_plain_json():
    record = judged(random_trial(3), training_answers=[1, 2, 3])
    told = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert told["only_team_right"] == record.team_minus_model.only_first
    assert told["team_minus_model"]["difference"] == record.team_minus_model.difference
    assert told["cautions"] == list(record.cautions)
    assert told["cautions"]
    assert [(row["expert"], row["class"]) for row in told["skill_by_class"][:4]] == [
        ("e0", 0),
        ("e0", 1),
        ("e0", 2),
        ("e1", 0),
    ]
    assert [row["class"] for row in told["model_by_predicted_class"]] == [0, 1, 2]
    assert told["experts"][1]["training_answers"] == 2
    before = {"items", "team", "model", "coverage", "recorded_answers_per_item", "experts", "recall", "panel"}
    assert before | {"estimates_above_one", "only_model_right"} <= set(told)


@pytest.mark.parametrize(
    ("trial", "sentences"),
    [
        (
            trial_of([0], [[0.9, 0.1]], [[0.95]], [[0]]),
            ["1 case is too few", "on the same cases", "say nothing of it: class 1"],
        ),
        (
            trial_of([0], [[0.9, 0.1]], [[0.95]], [[-1]]),
            ["No case was deferred", "No recorded answer here, so not judged: e0"],
        ),
        (
            trial_of([0] * 60, [[0.9, 0.1]] * 60, [[0.9]] * 60, [[0]] * 60),
            ["on the same cases", "say nothing of it: class 1"],
        ),
        (trial_of([0, 1] * 30, [[0.6, 0.4]] * 60, [[0.7, 0.7]] * 60, [[0, -1], [1, -1]] * 30), ["not judged: e1"]),
        (trial_of([0, 1], [[0.6, 0.4]] * 2, np.zeros((2, 0)), np.zeros((2, 0))), ["2 cases are too few"]),
        (trial_of([], np.zeros((0, 2)), np.zeros((0, 1)), np.zeros((0, 1))), ["0 cases are too few"]),
    ],
    ids=["one item", "nobody answered", "all right", "a silent expert", "no experts", "no items"],
)
def test_where_little_is_known_it_is_said(trial, sentences):
    record = judged(trial)
    json.dumps(record.to_dict(), allow_nan=False)
    for sentence in sentences:
        assert any(sentence in caution for caution in record.cautions), record.cautions


def test_equal_confidences_are_judged():
    rng = np.random.default_rng(0)
    label_idx = rng.integers(0, 2, 400)
    answers = np.where(rng.random((400, 1)) < 0.8, label_idx[:, None], 1 - label_idx[:, None])
    record = judged(trial_of(label_idx, [[0.5, 0.5]] * 400, [[0.8]] * 400, answers))
    expert = record.experts[0]
    assert expert.promise.verdict == "as promised"
    assert expert.figures["calibration_error"].value == pytest.approx(abs(expert.alone.value - 0.8))
    assert expert.figures["smooth_error"].value == pytest.approx(abs(expert.alone.value - 0.8), abs=0.005)
    assert not any("promises" in caution for caution in record.cautions)


def test_the_same_seed_the_same_record():
    one, two = (judged(random_trial(5)) for _ in range(2))
    assert one.to_dict() == two.to_dict()
    other = team_record(random_trial(5), rng=np.random.default_rng(1))
    assert other.experts[0].figures["smooth_error"].high != one.experts[0].figures["smooth_error"].high
    assert other.team_minus_model.difference == one.team_minus_model.difference


def test_fifty_experts_make_few_sentences():
    record = judged(random_trial(6, n=300, n_experts=50, gaps=0.8), training_answers=[7] * 50)
    assert len(record.cautions) <= 11
    assert max(map(len, record.cautions)) < 260
    assert "Few answers to learn from: e0 (7), e1 (7), e10 (7) and 47 more." in record.cautions
