"""The law through a team: asking and votes hear by class, pieces, calibration, the folder, and who joins."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from roster_team import CLASSES, NAMES, D, cases, shrunk_scorer, team_of

from defero import DeferralClassifier, Team
from defero.core.errors import ModelFolderError
from defero.core.law import Law, uniform_errors
from defero.core.scores import logit, sigmoid
from defero.data.model_folder import _manifest_checksum
from defero.decide import ask_in_turn
from defero.decide.terms import Terms
from defero.decide.votes import bayes_vote
from defero.learn.scorer import SkillScorer
from defero.learn.skill import summed
from defero.team import asking
from defero.team.judge import try_out

LAW = Law(uniform_errors(2), difficulty=1.3, temper=0.4, model_counts=0.5, prior=np.array([0.6, 0.4]))
ROUTER = replace(team_of(shrunk_scorer()), law=LAW)
X, Y, SAID = cases(1, 200)
SAID = SAID[:, :4].copy()
SAID[::3, 1] = None
TERMS = Terms(fees=np.full(4, 0.02))


def known(team):
    return {"law": team.law, "right": team.scorer.right_by_class(X), "classes": CLASSES}


def numbers(team):
    scores = team.scores(X)
    return team.answer_numbers(SAID, n_items=200), scores.expert_proba, scores.class_proba


def test_asking_in_turn_hears_by_class_and_by_the_law():
    found = ROUTER.answer(X, SAID, vote="sequential", terms=TERMS)
    wanted = ask_in_turn(*numbers(ROUTER), terms=TERMS, **known(ROUTER))
    assert np.array_equal(found.heard, wanted.heard)
    assert np.array_equal(found.label, wanted.label)
    np.testing.assert_allclose(found.confidence, wanted.confidence)
    alone = replace(ROUTER, law=None).answer(X, SAID, vote="sequential", terms=TERMS)
    assert not np.array_equal(found.confidence, alone.confidence)
    # One expert alone is chosen and believed as ever.
    one, other = (team.answer(X, SAID, vote="expert") for team in (ROUTER, replace(ROUTER, law=None)))
    assert np.array_equal(one.label, other.label)
    assert np.array_equal(one.confidence, other.confidence)


def test_the_next_step_says_what_is_decided_by_and_what_is_reported():
    steps = ROUTER.next_step(X, answers=SAID, terms=TERMS)
    several = (steps.answer_idx >= 0).sum(axis=1) > 1
    assert (steps.p_used - steps.p_right)[several].mean() > 0.02  # a tempered posterior claims less
    nothing = ROUTER.next_step(X, terms=TERMS)
    assert np.array_equal(nothing.p_used, nothing.p_right)


@pytest.mark.parametrize("vote", ["sequential", "bayes", "weighted", "majority"])
def test_pieces_make_no_difference(monkeypatch, vote):
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().conformalize(X1, y1, said1[:, :4])
    whole = team.answer(X, SAID, vote=vote, terms=TERMS if vote == "sequential" else None)
    monkeypatch.setattr(asking, "_NUMBERS_AT_ONCE", 8 * 7)
    parts = team.answer(X, SAID, vote=vote, terms=TERMS if vote == "sequential" else None)
    assert type(parts) is type(whole)
    assert np.array_equal(parts.heard, whole.heard)
    assert np.array_equal(parts.label, whole.label)
    assert parts.confidence == pytest.approx(whole.confidence)


def test_a_panels_bayes_vote_hears_by_class_and_so_does_the_judge():
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().conformalize(X1, y1, said1[:, :4])
    found = team.answer(X, SAID, vote="bayes")
    said, right, proba = numbers(team)
    wanted = bayes_vote(said, found.heard, right, proba, **known(team))
    assert np.array_equal(found.label, wanted.label)
    assert found.confidence == pytest.approx(wanted.confidence)
    assert np.array_equal(CLASSES[try_out(team, X, Y, SAID).panel.team_label_idx], found.label)


def test_calibration_shifts_the_log_odds_of_each_class_alike(monkeypatch):
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().calibrate(X1, y1, said1[:, :4])
    seen = []

    def spy(*args, right, **more):
        seen.append(right)
        return ask_in_turn(*args, right=right, **more)

    monkeypatch.setattr(asking, "ask_in_turn", spy)
    team.answer(X, SAID, vote="sequential", terms=TERMS)
    shift = logit(team.scores(X).expert_proba) - logit(ROUTER.scores(X).expert_proba)
    assert np.abs(shift).max() > 0.01
    assert seen[0] == pytest.approx(sigmoid(logit(ROUTER.scorer.right_by_class(X)) + shift[:, :, None]))
    assert team.law is LAW  # that of the fit is kept


@pytest.mark.parametrize("law", [LAW, replace(LAW, copies=np.array([0, 1, 0, 3])), None])
def test_saved_and_loaded_law_and_skill_are_the_same_bit_by_bit(tmp_path, law):
    team = replace(ROUTER, law=law)
    team.save(tmp_path / "model")
    read = Team.load(tmp_path / "model")
    for name in ("errors", "difficulty", "decoy", "temper", "model_counts", "prior", "copies") if law else ():
        np.testing.assert_array_equal(getattr(read.law, name), getattr(law, name))
    assert (read.law is None) == (law is None)
    np.testing.assert_array_equal(read.scorer.right_by_class(X), team.scorer.right_by_class(X))
    found, wanted = (one.answer(X, SAID, vote="sequential", terms=TERMS) for one in (read, team))
    assert np.array_equal(found.label, wanted.label)
    assert np.array_equal(found.confidence, wanted.confidence)
    assert team.answer(np.empty((0, D)), SAID[:0], vote="sequential").label.shape == (0,)


def test_a_fitted_table_keeps_its_trees_and_its_law(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(-1, 1, 700), "b": rng.uniform(-1, 1, 700)})
    frame["site"] = rng.choice([*"xyz"], 700)
    label = rng.integers(2, size=700)
    knows = (frame["a"] * frame["b"] > 0).to_numpy()[:, None] ^ [True, False]
    said = np.where(rng.random((700, 2)) < np.where(knows, 0.95, 0.5), label[:, None], 1 - label[:, None])
    team = DeferralClassifier(random_state=0).fit(frame[:600], label[:600], experts=said[:600])
    assert team.team_.scorer.skill.trees is not None
    decision = team.decide(frame[600:])
    asked = decision.expert[decision.deferred]
    assert (knows[600:][decision.deferred, asked]).mean() > 0.8
    team.save(tmp_path / "model")
    again = Team.load(tmp_path / "model")
    features = again.features(frame[600:])
    np.testing.assert_array_equal(
        again.scorer.right_by_class(features), team.team_.scorer.right_by_class(team.team_.features(frame[600:]))
    )
    np.testing.assert_array_equal(again.decide(frame[600:]).expert, decision.expert)
    np.testing.assert_array_equal(again.law.errors, team.team_.law.errors)


@pytest.mark.parametrize("change", [{"format_version": 1}, {"scorer": {"kind": "team"}}, {"scorer": {"kind": "blend"}}])
def test_a_folder_of_an_older_format_is_told_in_one_sentence(tmp_path, change):
    ROUTER.save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelFolderError) as error:
        Team.load(tmp_path / "model")
    assert "\n" not in str(error.value)
    assert "fit again" in str(error.value)


def test_a_folder_of_a_pool_is_refused_in_one_sentence(tmp_path):
    """A pool of models was a kind of its own before it became a team."""
    ROUTER.save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    said = json.loads(path.read_text()) | {"kind": "pool"}
    path.write_text(json.dumps(said | {"checksum": _manifest_checksum(said)}))
    with pytest.raises(ModelFolderError) as error:
        Team.load(tmp_path / "model")
    assert "\n" not in str(error.value)
    assert "fit again" in str(error.value)


def test_a_law_of_other_classes_or_experts_is_refused(tmp_path):
    for odd, words in (
        (Law.independent(3), "the law is not of 2 classes"),
        (replace(LAW, copies=np.zeros(3, int)), "copies is made for 3 experts, not 4"),
    ):
        replace(ROUTER, law=odd).save(tmp_path / "model")
        with pytest.raises(ModelFolderError, match=f"{words}.*fit again"):
            Team.load(tmp_path / "model")


def test_who_joins_is_heard_by_class_and_is_nobodys_copy(tmp_path):
    X1, y1, said1 = cases(3, 60)
    team = replace(ROUTER, law=replace(LAW, copies=np.array([0, 1, 0, 3])))
    joined = team.copy().add_expert("eve", X1, y1, said1[:, 4])
    right = joined.scorer.right_by_class(X)
    np.testing.assert_allclose(right[:, :4], ROUTER.scorer.right_by_class(X), rtol=0, atol=1e-12)
    proba = joined.scores(X)
    np.testing.assert_allclose(summed(right, proba.class_proba)[:, 4], proba.expert_proba[:, 4], atol=1e-12)
    assert joined.law.copies.tolist() == [0, 1, 0, 2, 3]
    assert joined.copy().remove_expert("bob").law.copies.tolist() == [0, 0, 1, 2]
    joined.save(tmp_path / "model")
    np.testing.assert_array_equal(Team.load(tmp_path / "model").scorer.right_by_class(X), right)
    unknown = ROUTER.copy().add_expert("eve", None, None, None)
    assert isinstance(unknown.scorer, SkillScorer)
    assert unknown.scorer.right_by_class(X).shape == (200, 5, 2)
    assert unknown.law is LAW
    assert joined.expert_names == (*NAMES, "eve")
