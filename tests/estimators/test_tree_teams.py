"""Trees for tables: categories and gaps as they are, few answers, saving, and the choice by the team."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from defero.estimators.boosting import TreeSize, boost, first_trees, predict_stages
from defero.estimators.choose_team import Candidate, _Learned, held_out_values, in_order, n_folds
from defero.estimators.class_models import ClassModel, class_blend
from defero.scorers.blend import BlendScorer

from defero import DeferralClassifier, InputError, Team
from defero.core.order import row_order
from defero.core.scores import Scores
from defero.estimators.training_data import TrainingData, coded_experts, no_answers


def clinic(n=400, *, n_experts=3, share=1.0, seed=0):
    """Cases whose class and skill depend on a category, a number with gaps and a product of two numbers."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "site": rng.choice(list("xyz"), n)})
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    odds = 2 * (frame["a"].fillna(1.5) * frame["b"]) + (frame["site"] == "x") - 0.5
    labels = np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "ill", "well")
    answers = {}
    for j in range(n_experts):
        skill = np.where((frame["b"] > 0) == (j % 2 == 0), 0.95, 0.55)
        other = np.where(labels == "ill", "well", "ill")
        given = np.where(rng.random(n) < skill, labels, other).astype(object)
        answers[f"dr_{j}"] = np.where(rng.random(n) < share, given, None)
    return frame, labels, pd.DataFrame(answers)


@pytest.fixture(scope="module")
def team():
    frame, labels, answers = clinic()
    return DeferralClassifier("trees", random_state=0).fit(frame, labels, experts=answers)


@pytest.fixture(scope="module")
def chosen():
    """Return a team that auto chose; ten cases belong together."""
    frame, labels, answers = clinic(200)
    return DeferralClassifier(random_state=0).fit(frame, labels, experts=answers, groups=np.arange(200) // 10)


def test_the_team_is_better_than_the_model_and_knows_who_is_right(team):
    frame, labels, answers = clinic(seed=1)
    assert team.score(frame, labels, experts=answers) > (team.predict(frame) == labels).mean() + 0.05
    right = (answers.to_numpy() == labels[:, None]).mean()
    assert team.predict_expert_proba(frame).mean() == pytest.approx(right, abs=0.05)


def test_it_promises_what_it_keeps(team):
    frame, labels, answers = clinic(4_000, seed=2)
    decision = team.decide(frame)
    said = np.where(decision.deferred, answers.to_numpy()[np.arange(len(frame)), decision.expert], team.predict(frame))
    assert decision.p_right.mean() == pytest.approx((said == labels).mean(), abs=0.03)
    np.testing.assert_allclose(decision.expected_cost, 1 - decision.p_right)


def test_a_saved_team_decides_alike_without_torch_or_scikit_learn(team, tmp_path):
    frame, _, _ = clinic(50, seed=3)
    team.save(tmp_path / "team")
    again = Team.load(tmp_path / "team")
    np.testing.assert_array_equal(again.scores(frame).expert_proba, team.predict_expert_proba(frame))
    np.testing.assert_array_equal(again.decide(frame).expert, team.decide(frame).expert)
    frame.to_csv(tmp_path / "new.csv", index=False)
    program = (
        "import sys, pandas as pd; from defero import Team; Team.load('team').decide(pd.read_csv('new.csv'));"
        "print([name for name in ('torch', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_experts_join_and_leave_and_the_others_stay_as_they_are(team):
    frame, labels, answers = clinic(60, seed=4)
    before = team.predict_expert_proba(frame)
    bigger = DeferralClassifier("trees")._adopt(team.team_.copy())
    bigger.add_expert("dr_new", frame, labels, answers["dr_0"])
    np.testing.assert_array_equal(bigger.predict_expert_proba(frame)[:, :3], before)
    smaller = bigger.remove_expert("dr_0")
    np.testing.assert_array_equal(smaller.predict_expert_proba(frame)[:, :2], before[:, 1:])
    assert smaller.decide(frame).expert_names == ("dr_1", "dr_2", "dr_new")


@pytest.mark.parametrize("heads", ["shrunk", "separate"])
def test_heads_are_shrunk_or_separate_on_request(heads):
    frame, labels, answers = clinic(180)
    trees = DeferralClassifier("trees", heads=heads).fit(frame, labels, experts=answers).team_.scorer.trees
    assert (trees.forest is None) == (heads == "shrunk")
    assert heads == "shrunk" or (trees.with_trees == [0, 1, 0]).all()


def test_few_answers_and_no_experts_and_one_class_and_weights():
    frame, labels, answers = clinic(100, share=0.1)
    few = DeferralClassifier("trees").fit(frame, labels, experts=answers)
    assert few.team_.scorer.trees.forest is None  # nobody has enough answers for trees of their own
    alone = DeferralClassifier().fit(frame, labels)
    assert alone.decide(frame).coverage == 1
    one = DeferralClassifier().fit(frame, np.full(100, "well"), experts=answers.where(answers == "well"))
    assert (one.predict(frame) == "well").all()
    weight = np.where(labels == "ill", 20.0, 1.0)
    weighted = DeferralClassifier("trees").fit(frame, labels, experts=answers, sample_weight=weight)
    assert (weighted.predict(frame) == "ill").mean() > (few.predict(frame) == "ill").mean() + 0.1


def test_with_few_answers_heads_read_the_beliefs_alone_unless_more_is_borne_out():
    rng = np.random.default_rng(0)
    features, label_idx = rng.normal(size=(400, 6)), rng.integers(0, 2, 400)

    def heads_read(skill, share=0.1):
        answers = np.where(rng.random((400, 8)) < skill, label_idx[:, None], 1 - label_idx[:, None])
        answers[rng.random((400, 8)) > share] = -1
        return DeferralClassifier("trees").fit(features, label_idx, experts=answers).team_.scorer.lens.directions

    assert heads_read(0.8).shape == (6, 0)
    assert heads_read(np.where(features[:, :1] > 0, 0.97, 0.4), share=0.3) is None  # every feature by itself


def test_groups_are_never_in_two_folds(chosen):
    frame, labels, _ = clinic(200)
    group = np.unique((np.arange(200) // 10).astype(str), return_inverse=True)[1]
    label_idx = np.unique(labels, return_inverse=True)[1]
    learned = row_order(frame, label_idx, weight=np.ones(200), group=group)
    fold = chosen._learned.fold[np.argsort(learned)].reshape(20, 10)
    assert (fold == fold[:, :1]).all()
    assert len(np.unique(fold)) == 5


def test_auto_says_what_it_chose_and_by_how_much(chosen):
    learned = chosen._learned
    assert {one.net for one in learned.candidates} >= {"trees", "linear"}
    assert learned.net in chosen.team_.facts.choice
    assert "The mlp was not tried" in chosen.team_.facts.choice


def test_the_team_s_log_loss_is_that_of_whoever_is_most_likely_right():
    answers, _ = coded_experts([["a", None], ["b", "a"], [None, None]], np.array(["a", "b"], object), n_items=3)
    label_idx = np.array([0, 0, 1])
    data = TrainingData(np.zeros((3, 1)), label_idx, label_idx, 2, answers, np.ones(3), weighted=False)
    scores = Scores.from_probabilities([[0.6, 0.4]] * 3, [[0.9, 0.95], [0.7, 0.8], [0.9, 0.9]])
    # Item 0: the first expert (0.9, right). Item 1: the second (0.8, right). Item 2: the model, which is wrong.
    log_loss, cost = held_out_values(scores, data)
    assert cost is None
    np.testing.assert_allclose(log_loss, -np.log([0.9, 0.8, 0.4]))
    # With these fees the first expert (0.7, wrong) is asked about item 1.
    log_loss, cost = held_out_values(scores, replace(data, fees=np.tile([0.05, 0.3], (3, 1))))
    np.testing.assert_allclose(log_loss, -np.log([0.9, 0.3, 0.4]))
    np.testing.assert_allclose(cost, [0.05, 1.05, 1])


def test_fees_make_auto_choose_by_the_cost():
    frame, labels, answers = clinic(120)
    team = DeferralClassifier(random_state=0).fit(frame, labels, experts=answers, fees=[0.3] * answers.shape[1])
    learned = team._learned
    costs = [one.team_cost for one in learned.candidates]
    assert None not in costs
    for fact in ("cost (errors and fees", f"{learned.net} {costs[0]:.4f}"):
        assert fact in team.team_.facts.choice
    with pytest.raises(InputError, match="no expert zoe") as caught:
        DeferralClassifier().fit(frame, labels, experts=answers, fees={"zoe": 0.1})
    assert caught.value.argument == "fees"


def test_of_teams_within_one_standard_error_the_better_model_is_chosen():
    rng = np.random.default_rng(0)
    base = rng.random(400)

    def team(net, label_log_loss, shift, noise):
        losses = base + shift + noise * (np.arange(400) % 2 - 0.5)
        return _Learned(Candidate(net, label_log_loss, float(losses.mean())), None, None, losses)

    lowest = team("lowest", 0.5, 0.0, 0.0)
    close = team("close", 0.4, 0.01, 1.0)  # one standard error is 0.025
    far = team("far", 0.3, 0.01, 0.1)  # and here 0.0025
    assert [one.candidate.net for one in in_order([lowest, far, close], np.ones(400))] == ["close", "lowest", "far"]


def test_an_expert_keeps_the_first_trees_where_later_ones_learn_noise():
    rng = np.random.default_rng(0)
    features, label_idx = rng.normal(size=(600, 6)), rng.integers(0, 2, 600)
    skill = np.column_stack([np.full(600, 0.7), np.where(features[:, 2] > 0, 0.95, 0.45)])
    answers = np.where(rng.random((600, 2)) < skill, label_idx[:, None], 1 - label_idx[:, None])
    trees = DeferralClassifier("trees").fit(features, label_idx, experts=answers).team_.scorer.trees
    n_trees = np.bincount(trees.forest.output)
    assert n_trees[0] < n_trees[1]
    at = np.where(np.arange(6) == 2, np.array([[2.0], [-2.0]]), 0.0)
    spread = np.abs(np.diff(trees.forest.predict(at) * trees.with_trees[:, 1], axis=0))[0]
    assert spread[0] < 0.3 < 1.5 < spread[1]  # the trees of the second expert speak, those of the first hardly


def trees_weight(skill):
    """Return the mean weight of the trees of three experts, whose P(right) is `skill` of a number."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 4))).add_prefix("x")
    labels = (rng.random(600) < 1 / (1 + np.exp(-frame["x0"]))).astype(int)
    right = rng.random((600, 3)) < skill(frame["x1"].to_numpy())[:, None]
    answers = np.where(right, labels.to_numpy()[:, None], 1 - labels.to_numpy()[:, None])
    team = DeferralClassifier("trees", random_state=0).fit(frame, labels, experts=answers)
    return team.team_.scorer.trees.with_trees[:, 1].mean()


def test_trees_count_for_nothing_where_skill_is_the_same_everywhere():
    assert abs(trees_weight(lambda x: np.full(len(x), 0.8))) < 0.05
    assert trees_weight(lambda x: np.where(np.abs(x) < 0.7, 0.95, 0.55)) > 0.3


@pytest.mark.parametrize("n_bags", [1, 3])
def test_the_stages_of_a_forest_are_its_first_trees(n_bags):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(200, 3))
    forest = boost(
        matrix,
        (matrix[:, 0] > 0).astype(int),
        None,
        TreeSize(10, 4, 20),
        n_targets=2,
        n_categories=0,
        bags=tuple(np.arange(3) for _ in range(n_bags)),
    )
    shares = (0.01, 0.3, 0.5, 1.0)
    stages = predict_stages(forest, matrix, shares, n_bags=n_bags)
    for stage, share in zip(stages, shares, strict=True):
        early = first_trees(forest, share, n_bags=n_bags).predict(matrix)[:, 0]
        np.testing.assert_allclose(stage, early, atol=1e-12)


def test_an_expert_may_have_answered_one_group_alone():
    """Nothing of them is left to fit on where their group is held out."""
    frame, labels, answers = clinic(800)
    site = np.arange(800) % 4
    alone = answers.assign(dr_3=answers["dr_0"]).where(site[:, None] == np.arange(4))
    team = DeferralClassifier("trees", random_state=0).fit(frame, labels, experts=alone, groups=site)
    assert np.isfinite(team.predict_expert_proba(frame)).all()


def test_a_blend_is_saved_and_as_good_as_its_parts(chosen, tmp_path):
    frame, _, _ = clinic(200)
    by_net = {one.net: one.label_log_loss for one in chosen._learned.candidates}
    blend = next(net for net in by_net if "+" in net)
    assert by_net[blend] <= min(by_net["trees"], by_net["linear"]) + 0.005
    team, base = chosen.team_, chosen.team_.scorer.base
    parts = base.parts if isinstance(base, BlendScorer) else (base,)
    mixed = replace(team, scorer=replace(team.scorer, base=BlendScorer(parts, np.ones(len(parts)))))
    mixed.save(tmp_path / "team")
    np.testing.assert_array_equal(Team.load(tmp_path / "team").predict(frame), mixed.predict(frame))


def test_a_number_far_outside_is_bounded_by_the_accuracy_across_folds(team):
    router = team.team_.copy().calibrated_across_folds()
    frame, _, _ = clinic(50, seed=5)
    accuracy = router.calibrator.accuracy
    far = router.scores(frame.assign(b=999.0))
    assert far.model_proba.max() <= accuracy.model + 1e-9
    assert (far.expert_proba <= np.array(accuracy.experts) + 1e-9).all()
    with pytest.raises(InputError, match="call calibrate"):
        Team.from_probabilities([[0.9, 0.1]], [[0.8]]).calibrated_across_folds()


def test_a_sample_is_said(monkeypatch):
    monkeypatch.setattr("defero.estimators.choose_team.MOST_ITEMS", 100)
    frame, labels, answers = clinic(150)
    team = DeferralClassifier("trees", heads="shrunk").fit(frame, labels, experts=answers)
    assert "100 of 150 cases" in team.team_.facts.choice
    assert team.team_.held_out.observed.shape == (100, 3)


def test_fewer_folds_for_more_cases():
    assert [n_folds(600, 3_600), n_folds(15_000, 18_000), n_folds(30_000, 0), n_folds(20_000, 400_000)] == [5, 8, 3, 2]


def test_a_surrogate_loss_is_refused():
    frame, labels, answers = clinic(60)
    with pytest.raises(InputError, match=r"loss: trees learn .*'ova'"):
        DeferralClassifier("trees", loss="ova").fit(frame, labels, experts=answers)


def test_rows_of_weight_0_settle_nothing():
    frame, labels, answers = clinic(150)
    worse = answers.copy()
    worse.iloc[:50] = "ill"
    weight = np.repeat([0.0, 1.0], [50, 100])
    held_out = DeferralClassifier("trees").fit(frame, labels, experts=worse, sample_weight=weight).team_.held_out
    assert len(held_out.label_idx) == 100
    assert held_out.weight.tolist() == [1.0] * 100


def test_no_blend_is_offered_where_one_model_has_all_the_weight():
    label_idx = np.tile([0, 1], 50)
    data = TrainingData(np.zeros((100, 1)), label_idx, label_idx, 2, no_answers(100), np.ones(100), weighted=False)
    sure = np.where(np.arange(2) == label_idx[:, None], 0.99, 0.01)
    good, bad = (ClassModel(net, None, proba, 0.0) for net, proba in (("trees", sure), ("linear", sure[:, ::-1])))
    assert class_blend([good, bad], data) is None


def test_the_spread_of_p_right_is_that_of_the_head_times_its_weight(team):
    frame, _, _ = clinic(50, seed=3)
    scorer, features = team.team_.scorer, team.team_.features(frame)
    _, sd = scorer.logit_posterior(features)
    alone = replace(scorer, trees=None).logit_posterior(features)[1]
    np.testing.assert_allclose(sd, np.abs(scorer.trees.with_trees[:, 2]) * alone)
    trees_alone = np.tile([0.0, 1.0, 0.0], (len(scorer.trees.expert_idx), 1))
    separate = replace(scorer, trees=replace(scorer.trees, with_trees=trees_alone))
    assert np.isnan(separate.logit_posterior(features)[1]).all()  # of trees no uncertainty is known
