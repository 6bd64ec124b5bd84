"""Votes of a team whose heads are told the class: through the chain, calibrated, in pieces, saved."""

from dataclasses import replace

import numpy as np
import pytest
from defero.core.posterior import ClassSkill
from defero.heads import Lens, fit_class_heads, fit_heads
from defero.scorers.team import TeamScorer
from roster_team import CLASSES, NAMES, D, N, cases, network, team_of

from defero import Team
from defero.core.scores import logit, sigmoid
from defero.decide import ask_in_turn
from defero.decide.terms import Terms
from defero.decide.votes import bayes_vote
from defero.team import asking
from defero.team.judge import try_out


def router():
    X, y, said = cases(0)
    base, lens = network(0), Lens.fit(X, reads_classes=True)
    proba = base.score(X).class_proba
    seen, groups = lens.transform(X, proba), lens.groups(X, n_classes=2)
    item, expert = np.divmod(np.arange(4 * N), 4)
    right, label_idx = (said == y[:, None])[item, expert], (y == CLASSES[1]).astype(np.int64)
    heads = fit_heads(seen, item, expert, right, n_experts=4, groups=groups)
    told = fit_class_heads(seen, proba, label_idx, item, expert, right, n_experts=4, groups=groups)
    return team_of(TeamScorer(base, lens, heads, n_own=0, order=np.arange(4), class_heads=told))


ROUTER = router()
X, Y, SAID = cases(1, 200)
SAID = SAID[:, :4].copy()
SAID[::3, 1] = None
FEE = np.full(4, 0.02)


def expected(team, fee=FEE):
    scores, skill = team.scores(X), team.scorer.class_skill(X)
    answer_idx = team.answer_numbers(SAID, n_items=200)
    return ask_in_turn(
        answer_idx, scores.expert_proba, scores.class_proba, terms=Terms(fees=fee), skill=skill, classes=CLASSES
    )


def test_asking_in_turn_hears_by_class():
    found, wanted = ROUTER.answer(X, SAID, vote="sequential", terms=Terms(fees=FEE)), expected(ROUTER)
    assert np.array_equal(found.heard, wanted.heard)
    assert np.array_equal(found.label, wanted.label)
    assert found.n_asked.sum() == found.heard.sum()
    blunt = replace(ROUTER, scorer=replace(ROUTER.scorer, class_heads=None))
    assert not np.array_equal(
        found.confidence, blunt.answer(X, SAID, vote="sequential", terms=Terms(fees=FEE)).confidence
    )
    absent = ROUTER.answer(X, SAID, vote="sequential", terms=Terms(fees=FEE, available={"ann": False}))
    assert found.heard[:, 0].any()
    assert not absent.heard[:, 0].any()
    # One expert alone is chosen and believed as ever.
    one, other = ROUTER.answer(X, SAID, vote="expert"), blunt.answer(X, SAID, vote="expert")
    assert np.array_equal(one.label, other.label)
    assert np.array_equal(one.confidence, other.confidence)


@pytest.mark.parametrize("vote", ["sequential", "bayes", "confusion", "weighted", "majority"])
def test_pieces_make_no_difference(monkeypatch, vote):
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().conformalize(X1, y1, said1[:, :4])
    whole = team.answer(X, SAID, vote=vote, terms=Terms(fees=FEE if vote == "sequential" else None))
    monkeypatch.setattr(asking, "_NUMBERS_AT_ONCE", 8 * 7)
    parts = team.answer(X, SAID, vote=vote, terms=Terms(fees=FEE if vote == "sequential" else None))
    assert type(parts) is type(whole)
    assert np.array_equal(parts.heard, whole.heard)
    assert np.array_equal(parts.label, whole.label)
    assert parts.confidence == pytest.approx(whole.confidence)


def test_a_panels_bayes_vote_hears_by_class_and_so_does_the_judge():
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().conformalize(X1, y1, said1[:, :4])
    found = team.answer(X, SAID, vote="bayes")
    answer_idx, scores = team.answer_numbers(SAID, n_items=200), team.scores(X)
    wanted = bayes_vote(
        answer_idx,
        found.heard,
        scores.expert_proba,
        scores.class_proba,
        skill=team.scorer.class_skill(X),
        discount=team.panel.discount,
        classes=CLASSES,
    )
    assert np.array_equal(found.label, wanted.label)
    kept = team.panel.verdicts["panel"].apply(wanted.confidence, wanted.heard.sum(axis=1))
    assert found.confidence == pytest.approx(kept)
    assert np.array_equal(CLASSES[try_out(team, X, Y, SAID).panel.team_label_idx], found.label)


def test_calibration_shifts_the_log_odds_of_each_class_alike(monkeypatch):
    X1, y1, said1 = cases(2)
    team = ROUTER.copy().calibrate(X1, y1, said1[:, :4], method="platt")
    seen = []

    def spy(*args, skill, **more):
        seen.append(skill)
        return ask_in_turn(*args, skill=skill, **more)

    monkeypatch.setattr(asking, "ask_in_turn", spy)
    team.answer(X, SAID, vote="sequential", terms=Terms(fees=FEE))
    shift = logit(team.scores(X).expert_proba) - logit(ROUTER.scores(X).expert_proba)
    raw = ROUTER.scorer.class_skill(X)
    assert np.abs(shift).max() > 0.01
    assert seen[0].right == pytest.approx(sigmoid(logit(raw.right) + shift[:, :, None]))


def test_saved_it_says_the_same_and_no_items_are_no_trouble(tmp_path):
    ROUTER.save(tmp_path / "model")
    read = Team.load(tmp_path / "model")
    found, wanted = read.answer(X, SAID, vote="sequential"), ROUTER.answer(X, SAID, vote="sequential")
    assert np.array_equal(found.label, wanted.label)
    assert np.array_equal(found.confidence, wanted.confidence)
    assert ROUTER.answer(np.empty((0, D)), SAID[:0], vote="sequential").label.shape == (0,)


def test_who_joins_is_heard_by_class_too():
    X1, y1, said1 = cases(3, 60)
    joined = ROUTER.copy().add_expert("eve", X1, y1, said1[:, 4])
    skill = joined.scorer.class_skill(X)
    assert isinstance(skill, ClassSkill)
    assert np.array_equal(skill.right[:, :4], ROUTER.scorer.class_skill(X).right)
    label_idx, proba = (y1 == CLASSES[1]).astype(np.int64), ROUTER.scores(X1).class_proba
    seen, right = ROUTER.scorer.lens.transform(X1, proba), said1[:, 4] == y1
    direct = ROUTER.scorer.class_heads.with_expert(seen, proba, label_idx, right)
    assert np.allclose(joined.scorer.class_heads.heads.weights, direct.heads.weights, atol=1e-12)
    unknown = ROUTER.copy().add_expert("eve", None, None, None).scorer.class_skill(X)
    assert unknown.shape == (200, 5, 2)
    assert joined.copy().remove_expert("bob").scorer.class_skill(X).shape == (200, 4, 2)
    assert joined.expert_names == (*NAMES, "eve")
