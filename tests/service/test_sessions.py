"""Links, sessions and remembered tokens: nothing that the database holds opens them."""

import stat

import pytest
from browsing import Person
from small_team import small_team
from sqlalchemy import select
from starlette.testclient import TestClient

from defero.service.access import (
    REMEMBERED_SECONDS,
    SESSION_COOKIE,
    forget_tokens,
    issue_link,
    issue_session,
    issue_token,
    opened,
    revoke_tokens,
    sign,
    token_of,
    valid_tokens,
)
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.log import METADATA, TOKENS
from defero.service.web.app import make_site


@pytest.fixture
def http(office):
    with TestClient(Shell(make_site(office)), follow_redirects=False) as http:
        yield http


def test_whoever_reads_the_database_cannot_sign_in(http, office):
    with office.database.write() as connection:
        link = issue_link(connection, office.key, "p1", now=office.clock())
        rows = [row for name in METADATA.tables for row in connection.exec_driver_sql(f"SELECT * FROM {name}")]
        tokens = connection.execute(select(TOKENS)).all()
    for known in (*(str(cell) for row in rows for cell in row), tokens[0].token_id, tokens[0].hash):
        for purpose, path in (("link", "/in/{}"), ("session", "/v1/me")):
            forged = sign(office.key, purpose, known, expires=office.clock() + 1_000)
            cookie = {"Cookie": f"{SESSION_COOKIE}={forged}"} if purpose == "session" and forged.isascii() else {}
            if forged.isprintable() and "/" not in forged and forged.isascii() and " " not in forged:
                assert http.get(path.format(forged), headers=cookie).status_code == 401, (purpose, known)
    assert http.get(link).status_code == 200


def test_a_new_database_is_for_its_owner_alone(office, tmp_path):
    for file in tmp_path.glob("cases.sqlite*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


class Vanishing(dict):
    """What is remembered, forgotten by another thread between two looks."""

    def __getitem__(self, key):
        raise KeyError(key)


def test_a_token_that_is_forgotten_between_two_looks_is_looked_up(office):
    with office.database.write() as connection:
        token = issue_token(connection, "p1", now=office.clock())
    assert office.tokens.caller(token).person == "p1"
    office.tokens._seen = Vanishing(office.tokens._seen)
    assert office.tokens.caller(token).person == "p1"


def test_a_clock_that_is_put_back_does_not_keep_a_revoked_token(office, clock):
    with office.database.write() as connection:
        token = issue_token(connection, "p1", now=clock())
    assert office.tokens.caller(token).person == "p1"
    with office.database.write() as connection:  # another process
        revoke_tokens(connection, "p1", now=clock())
    clock.now -= 3_600
    assert office.tokens.caller(token) is None
    clock.now += REMEMBERED_SECONDS


def test_tokens_that_ended_long_ago_are_removed(office, clock):
    with office.database.write() as connection:
        for days in (1, 100):
            issue_token(connection, "p1", now=clock(), days=days)
        assert forget_tokens(connection, now=clock() + 20 * 86_400) == 0
        assert forget_tokens(connection, now=clock() + 40 * 86_400) == 1


def test_an_existing_database_keeps_its_mode(tmp_path):
    file = tmp_path / "shared.sqlite"
    file.touch(mode=0o640)
    file.chmod(0o640)
    Office.of_team(small_team(), str(file)).close()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_signing_out_ends_the_session_and_no_other(office, http):
    app = make_site(office)
    here, there = Person(app, office, "p1"), Person(app, office, "p1")
    old = here.cookie()
    assert here.send("/out", on="/inbox").status_code == 200
    assert http.get("/inbox", headers={"Cookie": f"{SESSION_COOKIE}={old}"}).status_code == 401
    there.page("/inbox")
    assert TestClient(app, follow_redirects=False).get(here.entered.request.url.path).status_code == 200  # the link


def test_a_session_ends_with_its_link_and_is_no_token_of_the_person(office, clock):
    with office.database.write() as connection:
        link = issue_link(connection, office.key, "p1", now=clock(), days=1).removeprefix("/in/")
        session = issue_session(connection, office.key, opened(office.key, "link", link, now=1.0), now=clock())
    assert token_of(office.key, session, now=clock() + 86_000) is not None
    assert token_of(office.key, session, now=clock() + 86_500) is None
    with office.database.write() as connection:
        assert len(valid_tokens(connection, now=clock())["p1"]) == 1
        assert revoke_tokens(connection, "p1", now=clock()) == 2
        assert issue_session(connection, office.key, opened(office.key, "link", link, now=1.0), now=clock()) is None
