"""The database: on disk before the reply, groups in one commit, tables as the migrations make them."""

import threading

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from small_team import SURE, UNSURE, add_cases, small_team
from sqlalchemy import select, text

from defero.core.errors import InputError
from defero.service import Problem
from defero.service.flow.cases import GiveAnswer
from defero.service.office import Office
from defero.service.store.database import Database, durability, migrate
from defero.service.store.log import IDENTITIES, METADATA, TOKENS, read_log


def test_every_commit_reaches_the_disk(office):
    assert durability(office.database) == {"journal_mode": "wal", "synchronous": "FULL"}


def test_migrations_make_the_tables(office):
    with office.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    migrate(office.database)  # again: nothing to do


def test_an_older_database_is_brought_up_to_date(tmp_path):
    database = Database.connect(str(tmp_path / "old.sqlite"))
    migrate(database, "0001")
    with database.read() as connection:
        assert not connection.dialect.has_table(connection, "addresses")
    office = Office.of_team(small_team(), str(tmp_path / "old.sqlite"))
    with office.database.read() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
    office.close()
    database.close()


def test_the_log_is_numbered_without_gaps(office):
    office.writer.do([add_cases(office.team, [UNSURE, SURE]), add_cases(office.team, [SURE])])
    with office.database.read() as connection:
        assert [entry.seq for entry in read_log(connection)] == list(range(1, 5 + 3 + 3))


def test_requests_that_wait_share_a_commit(office):
    gate, began = threading.Event(), threading.Event()

    class Slow:
        cases = ()

        def begin(self, work):
            began.set()
            gate.wait(10)

        def reply(self, work):
            return "slow"

    office.writer.start()
    first = office.writer.submit(Slow())
    began.wait(10)
    others = [office.writer.submit(add_cases(office.team, [SURE])) for _ in range(20)]
    gate.set()
    assert first.result(10) == "slow"
    ids = [other.result(10)["cases"][0]["case"] for other in others]
    assert len(set(ids)) == 20
    assert office.writer.commits == 2


def test_a_defect_of_one_request_leaves_the_others_alone(office):
    class Broken:
        cases = ()

        def begin(self, work):
            raise ZeroDivisionError

    office.writer.start()
    futures = [office.writer.submit(one) for one in (add_cases(office.team, [SURE]), Broken())]
    futures.append(office.writer.submit(add_cases(office.team, [UNSURE])))
    assert futures[0].result(10)["cases"][0]["label"] == "ill"
    assert futures[2].result(10)["cases"][0]["ask"] == "ann"
    with pytest.raises(ZeroDivisionError):
        futures[1].result(10)
    assert sum(entry.fact.kind == "received" for entry in _log(office)) == 2


def test_a_refused_request_leaves_nothing_behind(office):
    results = office.writer.do([GiveAnswer("c9", "p1", "ill", "p1"), add_cases(office.team, [SURE])])
    assert isinstance(results[0], Problem)
    assert [entry.fact.kind for entry in _log(office)][-2:] == ["received", "settled"]


def test_a_second_start_knows_the_same_people(office, tmp_path):
    with office.database.read() as connection:
        before = dict(connection.execute(select(IDENTITIES.c.person, IDENTITIES.c.name)).all())
    again = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"))
    assert again.team.people == office.team.people == ("p1", "p2", "p3")
    assert before == {"p1": "ann", "p2": "bob", "p3": "cem"}
    again.close()


def test_tokens_are_stored_as_hashes(office):
    office.start()
    token = office.lead_token(days=1)
    with office.database.read() as connection:
        rows = connection.execute(select(TOKENS)).mappings().all()
    assert token not in str(rows)
    assert len(rows[0]["hash"]) == 64
    caller = office.tokens.caller(token)
    assert caller is not None
    assert caller.role == "lead"
    office.clock.now += 2 * 86_400
    assert office.tokens.caller(token) is None


def test_questions_that_are_due_go_to_somebody_else_by_themselves(office, monkeypatch, caplog):
    monkeypatch.setattr("defero.service.office._TICK", 0.01)
    case = office.writer.do([add_cases(office.team, [UNSURE])])[0]["cases"][0]["case"]
    took, failed = threading.Event(), threading.Event()
    take_back = office.take_back_due

    def sometimes():
        if not failed.is_set():
            failed.set()
            raise OSError("the database is away")
        if take_back():
            took.set()

    monkeypatch.setattr(office, "take_back_due", sometimes)
    office.clock.now += 90_000
    office.start()
    assert took.wait(20)
    assert "OSError" in caplog.text
    kinds = [entry.fact.kind for entry in _log(office) if entry.case == case]
    assert kinds == ["received", "asked", "timed_out", "rerouted"]


@pytest.mark.parametrize("where", ["mysql://a/b", "sqlite://", "nonsense://"])
def test_other_databases_are_refused(where):
    with pytest.raises(InputError, match="database"):
        Database.connect(where)


def _log(office):
    with office.database.read() as connection:
        connection.execute(text("SELECT 1"))
        return list(read_log(connection))
