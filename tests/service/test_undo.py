"""Answers taken back: for a minute, unless somebody relied on them; figures are as if they had not been given."""

import pytest
from small_team import UNSURE, World

from defero.service import Problem
from defero.service.flow.cases import GiveAnswer, GiveOutcomes, Undo
from defero.service.views import Ledger

VERY_UNSURE = [0.5, 0.75, 0.75, 0.75]
"""Worth more than one question."""


def answered(row=UNSURE):
    world = World()
    case = world.add(row)[0]["case"]
    person = world.ledger.cases[case].asked
    world.do(GiveAnswer(case, person, "well", person))
    return world, case, person


def test_an_answer_that_settled_a_case_is_taken_back():
    world, case, person = answered()
    before = World()
    before.add(UNSURE)
    assert world.ledger.cases[case].settled
    world.ledger.now += 30
    world.do(Undo(case, person, person))
    state = world.ledger.cases[case]
    assert (state.asked, state.answers, state.settled) == (person, (), False)
    assert state.asked_at == before.ledger.cases[case].asked_at
    assert {name: n for name, n in world.totals().items() if n} == {n: v for n, v in before.totals().items() if v}
    reply = world.do(GiveAnswer(case, person, "ill", person))[0]
    assert (reply["counted"], reply["label"]) == (True, "ill")


def test_after_a_minute_it_is_too_late():
    world, case, person = answered()
    world.ledger.now += 61
    result = world.do(Undo(case, person, person))[0]
    assert isinstance(result, Problem)
    assert (result.status, "60 seconds" in result.detail) == (409, True)


def test_whoever_is_asked_next_loses_the_question_again():
    world, case, person = answered(VERY_UNSURE)
    second = world.ledger.cases[case].asked
    assert second not in (None, person)
    world.do(Undo(case, person, person))
    assert world.ledger.cases[case].asked == person
    world.do(GiveAnswer(case, person, "ill", person))
    assert world.ledger.cases[case].asked != second  # nobody gets the same case twice


@pytest.mark.parametrize("then", ["answer", "outcome"])
def test_what_others_relied_on_stays(then):
    world, case, person = answered(VERY_UNSURE)
    second = world.ledger.cases[case].asked
    world.do(GiveAnswer(case, second, "ill", second) if then == "answer" else GiveOutcomes([(case, "ill")], "p1"))
    assert world.do(Undo(case, person, person))[0].status == 409


def test_an_answer_that_did_not_count_is_taken_back_and_the_case_stays_settled():
    world, case, person = answered()
    late = next(one for one in world.team.people if one != person)
    world.do(GiveAnswer(case, late, "ill", "robot"))
    world.do(Undo(case, late, "robot"))
    state = world.ledger.cases[case]
    assert (state.settled, state.uncounted, dict(state.answers)) == (True, (), {person: "well"})
    assert world.totals()[late, "uncounted"] == 0


def test_nothing_to_take_back():
    world = World()
    step = world.add(UNSURE)[0]
    case, asked = step["case"], step["person"]
    assert world.do(Undo(case, asked, asked))[0].status == 409
    assert world.do(Undo(case, "p2", "p2"))[0].status == 404, "p2 was not asked: there is no such case"
    assert world.do(Undo("c99", "p1", "p1"))[0].status == 404


def test_the_views_are_the_same_when_rebuilt():
    world, case, person = answered(VERY_UNSURE)
    world.do(Undo(case, person, person))
    rebuilt = Ledger()
    for entry in world.ledger.entries:
        rebuilt.apply(entry)
    assert rebuilt.plain() == world.ledger.plain()
