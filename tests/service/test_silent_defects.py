"""Defects and refusals on a real server: neither the logs nor the replies repeat the content of a case."""

import http.client
import json
import logging
import threading

import pytest
import uvicorn
from postgres import free_port
from small_team import small_team
from sqlalchemy.exc import IntegrityError

from defero.service.access import issue_token
from defero.service.flow.settings import AddPerson
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.web.app import make_site

SECRET = {"cases": [{"key": "patient-hidden", "features": [0.123454321, 0.9, 0.8, 0.7]}]}


@pytest.fixture
def served(tmp_path):
    """Yield a port and a token; the database refuses the content of every case."""
    office = Office.of_team(small_team(), str(tmp_path / "cases.sqlite"))
    office.start()
    lead = office.do(AddPerson("boss", "lead", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, lead, now=office.clock())
        refuse = "CREATE TRIGGER refuse BEFORE INSERT ON contents BEGIN SELECT RAISE(ABORT, 'no'); END"
        connection.exec_driver_sql(refuse)
    port, app = free_port(), Shell(make_site(office), most_bytes=10_000)
    server = uvicorn.Server(uvicorn.Config(app, port=port, access_log=False, log_config=None, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        pass
    yield port, token
    server.should_exit = True
    thread.join()


def post(port, token, content, **options):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/cases", content, headers, **options)
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply.status, body


def test_neither_a_defect_nor_a_refusal_tells_the_content(served, caplog):
    caplog.set_level(logging.DEBUG)
    port, token = served
    defect = post(port, token, json.dumps(SECRET))
    pieces = (json.dumps(SECRET).encode() for _ in range(1_000))
    too_large = post(port, token, pieces, encode_chunked=True)  # no header says how large it is
    assert (defect[0], too_large[0]) == (500, 413)
    assert "defect in /v1/cases: IntegrityError" in caplog.text
    for text in (caplog.text, defect[1], too_large[1]):
        assert "patient-hidden" not in text
        assert "0.123454321" not in text


def test_errors_of_the_database_hide_what_was_written(office):
    with pytest.raises(IntegrityError) as refused, office.database.write() as connection:
        connection.exec_driver_sql("INSERT INTO identities VALUES (?, ?)", ("p1", "hidden-name"))  # there is a p1
    assert "hidden-name" not in str(refused.value)
