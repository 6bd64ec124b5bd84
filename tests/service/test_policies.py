"""Policies: rules, one or a panel, capacity, exploration, shadow mode; previewed, versioned, restored."""

from collections import Counter

import numpy as np
import pytest
from small_team import SURE, UNSURE, World

from defero.service import Problem
from defero.service.flow.cases import GiveAnswer, GiveOutcomes
from defero.service.flow.settings import ChangePolicy
from defero.service.flow.what_if import Past, preview, replay
from defero.service.views.policy import Policy

EVEN = [0.5, 0.8, 0.8, 0.8]


def world_with(**policy):
    world = World()
    reply = world.do(ChangePolicy(policy, "p9"))[0]
    assert not isinstance(reply, Problem), reply.detail
    return world


def answer_all(world, case, *, answer="ill"):
    """Return everybody who was asked, in turn."""
    seen = []
    while (asked := world.ledger.cases[case].asked) is not None:
        seen.append(asked)
        world.do(GiveAnswer(case, asked, answer, asked))
    return seen


def past_of(world):
    return [Past(state, world.desk.contents[case][1]) for case, state in world.ledger.cases.items()]


def test_a_class_always_goes_to_a_person():
    world = world_with(rules=[{"do": "ask", "label": "ill"}])
    ill, well = world.add(SURE, [0.001, 0.9, 0.8, 0.7])
    assert (ill["ask"], well["status"]) == ("ann", "settled")
    assert "rule" in ill["reason"]
    assert answer_all(world, ill["case"]) == ["p1"]
    assert world.ledger.cases[ill["case"]].label == "ill"


def test_somebody_is_never_asked_about_some_cases():
    world = world_with(rules=[{"do": "never_ask", "person": "p1", "column": "x3", "equals": 0.7}])
    about, else_ = world.add(UNSURE, [0.5, 0.9, 0.8, 0.6])
    assert (about["ask"], else_["ask"]) == ("bob", "ann")
    world = world_with(rules=[{"do": "never_ask", "person": "p1", "label": "ill"}])
    assert [one["ask"] for one in world.add([0.6, 0.9, 0.8, 0.7], [0.4, 0.9, 0.8, 0.7])] == ["bob", "ann"]
    world = world_with(rules=[{"do": "never_ask", "person": "p1"}])
    assert "p1" not in answer_all(world, world.add(UNSURE)[0]["case"])


@pytest.mark.parametrize(("asking", "n_asked"), [("one", 1), ("panel", 3)])
def test_one_person_or_a_whole_panel_is_heard(asking, n_asked):
    world = world_with(asking=asking, panel_size=3, error_cost=100.0, fees={"p1": 0.01, "p2": 0.01, "p3": 0.01})
    unsure = world.add(EVEN)[0]
    assert len(answer_all(world, unsure["case"])) == n_asked
    assert world.ledger.cases[unsure["case"]].settled
    many = world_with(error_cost=100.0, fees={"p1": 0.01, "p2": 0.01, "p3": 0.01})
    case = many.add([0.5, 0.99, 0.6, 0.6])[0]["case"]
    assert len(answer_all(many, case)) < 3  # while it pays


def test_the_policy_limits_capacity_beside_each_persons_own():
    world = world_with(capacity={"p1": 1, "p2": 0})
    assert [one["ask"] for one in world.add(UNSURE, UNSURE)] == ["ann", "cem"]


def test_exploration_gives_a_share_to_others_and_records_its_probability():
    world = world_with(explore=0.2)
    facts = [world.ledger.entries[-1].fact for _ in range(600) if world.add(UNSURE)]
    asked = Counter(fact.person for fact in facts)
    chance = {person: {fact.chance for fact in facts if fact.person == person} for person in asked}
    assert chance == {"p1": {0.8}, "p2": {0.1}, "p3": {0.1}}
    assert abs(asked["p1"] / 600 - 0.8) < 4 * np.sqrt(0.16 / 600)
    assert sum(1 / fact.chance for fact in facts if fact.person == "p2") == pytest.approx(600, rel=0.45)
    alone = [world.add(SURE)[0]["status"] for _ in range(100)]
    assert 5 <= alone.count("open") <= 40
    settled = [entry.fact for entry in world.ledger.entries if entry.fact.kind == "settled"]
    assert {fact.chance for fact in settled} == {0.8}


def test_a_batch_explores_as_one_by_one():
    together, in_turn = world_with(explore=0.3), world_with(explore=0.3)
    rows = [UNSURE] * 30
    first = together.add(*rows)
    # Ids differ between a batch and one by one, as entries lie between: compare by id.
    second = {one["case"]: one["ask"] for one in (in_turn.add(row)[0] for row in rows)}
    both = [one["case"] for one in first if one["case"] in second]
    assert both
    assert all(second[one["case"]] == one["ask"] for one in first if one["case"] in second)


@pytest.mark.parametrize("answer", ["model", "none"])
def test_in_shadow_nobody_is_asked_and_what_would_be_done_is_recorded(answer):
    world = world_with(mode="shadow", shadow_answer=answer, capacity={"p1": 1})
    sure, unsure = world.add(SURE, UNSURE)
    assert sure["status"] == "settled"
    assert unsure["ask"] is None
    assert unsure["status"] == ("settled" if answer == "model" else "observed")
    state = world.ledger.cases[unsure["case"]]
    assert (state.asked, state.observed, state.settled) == (None, "p1", answer == "model")
    assert world.totals()["p1", "observed"] == 1
    assert world.totals()["", "asked"] == 0
    assert world.ledger.left_today("p1") == 1


def test_the_same_policy_changes_nothing_and_the_replay_is_what_happened():
    world = world_with(error_cost=10.0, fees={"p1": 0.1, "p2": 0.1, "p3": 0.1}, capacity={"p1": 4})
    rng = np.random.default_rng(3)
    for row in rng.uniform(0.3, 0.95, (15, 4)):
        case = world.add(list(row))[0]["case"]
        answer_all(world, case)
        world.do(GiveOutcomes([(case, "ill")], "p9"))
    past = past_of(world)
    result = preview(world.ledger, world.team, world.ledger.policy, past)
    assert (result["cases"], result["changed"]) == (15, 0)
    assert result["now"] == result["then"]
    again = replay(world.ledger, world.team, world.ledger.policy, past)
    totals = world.totals()
    assert again.questions == {p: totals[p, "asked"] for p in ("p1", "p2", "p3") if totals[p, "asked"]}
    assert (again.n_settled, again.n_judged, again.n_right) == (15, 15, totals["", "right"])
    assert again.fees == pytest.approx(totals["", "fees"] / 1e6)


def test_a_preview_says_who_would_be_asked_and_leaves_everything_as_it_is():
    world = World()
    world.add(UNSURE, SURE, UNSURE)
    before = world.ledger.plain()
    policy = Policy.from_dict({"fees": {"p1": 30.0}, "error_cost": 100.0}, version=1)
    result = preview(world.ledger, world.team, policy, past_of(world))
    assert result["changed"] == 2
    assert [one["then"] for one in result["examples"]] == ["p2", "p2"]
    assert (result["now"]["questions"], result["then"]["questions"]) == ({"p1": 2}, {"p2": 2})
    assert result["then"]["n_waiting"] == 2  # nobody ever answered
    assert world.ledger.plain() == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"explore": 0.7},
        {"asking": "all"},
        {"panel_size": 1},
        {"rules": [{"do": "ask"}]},
        {"rules": [{"do": "never_ask"}]},
        {"mode": "off"},
    ],
)
def test_wrong_policies_are_refused(wrong):
    with pytest.raises(ValueError):
        Policy.from_dict(wrong, version=1)


def test_rules_and_capacity_must_name_people_and_classes_that_exist():
    world = World()
    for policy in (
        {"capacity": {"p77": 1}},
        {"rules": [{"do": "never_ask", "person": "p77"}]},
        {"rules": [{"do": "ask", "label": "?"}]},
    ):
        assert isinstance(world.do(ChangePolicy(policy, "p9"))[0], Problem)


def test_policies_over_http_are_previewed_versioned_and_restored(clients):
    clients.add(UNSURE, SURE)
    body = {"fees": {"p1": 30.0}, "error_cost": 100.0, "rules": [{"do": "ask", "label": "ill"}]}
    seen = clients.call("boss", "POST", "/v1/policies/preview", json=body).json()
    assert (seen["cases"], seen["changed"]) == (2, 2)
    assert clients.call("boss", "GET", "/v1/policies").json()["policies"] == []
    assert clients.call("boss", "PUT", "/v1/policy", json=body).json()["version"] == 1
    assert clients.add(SURE).json()["cases"][0]["ask"] == "bob"
    assert clients.call("boss", "POST", "/v1/policies/0/restore").json()["version"] == 2
    assert clients.add(SURE).json()["cases"][0]["status"] == "settled"
    restored = clients.call("boss", "POST", "/v1/policies/1/restore").json()
    assert (restored["version"], restored["rules"][0]["label"]) == (3, "ill")
    assert clients.call("boss", "POST", "/v1/policies/9/restore").status_code == 404
    versions = clients.call("boss", "GET", "/v1/policies").json()["policies"]
    assert [one["version"] for one in versions] == [1, 2, 3]
    assert clients.call("boss", "PUT", "/v1/policy", json={"rules": [{"do": "ask"}]}).status_code == 422


def test_a_case_in_shadow_over_http_gives_the_same_reply_again(clients):
    for answer in ("model", "none"):
        clients.call("boss", "PUT", "/v1/policy", json={"mode": "shadow", "shadow_answer": answer})
        key = {"Idempotency-Key": answer}
        first = clients.add(UNSURE, headers=key).json()
        assert clients.add(UNSURE, headers=key).json() == first
        case = first["cases"][0]["case"]
        assert clients.call("boss", "GET", f"/v1/cases/{case}").json()["status"] == first["cases"][0]["status"]
