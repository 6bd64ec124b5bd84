"""Outcomes against promises in the service: alarms, corrections, what the log keeps of them."""

import numpy as np
import pytest
from small_team import UNSURE, World, add_cases

from defero.core.scores import Scores
from defero.service import Problem
from defero.service.flow.cases import ActOnDrift, GiveAnswer, GiveOutcomes
from defero.service.flow.settings import ChangePolicy
from defero.service.flow.steps import corrected_scores
from defero.service.store.saved_views import fold_log, read_views

ONLY_ANN = [0.5, 0.95, 0.5, 0.5]
ALONE = [0.999, 0.5, 0.5, 0.5]


def play(world, row, *, answer, outcome, times):
    """Bring cases; whoever is asked answers, and the outcome follows."""
    for _ in range(times):
        case = world.add(row)[0]["case"]
        while (asked := world.ledger.cases[case].asked) is not None:
            world.do(GiveAnswer(case, asked, answer, asked))
        world.do(GiveOutcomes([(case, outcome)], "p9"))


def kinds(world):
    return [entry.fact.kind for entry in world.ledger.entries if entry.case is None]


def test_an_expert_who_is_always_wrong_raises_one_alarm_that_waits_for_the_lead():
    world = World()
    play(world, ONLY_ANN, answer="ill", outcome="well", times=20)
    raised = [entry.fact for entry in world.ledger.entries if entry.fact.kind == "drift_raised"]
    assert [one.person for one in raised] == ["p1"]
    assert raised[0].kept == 0.0
    assert raised[0].promised == pytest.approx(0.95)
    assert world.add(ONLY_ANN)[0]["ask"] == "ann"  # only a warning
    row = world.do(ActOnDrift("p1", "correct", "p9"))[0]
    assert (row["name"], row["alarmed"]) == ("ann", False)
    assert row["correction"] < -1
    assert world.add([0.5, 0.95, 0.9, 0.5])[0]["ask"] == "bob"


def test_the_policy_correct_acts_at_once_and_later_outcomes_refine_the_promise():
    world = World()
    world.do(ChangePolicy({"on_drift": "correct"}, "p9"))
    play(world, ONLY_ANN, answer="ill", outcome="well", times=8)
    assert kinds(world)[-2:] == ["drift_raised", "drift_acted"]
    first = world.ledger.drift.corrections()["p1"]
    assert first < -1
    play(world, [0.5, 0.99, 0.5, 0.5], answer="ill", outcome="well", times=3)
    assert world.ledger.drift.corrections()["p1"] < first
    asked = [entry.fact for entry in world.ledger.entries if entry.fact.kind == "asked"]
    assert asked[-1].shift < 0
    assert asked[-1].p_person < 0.99


def test_outcomes_of_questions_before_the_correction_are_judged_by_it():
    """The same outcomes give the same state, whether the questions were asked before the correction or after it."""
    world = World()
    world.do(ChangePolicy({"on_drift": "correct", "fees": {"p1": 0.0, "p2": 9.0, "p3": 9.0}}, "p9"))
    early = [world.add(ONLY_ANN)[0]["case"] for _ in range(30)]
    for case in early:
        world.do(GiveAnswer(case, "p1", "ill", "p1"))
    for case in early:
        world.do(GiveOutcomes([(case, "well")], "p9"))
    n_alarms = kinds(world).count("drift_raised")
    assert 1 <= n_alarms <= 3  # 30 errors of 30 at a promise of .95 need more than one correction


def test_the_model_is_judged_by_what_it_answers_alone():
    world = World()
    world.do(ChangePolicy({"on_drift": "correct"}, "p9"))
    play(world, ALONE, answer="ill", outcome="well", times=5)
    assert world.ledger.drift.corrections().keys() == {"model"}
    assert world.add(ALONE)[0]["p_right"] < 0.999


def test_there_must_be_an_alarm_or_a_correction_to_act_on():
    world = World()
    for who, action, status in (("p1", "correct", 409), ("p1", "withdraw", 409), ("p77", "correct", 404)):
        result = world.do(ActOnDrift(who, action, "p9"))[0]
        assert isinstance(result, Problem)
        assert result.status == status
    play(world, ONLY_ANN, answer="ill", outcome="well", times=12)
    world.do(ActOnDrift("p1", "correct", "p9"))
    assert world.do(ActOnDrift("p1", "withdraw", "p9"))[0]["correction"] == 0.0


def test_a_correction_of_an_outcome_is_not_judged_again():
    world = World()
    case = world.add(ONLY_ANN)[0]["case"]
    while (asked := world.ledger.cases[case].asked) is not None:
        world.do(GiveAnswer(case, asked, "ill", asked))
    world.do(GiveOutcomes([(case, "ill")], "p9"))
    before = world.ledger.drift.plain()
    world.do(GiveOutcomes([(case, "well")], "p9"))
    assert world.ledger.drift.plain() == before


def test_the_first_class_stays_the_first_and_rows_add_up_to_one():
    rng = np.random.default_rng(0)
    class_proba = rng.dirichlet(np.ones(4), 200)
    scores = Scores.from_probabilities(class_proba, rng.random((200, 2)))
    for shift in (-9.0, -0.5, 0.5, 9.0):
        after = corrected_scores(scores, {"model": shift}, ["p1", "p2"])
        assert np.allclose(after.class_proba.sum(axis=1), 1)
        rows = np.arange(200)
        assert np.all(after.class_proba[rows, scores.class_idx] >= after.class_proba.max(axis=1) - 1e-12)
        assert np.array_equal(after.expert_proba, scores.expert_proba)
    assert corrected_scores(scores, {}, ["p1", "p2"]) is scores
    one_hot = Scores.from_probabilities([[1.0, 0.0]], [[0.5, 0.5]])
    assert corrected_scores(one_hot, {"model": -3.0}, ["p1", "p2"]).class_proba.tolist() == [[1.0, 0.0]]


def test_the_log_alone_gives_the_same_watches_and_the_api_shows_them(clients):
    office = clients.office
    office.do(ChangePolicy({"on_drift": "correct"}, "p9"))
    for _ in range(8):
        case = office.do(add_cases(office.team, [ONLY_ANN]))["cases"][0]["case"]
        clients.call("ann", "POST", "/v1/answers", json={"case": case, "answer": "ill"})
        clients.call("robot", "POST", "/v1/outcomes", json={"outcomes": [{"case": case, "label": "well"}]})
    with office.database.read() as connection:
        saved, folded = read_views(connection).plain(), fold_log(connection).plain()
    assert saved == folded
    assert saved["drift"]["p1"]["correction"] < 0
    shown = clients.call("boss", "GET", "/v1/drift").json()
    assert [one["kind"] for one in shown["history"]] == ["drift_raised", "drift_acted"]
    assert {one["name"] for one in shown["drift"]} >= {"ann"}
    assert clients.call("boss", "POST", "/v1/drift/p1", json={"action": "withdraw"}).json()["correction"] == 0.0
    assert clients.call("boss", "POST", "/v1/drift/p1", json={"action": "explode"}).status_code == 422
    assert clients.add(UNSURE).json()["cases"][0]["ask"] == "ann"
