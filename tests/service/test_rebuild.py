"""The views in their tables equal those that the log alone gives, after any sequence of requests."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_team import Clock, add_cases, small_team
from sqlalchemy import text

from defero.service.flow.cases import EraseCase, Expire, GiveAnswer, GiveOutcomes, Skip
from defero.service.flow.settings import AddPerson, ChangePerson, ChangePolicy, ErasePerson
from defero.service.office import Office
from defero.service.store.saved_views import fold_log, read_views, rebuild

CASE = st.integers(0, 5)
PERSON = st.sampled_from(["p1", "p2", "p3"])
LABEL = st.sampled_from(["ill", "well"])
ROW = st.tuples(*[st.floats(0.02, 0.98)] * 4)
STEP = st.one_of(
    st.tuples(st.just("add"), st.lists(ROW, min_size=1, max_size=4)),
    st.tuples(st.just("answer"), CASE, PERSON, LABEL),
    st.tuples(st.just("skip"), CASE, PERSON),
    st.tuples(st.just("outcome"), CASE, LABEL),
    st.tuples(st.just("wait"), st.floats(1, 200_000)),
    st.tuples(st.just("capacity"), PERSON, st.none() | st.integers(0, 3)),
    st.tuples(st.just("erase case"), CASE),
    st.tuples(st.just("erase person"), PERSON),
    st.tuples(st.just("join"), st.sampled_from(["eve", "fay"])),
    st.tuples(st.just("policy"), st.floats(0.5, 9)),
)


def command(office, cases, step):
    kind, *given = step
    case = cases[given[0] % len(cases)] if cases and kind in ("answer", "skip", "outcome", "erase case") else "c999"
    match kind:
        case "add":
            return add_cases(office.team, given[0])
        case "answer":
            return GiveAnswer(case, given[1], given[2], "p9")
        case "skip":
            return Skip(case, given[1], "p9", "note")
        case "outcome":
            return GiveOutcomes([(case, given[1])], "p9")
        case "capacity":
            return ChangePerson(given[0], {"capacity": given[1]}, "p9")
        case "erase case":
            return EraseCase(case, "p9")
        case "erase person":
            return ErasePerson(given[0], "p9")
        case "join":
            return AddPerson(given[0], "machine", "p9")
        case "policy":
            return ChangePolicy({"error_cost": given[0], "answer_within": 3600.0}, "p9")
    return Expire()


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.lists(STEP, min_size=1, max_size=4), min_size=1, max_size=12))
def test_views_equal_those_of_the_log(tmp_path_factory, steps):
    clock = Clock()
    office = Office.of_team(small_team(), str(tmp_path_factory.mktemp("log") / "cases.sqlite"), clock=clock)
    cases = []
    for together in steps:
        clock.now += sum(step[1] for step in together if step[0] == "wait")
        commands = [command(office, cases, step) for step in together]
        for reply in office.writer.do(commands):
            cases += [one["case"] for one in reply["cases"]] if isinstance(reply, dict) and "cases" in reply else []
    with office.database.read() as connection:
        saved, folded = read_views(connection).plain(), fold_log(connection).plain()
    assert saved == folded
    with office.database.write() as connection:
        rebuild(connection)
    with office.database.read() as connection:
        assert read_views(connection).plain() == saved
    office.close()


def test_a_view_that_was_changed_by_hand_is_seen_and_mended(office):
    office.writer.do([add_cases(office.team, [[0.5, 0.9, 0.8, 0.7]])])
    with office.database.write() as connection:
        connection.execute(text("UPDATE tallies SET amount = amount + 1"))
    with office.database.write() as connection:
        assert read_views(connection).plain() != fold_log(connection).plain()
        rebuild(connection)
        assert read_views(connection).plain() == fold_log(connection).plain()


@pytest.mark.parametrize("change", ["UPDATE events SET at = 0", "DELETE FROM events"])
def test_the_log_can_only_grow(office, change):
    with pytest.raises(Exception, match="append-only"), office.database.write() as connection:
        connection.execute(text(change))
