"""Experts who are strong on one class are asked about it, with 50 answers each and with thousands."""

import numpy as np
import pytest
from benchmarks.tables import plain
from benchmarks.tables.sets.skill_by_class import draw

from defero import DeferralClassifier, Team


@pytest.fixture(scope="module", params=[(300, 8, 2, 50), (800, 5, 3, 800)], ids=["few", "many"])
def case(request):
    split = draw(*request.param, 0.6, 3)
    answers = split.train.answer_idx.astype(float)
    answers[answers < 0] = np.nan
    team = DeferralClassifier(random_state=0).fit(split.train.features, split.train.label_idx, experts=answers)
    return split, team


def value(split, decision, model_idx):
    return split.truth.value(decision, model_idx)


def test_the_team_is_as_good_as_shares_by_class(case):
    split, team = case
    ours = value(split, team.decide(split.test.features).expert, team.predict(split.test.features))
    plug_in, _ = plain.fit_plug_in(split)
    outcome = plug_in(split.test)
    assert ours > value(split, outcome.expert, outcome.model_idx) - 0.01
    assert ours > split.truth.best_team() - 0.04


def test_the_skill_tells_the_classes_apart_and_is_saved(case, tmp_path):
    split, team = case
    features = split.test.features[:200]
    right = team.team_.scorer.right_by_class(team.team_.features(features))
    assert np.ptp(right, axis=2).mean() > 0.2
    team.save(tmp_path / "model")
    again = Team.load(tmp_path / "model")
    np.testing.assert_array_equal(again.scorer.right_by_class(again.features(features)), right)
    assert np.array_equal(again.decide(features).expert, team.decide(features).expert)
