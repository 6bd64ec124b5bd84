"""Tables: categories and gaps as they are, few answers, saving, groups, weights."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from defero import DeferralClassifier, InputError, Team, TwoStageDeferral
from defero.core.order import row_order
from defero.datasets import wedge


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
    return DeferralClassifier(random_state=0).fit(frame, labels, experts=answers)


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
    bigger = DeferralClassifier(random_state=0)._adopt(team.team_.copy())
    bigger.add_expert("dr_new", frame, labels, answers["dr_0"])
    np.testing.assert_array_equal(bigger.predict_expert_proba(frame)[:, :3], before)
    smaller = bigger.remove_expert("dr_0")
    np.testing.assert_array_equal(smaller.predict_expert_proba(frame)[:, :2], before[:, 1:])
    assert smaller.decide(frame).expert_names == ("dr_1", "dr_2", "dr_new")


def test_few_answers_and_no_experts_and_one_class_and_weights():
    frame, labels, answers = clinic(100, share=0.1)
    few = DeferralClassifier(random_state=0).fit(frame, labels, experts=answers)
    assert few.team_.scorer.skill.trees is None  # nobody has enough answers for trees of their own
    alone = DeferralClassifier().fit(frame, labels)
    assert alone.decide(frame).coverage == 1
    one = DeferralClassifier().fit(frame, np.full(100, "well"), experts=answers.where(answers == "well"))
    assert (one.predict(frame) == "well").all()
    weight = np.where(labels == "ill", 20.0, 1.0)
    weighted = DeferralClassifier(random_state=0).fit(frame, labels, experts=answers, sample_weight=weight)
    assert (weighted.predict(frame) == "ill").mean() > (few.predict(frame) == "ill").mean() + 0.1


def test_an_expert_may_have_answered_one_group_alone():
    """Nothing of them is left to fit on where their group is held out."""
    frame, labels, answers = clinic(800)
    site = np.arange(800) % 4
    alone = answers.assign(dr_3=answers["dr_0"]).where(site[:, None] == np.arange(4))
    team = DeferralClassifier(random_state=0).fit(frame, labels, experts=alone, groups=site)
    assert np.isfinite(team.predict_expert_proba(frame)).all()


def test_a_number_far_outside_is_bounded_by_the_accuracy_across_folds(team):
    router = team.team_.copy().calibrated_across_folds()
    frame, _, _ = clinic(50, seed=5)
    calibrator = router.calibrator
    far = router.scores(frame.assign(b=999.0))
    assert far.model_proba.max() <= calibrator.model_accuracy + 1e-9
    assert (far.expert_proba <= calibrator.accuracy + 1e-9).all()
    with pytest.raises(InputError, match="call calibrate"):
        Team.from_probabilities([[0.9, 0.1]], [[0.8]]).calibrated_across_folds()


def test_rows_of_weight_0_settle_nothing():
    frame, labels, answers = clinic(150)
    worse = answers.copy()
    worse.iloc[:50] = "ill"
    weight = np.repeat([0.0, 1.0], [50, 100])
    held_out = DeferralClassifier(random_state=0).fit(frame, labels, experts=worse, sample_weight=weight).team_.held_out
    assert len(held_out.label_idx) == 100
    assert held_out.weight.tolist() == [1.0] * 100


def test_rows_of_a_group_are_held_out_together_and_the_choice_is_said():
    frame, labels, answers = clinic(200)
    team = DeferralClassifier(random_state=0).fit(frame, labels, experts=answers, groups=np.arange(200) // 10).team_
    group = np.unique((np.arange(200) // 10).astype(str), return_inverse=True)[1]
    label_idx = np.unique(labels, return_inverse=True)[1]
    order = row_order(frame, label_idx, weight=np.ones(200), group=group)
    fold = team.held_out.fold[np.argsort(order)].reshape(20, 10)
    assert (fold == fold[:, :1]).all()
    assert len(np.unique(fold)) == 5
    assert team.facts.choice.startswith("Model of the classes: ")


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("estimator", [DeferralClassifier(random_state=0), TwoStageDeferral()], ids=["table", "two"])
def test_the_scale_of_sample_weight_does_not_matter(estimator, scale):
    cases = wedge(400, random_state=0)
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 400) * (np.arange(400) % 7 > 0)
    one, other = (
        clone(estimator).fit(cases.features, cases.labels, experts=cases.answers, sample_weight=c * weight)
        for c in (1.0, scale)
    )
    np.testing.assert_array_equal(one.predict_proba(cases.features), other.predict_proba(cases.features))
    np.testing.assert_array_equal(one.predict_expert_proba(cases.features), other.predict_expert_proba(cases.features))
    assert one.team_.law.difficulty == other.team_.law.difficulty
