"""The writer goes on from the views of its last commit, unless somebody else wrote, a day began, or a commit failed."""

import pytest
from small_team import UNSURE, add_cases, small_team
from sqlalchemy import event

from defero.service.flow.settings import AddPerson, ChangePerson, ChangePolicy
from defero.service.office import Office


def asked(office, n_cases=1):
    reply = office.writer.do([add_cases(office.team, [UNSURE] * n_cases)])[0]
    return [case["ask"] for case in reply["cases"]]


def test_what_another_process_wrote_counts_from_the_next_commit_on(office, tmp_path):
    assert asked(office) == ["ann"]
    other = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), clock=office.clock)
    other.writer.do([ChangePerson("p1", {"available": False}, "system")])
    assert asked(office) == ["bob"]
    other.writer.do([ChangePolicy({"error_cost": 0.001, "fees": {"p1": 1.0, "p2": 1.0, "p3": 1.0}}, "system")])
    assert asked(office) == [None]
    other.writer.do([AddPerson("eve", "machine", "system")])
    with pytest.raises(Exception, match="somebody of this name"):
        raise office.writer.do([AddPerson("eve", "machine", "system")])[0]
    other.close()


def test_questions_that_another_process_asked_use_up_the_capacity(office, tmp_path):
    office.writer.do([ChangePerson("p1", {"capacity": 3}, "system")])
    other = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"), clock=office.clock)
    assert asked(office) + asked(other) + asked(office) + asked(other) == ["ann", "ann", "ann", "bob"]
    other.close()


def test_a_new_day_has_new_questions(office):
    office.writer.do([ChangePerson("p1", {"capacity": 1}, "system")])
    assert asked(office, 2) == ["ann", "bob"]
    office.clock.now += 86_400
    assert asked(office, 2) == ["ann", "bob"]


def test_a_commit_that_failed_leaves_nothing_behind(office):
    asked(office)

    class ChangesAndBreaks:
        cases = ()

        def begin(self, work):
            AddPerson("eve", "expert", "system").begin(work)
            ChangePerson("p1", {"available": False}, "system").begin(work)

        def reply(self, work):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        office.writer.do([ChangesAndBreaks()])
    assert asked(office) == ["ann"]
    assert office.writer.do([AddPerson("eve", "machine", "system")])[0]["name"] == "eve"


def test_a_commit_reads_nothing_that_it_knows(office):
    asked(office)
    read = []
    event.listen(office.database.writer, "before_cursor_execute", lambda *given: read.append(given[2]))
    asked(office)
    assert [text for text in read if text.startswith("SELECT")] == ["SELECT max(seq) FROM events"]
