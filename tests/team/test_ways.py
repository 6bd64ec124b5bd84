"""Every way of asking on the same held-out cases, by hand and through the judge."""

import numpy as np
import pytest

from defero import Team
from defero.core import InputError
from defero.core.trial import WAYS, Way
from defero.decide import DEFAULT_FEE
from defero.decide.terms import Terms
from defero.judge.record.cautions import better_ways
from defero.judge.record.ways import way_records
from defero.team import judge, try_out

CLASS = [[0.9, 0.1], [0.55, 0.45], [0.5, 0.5], [0.2, 0.8]]
EXPERT = [[0.7, 0.95], [0.8, 0.6], [0.8, 0.9], [0.6, 0.6]]
TRUTH = [0, 1, 1, 1]
SAID = np.array([[0, 0], [1, 0], [-1, 1], [-1, -1]])


def router():
    return Team.from_probabilities(CLASS, EXPERT, classes=[0, 1], expert_names=["ann", "bob"])


def tried(**more):
    return try_out(router(), None, TRUTH, SAID, disjoint=True, **more)


def test_each_way_by_hand():
    ways = {way.name: way for way in tried().ways}
    assert set(ways) == set(WAYS) - {"panel"}
    assert ways["one"].label_idx.tolist() == [0, 1, 1, 1]
    assert ways["one"].questions.tolist() == [1, 1, 1, 0]
    assert ways["one"].promised.tolist() == [0.95, 0.8, 0.9, 0.8]
    assert ways["model"].right.tolist() == [1, 0, 0, 1]
    assert ways["model"].cost.tolist() == [0, 1, 1, 0]
    # One each: the more confident expert of a tie; then the model where nobody answered.
    assert ways["everybody_majority"].label_idx.tolist() == [0, 1, 1, 1]
    assert ways["everybody_majority"].questions.tolist() == [2, 2, 1, 0]
    assert ways["everybody_majority"].promised is None
    # Bob's mean P(right) is 0.7625, ann's 0.725.
    assert ways["best_expert"].label_idx.tolist() == [0, 0, 1, 1]
    assert ways["best_expert"].promised.tolist() == [0.95, 0.6, 0.9, 0.8]
    assert ways["random_expert"].right.tolist() == [1, 0.5, 1, 1]
    assert ways["random_expert"].promised == pytest.approx([0.825, 0.7, 0.9, 0.8])
    assert ways["random_expert"].fees == pytest.approx(np.array([1, 1, 1, 0]) * DEFAULT_FEE)
    # 0.55 to 0.45, ann says 1 with 0.8 and bob 0 with 0.6.
    odds = 0.45 / 0.55 * 4 / 1.5
    assert ways["everybody_bayes"].promised[1] == pytest.approx(odds / (1 + odds))
    assert ways["sequential"].right.tolist() == [1, 1, 1, 1]
    assert ways["sequential"].fees == pytest.approx(DEFAULT_FEE * ways["sequential"].questions)


def test_the_best_expert_who_is_recorded_answers():
    said = np.array([[0, -1], [1, 0], [-1, 1], [-1, -1]])
    ways = {way.name: way for way in try_out(router(), None, TRUTH, said, disjoint=True).ways}
    assert ways["best_expert"].questions.tolist() == [1, 1, 1, 0]
    assert ways["best_expert"].promised.tolist() == [0.7, 0.6, 0.9, 0.8]


def test_the_teams_figures_are_of_the_way_that_is_asked_for():
    one, sequential = (judge(router(), None, TRUTH, SAID, disjoint=True, ask=ask) for ask in ("one", "sequential"))
    assert (one.ask, sequential.ask) == ("one", "sequential")
    for record in (one, sequential):
        values = record.to_dict()
        way = values["ways"][record.ask]
        assert values["team"]["accuracy"] == way["accuracy"] == way["kept"] == values["kept"]
        assert values["questions"] == way["questions"]
        assert values["cost"] is None  # neither fees nor costs of errors were given
        assert values["promised"] == way["promised"]
        assert way["minus_team"] is None
        assert values["ways"]["panel"] is None
        assert values["fees_given"] is False
    assert one.coverage == sequential.coverage == 0.25
    with pytest.raises(InputError) as error:
        judge(router(), None, TRUTH, SAID, disjoint=True, ask="panel")
    assert error.value.argument == "ask"
    with pytest.raises(InputError) as error:
        judge(router(), None, TRUTH, SAID, disjoint=True, ask="loudest")
    assert error.value.argument == "ask"


def test_a_plain_way_that_beats_the_team_is_named():
    rng = np.random.default_rng(0)
    n, said = 400, np.zeros((400, 3), int)
    truth = rng.integers(2, size=n)
    for j in range(3):
        said[:, j] = np.where(rng.random(n) < 0.8, truth, 1 - truth)
    # The team believes the model, which guesses: it never asks.
    timid = Team.from_probabilities(
        np.tile([0.9, 0.1], (n, 1)), np.full((n, 3), 0.8), classes=[0, 1], expert_names=["ann", "bob", "cem"]
    )
    record = judge(timid, None, truth, said, disjoint=True)
    sentence = better_ways(record.ways, "one")
    assert sentence in record.cautions
    assert "majority vote of everybody" in sentence
    assert f"{100 * record.ways[-5].accuracy:.1f} %" in sentence
    assert better_ways(record.ways[:1], "one") is None
    # Where all are right nobody is better.
    calm = Team.from_probabilities(
        np.eye(2)[truth], np.full((n, 3), 0.8), classes=[0, 1], expert_names=["ann", "bob", "cem"]
    )
    assert better_ways(judge(calm, None, truth, said, disjoint=True).ways, "one") is None


def test_no_experts_and_no_cases():
    alone = Team.from_probabilities(CLASS, np.empty((4, 0)), classes=[0, 1], expert_names=[])
    ways = try_out(alone, None, TRUTH, np.empty((4, 0)), disjoint=True).ways
    assert [way.name for way in ways] == ["one", "model"]
    nobody = Team.from_probabilities(np.empty((0, 2)), np.empty((0, 2)), classes=[0, 1], expert_names=["ann", "bob"])
    assert way_records(try_out(nobody, None, [], np.empty((0, 2)), disjoint=True)) == ()


def test_a_way_has_numbers_for_every_case():
    with pytest.raises(InputError) as error:
        Way("model", right=[1, 0], questions=[0], fees=[0, 0])
    assert error.value.argument == "questions"


def test_a_recorded_expert_is_heard_before_the_model():
    """Everybody is asked for by a panel of ann alone, but on half of the cases only bob is recorded."""
    rng = np.random.default_rng(1)
    n = 300
    truth = rng.integers(2, size=2 * n)
    said = np.stack([np.where(rng.random(2 * n) < p, truth, 1 - truth) for p in (0.95, 0.9)], axis=1)
    proba = {"class_proba": np.full((2 * n, 2), 0.5), "expert_proba": np.tile([0.95, 0.6], (2 * n, 1))}
    fitted = Team.from_probabilities(
        lambda X: proba["class_proba"][: len(X)],
        lambda X: proba["expert_proba"][: len(X)],
        classes=[0, 1],
        expert_names=["ann", "bob"],
    )
    rows = np.arange(n)[:, None]
    team = fitted.conformalize(rows, truth[:n], said[:n], alpha=0.1, disjoint=True)
    later = said[n:].copy()
    later[::2, 0] = -1
    answer = team.answer(rows, later)
    assert team.predict_set(rows).mask.tolist() == [[True, False]] * n
    assert answer.heard[::2].tolist() == [[False, True]] * (n // 2)
    assert answer.heard[1::2].tolist() == [[True, False]] * (n // 2)
    trial = try_out(team, rows, truth[n:], later, disjoint=True)
    assert trial.panel.deferred.all()
    assert not trial.panel.sets.mask[:, 1].any()  # the promise is judged on the panels as they were made
    panel = next(way for way in trial.ways if way.name == "panel")
    assert panel.right[::2].mean() > 0.8
    assert np.array_equal(panel.label_idx, trial.panel.team_label_idx)
    with pytest.warns(UserWarning, match="absent"):
        assert not team.answer(rows, later, terms=Terms(available={"bob": False})).heard[::2].any()
