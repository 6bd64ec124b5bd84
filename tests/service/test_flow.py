"""What becomes of cases, without a database: next steps, answers, time-outs, outcomes, people."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_team import SURE, UNSURE, World, add_cases

from defero.service import Problem
from defero.service.flow.cases import EraseCase, Expire, GiveAnswer, GiveOutcomes, Skip
from defero.service.flow.settings import AddPerson, ChangePerson, ChangePolicy, ErasePerson
from defero.service.views.promises import MILLION

PROBABILITY = st.floats(0.02, 0.98)
ROWS = st.lists(st.tuples(*[PROBABILITY] * 4), min_size=1, max_size=12)


def refused(result, status):
    assert isinstance(result, Problem), result
    assert result.status == status
    return result.detail


def test_a_sure_case_is_answered_and_an_unsure_one_goes_to_the_best_expert():
    sure, unsure = World().add(SURE, UNSURE)
    assert (sure["status"], sure["label"], sure["ask"]) == ("settled", "ill", None)
    assert (unsure["status"], unsure["label"], unsure["ask"], unsure["person"]) == ("open", None, "ann", "p1")
    assert unsure["p_expert"] == {"ann": 0.9, "bob": 0.8, "cem": 0.7}
    assert unsure["p_class"] == {"ill": 0.5, "well": 0.5}
    assert "ask ann" in unsure["reason"]


def test_the_log_holds_no_names():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    world.do(GiveAnswer(case, "p1", "ill", "p1"))
    assert not [entry for entry in world.ledger.entries for name in ("ann", "bob", "cem") if name in entry.body()]


def test_answers_settle_a_case_as_the_router_says():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    reply = world.do(GiveAnswer(case, "p1", "ill", "p1"))[0]
    state = world.ledger.cases[case]
    while not state.settled:
        world.do(GiveAnswer(case, state.asked, "ill", state.asked))
        state = world.ledger.cases[case]
    assert state.label == "ill"
    assert reply["counted"]
    assert state.step.p_right >= 0.9
    assert world.kinds(case)[-1] == "settled"


def test_an_answer_to_a_settled_case_is_kept_and_not_counted():
    world = World()
    case = world.add(SURE)[0]["case"]
    before = world.ledger.cases[case]
    reply = world.do(GiveAnswer(case, "p2", "well", "p9"))[0]
    after = world.ledger.cases[case]
    assert not reply["counted"]
    assert after == replace(before, uncounted=(("p2", "well"),))
    assert world.totals()["p2", "uncounted"] == 1
    assert world.totals()["p2", "answered"] == 0


def test_the_same_answer_again_changes_nothing_and_another_one_is_refused():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    world.do(GiveAnswer(case, "p1", "ill", "p1"))
    n_entries = len(world.ledger.entries)
    assert world.do(GiveAnswer(case, "p1", "ill", "p1"))[0]["counted"]
    assert "already" in refused(world.do(GiveAnswer(case, "p1", "well", "p1"))[0], 409)
    assert len(world.ledger.entries) == n_entries


def test_a_person_speaks_only_of_what_they_were_asked():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    refused(world.do(GiveAnswer(case, "p2", "ill", "p2"))[0], 404)
    refused(world.do(GiveAnswer("c999", "p1", "ill", "p1"))[0], 404)
    assert "classes" in refused(world.do(GiveAnswer(case, "p1", "perhaps", "p1"))[0], 422)
    assert world.do(GiveAnswer(case, "p2", "ill", "p9"))[0]["counted"]  # brought by a program


def test_a_skipped_question_goes_to_somebody_else_and_never_comes_back():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    seen = []
    while (asked := world.ledger.cases[case].asked) is not None:
        seen.append(asked)
        world.do(Skip(case, asked, asked, "not my field"))
    assert seen == ["p1", "p2", "p3"]
    assert world.kinds(case) == [
        "received",
        "asked",
        "skipped",
        "rerouted",
        "skipped",
        "rerouted",
        "skipped",
        "settled",
    ]
    assert len(world.desk.notes) == 3
    refused(world.do(Skip(case, "p1", "p1"))[0], 409)


def test_a_question_that_is_due_goes_to_somebody_else():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    assert world.do(Expire())[0] == 0
    world.ledger.now += 86_400
    assert world.do(Expire())[0] == 1
    assert world.kinds(case) == ["received", "asked", "timed_out", "rerouted"]
    assert world.ledger.entries[-1].fact.instead_of == "p1"
    late = world.do(GiveAnswer(case, "p1", "ill", "p1"))[0]  # still open: it counts
    assert late["counted"]


@given(rows=ROWS, limits=st.lists(st.integers(0, 4), min_size=3, max_size=3))
def test_a_batch_within_capacity_is_decided_as_one_by_one(rows, limits):
    together, in_turn = World(), World()
    for world in (together, in_turn):
        world.do(*(ChangePerson(f"p{j + 1}", {"capacity": most}, "p9") for j, most in enumerate(limits)))
    batch = together.add(*rows)
    single = [in_turn.add(row)[0] for row in rows]
    assert [(one["person"], one["label"]) for one in batch] == [(one["person"], one["label"]) for one in single]
    asked = Counter(one["person"] for one in batch)
    assert all(asked[f"p{j + 1}"] <= most for j, most in enumerate(limits))


def test_capacity_is_of_a_day():
    world = World()
    world.do(ChangePerson("p1", {"capacity": 1}, "p9"))
    assert [one["ask"] for one in world.add(UNSURE, UNSURE)] == ["ann", "bob"]
    assert world.ledger.left_today("p1") == 0


def test_who_is_not_available_is_not_asked():
    world = World()
    world.do(ChangePerson("p1", {"available": False}, "p1"))
    assert world.add(UNSURE)[0]["ask"] == "bob"


def test_questions_of_somebody_who_leaves_go_to_others():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    world.do(ErasePerson("p1", "p9"))
    assert world.ledger.cases[case].asked == "p2"
    assert world.desk.names()["p1"] == "removed p1"
    assert world.add(UNSURE)[0]["ask"] == "bob"


def test_an_outcome_comes_late_is_corrected_and_counts_once():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    while (asked := world.ledger.cases[case].asked) is not None:
        world.do(GiveAnswer(case, asked, "ill", asked))
    assert world.do(GiveOutcomes([(case, "ill")], "p9"))[0] == {"received": 1, "changed": 1}
    assert world.do(GiveOutcomes([(case, "ill")], "p9"))[0] == {"received": 1, "changed": 0}
    assert world.totals()["", "right"] == world.totals()["p1", "right"] == 1
    world.do(GiveOutcomes([(case, "well")], "p9"))
    totals = world.totals()
    assert totals["", "right"] == totals["p1", "right"] == 0
    assert totals["", "outcomes"] == totals["p1", "judged"] == 1
    assert totals["p1", "promised"] == round(0.9 * MILLION)


def test_outcomes_are_kept_all_or_none():
    world = World()
    case = world.add(SURE)[0]["case"]
    refused(world.do(GiveOutcomes([(case, "ill"), ("c99", "ill")], "p9"))[0], 404)
    refused(world.do(GiveOutcomes([(case, "ill"), (case, "?")], "p9"))[0], 422)
    assert world.ledger.cases[case].outcome is None


def test_fees_decide_who_is_asked():
    world = World()
    policy = {"fees": {"p1": 30.0}, "error_cost": 100.0}
    assert world.do(ChangePolicy(policy, "p9"))[0]["version"] == 1
    assert world.add(UNSURE)[0]["ask"] == "bob"
    refused(world.do(ChangePolicy({"fees": {"p77": 1.0}}, "p9"))[0], 422)
    refused(world.do(ChangePolicy({"error_cost": -1.0}, "p9"))[0], 422)
    refused(world.do(ChangePolicy({"cost_matrix": {"ill": {"?": 1.0}}}, "p9"))[0], 422)


def test_unequal_costs_of_errors_are_used():
    world = World()
    world.do(ChangePolicy({"cost_matrix": {"ill": {"well": 100.0}, "well": {"ill": 1.0}}, "fees": {"p1": 50.0}}, "p9"))
    step = world.add([0.3, 0.5, 0.5, 0.5])[0]
    assert (step["status"], step["label"]) == ("settled", "ill")


def test_an_erased_case_keeps_its_figures_and_is_answered():
    world = World()
    case = world.add(UNSURE)[0]["case"]
    world.do(EraseCase(case, "p9"))
    state = world.ledger.cases[case]
    assert state.erased
    assert state.settled
    assert case not in world.desk.contents
    assert world.totals()["", "received"] == 1


def test_names_are_unique_and_ids_count_on():
    world = World()
    assert world.do(AddPerson("dot", "expert", "p9"))[0]["person"] == "p4"
    refused(world.do(AddPerson("ann", "expert", "p9"))[0], 409)
    refused(world.do(AddPerson("eve", "boss", "p9"))[0], 422)


def test_a_request_that_comes_again_in_the_same_round_does_nothing():
    world = World()
    first, again, other = (
        add_cases(world.team, [row], request="p9:k", digest=digest)
        for row, digest in ((UNSURE, "a"), (UNSURE, "a"), (SURE, "b"))
    )
    replies = world.do(first, again, other)
    assert replies[0] == replies[1]
    assert "another request" in refused(replies[2], 422)
    assert world.totals()["", "received"] == 1
    assert world.do(add_cases(world.team, [UNSURE], request="p9:k", digest="a"))[0] == replies[0]


@pytest.mark.parametrize("rows", [[{"a": 1}], [[1, 2], [1]], [["x"]]])
def test_features_that_the_model_cannot_take_are_refused(rows):
    with pytest.raises((Problem, ValueError)):
        World().team.matrix(rows)


def test_the_last_lead_cannot_leave():
    world = World()
    boss = world.do(AddPerson("boss", "lead", "system"))[0]["person"]
    for command in (ErasePerson(boss, boss), ChangePerson(boss, {"removed": True}, boss)):
        assert "last lead" in refused(world.do(command)[0], 409)
    assert not world.ledger.people[boss].removed
    other = world.do(AddPerson("chief", "lead", boss))[0]["person"]
    world.do(ErasePerson(boss, boss))
    assert world.ledger.people[boss].removed
    assert "add another lead first" in refused(world.do(ErasePerson(other, other))[0], 409)
    world.do(ChangePerson(boss, {"removed": True}, other))  # who has left already may be removed again
