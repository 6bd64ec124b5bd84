"""Experts who are strong on one class are asked about it, with 50 answers each and with thousands."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.tables import plain
from benchmarks.tables.sets.skill_by_class import draw
from defero.estimators.expert_stack import share_by_gain

from defero import DeferralClassifier, InputError, Team


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


def test_class_heads_have_most_of_the_weight_and_are_saved(case, tmp_path):
    split, team = case
    scorer = team.team_.scorer
    assert scorer.class_share > 0.6
    team.save(tmp_path / "model")
    features = split.test.features[:50]
    again = Team.load(tmp_path / "model")
    assert again.scorer.class_share == scorer.class_share
    assert np.array_equal(again.decide(features).expert, team.decide(features).expert)


def test_a_share_without_class_heads_is_refused(case):
    _, team = case
    scorer = team.team_.scorer
    with pytest.raises(InputError) as error:
        type(scorer)(scorer.base, scorer.lens, scorer.heads, scorer.n_own, scorer.order, None, class_share=0.5)
    assert error.value.argument == "class_share"


def test_the_share_grows_with_the_evidence_and_is_careful_where_it_is_noisy():
    even = np.tile([0.2, -0.2], 100)
    assert share_by_gain(even) > share_by_gain(np.zeros(200))  # noise: nearer to even odds than the prior
    assert share_by_gain(even + 0.05) > share_by_gain(even + 0.01) > share_by_gain(even)
    assert share_by_gain(even - 0.05) < 0.01


def test_class_heads_of_other_experts_are_refused(case):
    _, team = case
    scorer = team.team_.scorer
    with pytest.raises(InputError) as error:
        replace(scorer, class_heads=scorer.class_heads.take([0]))
    assert error.value.argument == "class_heads"
