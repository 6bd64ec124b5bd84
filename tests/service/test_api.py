"""The API as a client sees it: replies, errors in one shape, headers, limits, idempotency, erasure."""

import csv
import io
import logging

import pytest
from small_team import SURE, UNSURE, add_cases

from defero.service.access import CSRF_HEADER, PREFIX, SESSION_COOKIE, RateLimit, csrf_token, sign
from defero.service.flow.cases import EraseCase, Skip
from defero.service.flow.settings import ErasePerson
from defero.service.store.log import CASES, METADATA, NOTES


def problem(reply, status):
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert {"type", "title", "status", "detail"} <= set(body)
    assert body["status"] == status
    return body


def test_cases_come_back_with_their_steps_in_order(clients):
    sure, unsure = clients.add(SURE, UNSURE).json()["cases"]
    assert (sure["status"], sure["label"]) == ("settled", "ill")
    assert (unsure["status"], unsure["ask"], unsure["model"], unsure["policy"]) == ("open", "ann", "test", 0)


def test_the_same_key_gives_the_same_reply_and_no_new_case(clients):
    key = {"Idempotency-Key": "a-1"}
    first = clients.add(UNSURE, SURE, headers=key)
    clients.call("ann", "POST", "/v1/answers", json={"case": first.json()["cases"][0]["case"], "answer": "ill"})
    again = clients.add(UNSURE, SURE, headers=key)
    assert again.json() == first.json()
    problem(clients.add(SURE, headers=key), 422)
    assert clients.add(UNSURE, SURE, headers=key, who="boss").json() != first.json()  # keys are by caller
    assert "defero_received_total 4\n" in clients.call("boss", "GET", "/metrics").text


def test_an_expert_sees_their_question_and_not_what_others_think(clients):
    case = clients.add(UNSURE).json()["cases"][0]["case"]
    waiting = clients.call("ann", "GET", "/v1/questions").json()["questions"]
    assert [one["case"] for one in waiting] == [case]
    assert waiting[0]["features"] == UNSURE
    seen = clients.call("ann", "GET", f"/v1/cases/{case}").json()
    assert {"answers", "p_expert", "outcome"}.isdisjoint(seen)
    reply = clients.call("ann", "POST", "/v1/answers", json={"case": case, "answer": "ill"}).json()
    assert reply["counted"]
    assert reply["ask"] is None
    assert clients.call("ann", "GET", "/v1/questions").json()["questions"] == []


def test_decisions_come_in_the_order_of_settling_with_a_cursor(clients):
    cases = [one["case"] for one in clients.add(SURE, UNSURE, SURE).json()["cases"]]
    first = clients.call("robot", "GET", "/v1/decisions", params={"limit": 1}).json()
    rest = clients.call("robot", "GET", "/v1/decisions", params={"after": first["next"]}).json()
    assert [one["case"] for one in first["decisions"] + rest["decisions"]] == [cases[0], cases[2]]
    nothing = clients.call("robot", "GET", "/v1/decisions", params={"after": rest["next"]}).json()
    assert nothing == {"decisions": [], "next": rest["next"]}


def test_the_trail_of_a_case_has_everything(clients):
    case = clients.add(UNSURE).json()["cases"][0]["case"]
    clients.call("ann", "POST", "/v1/skips", json={"case": case, "note": "on leave"})
    trail = clients.call("boss", "GET", f"/v1/cases/{case}/trail").json()["entries"]
    assert [one["kind"] for one in trail] == ["received", "asked", "skipped", "rerouted"]
    assert trail[2]["note"] == "on leave"


def test_the_export_has_features_answers_and_outcomes(clients):
    sure, unsure = (one["case"] for one in clients.add(SURE, UNSURE).json()["cases"])
    clients.call("robot", "POST", "/v1/answers", json={"case": sure, "answer": "well", "person": "p2"})
    clients.call("robot", "POST", "/v1/outcomes", json={"outcomes": [{"case": sure, "label": "ill"}]})
    lines = list(csv.DictReader(io.StringIO(clients.call("boss", "GET", "/v1/export.csv").text)))
    assert [line["case"] for line in lines] == [sure, unsure]
    assert (lines[0]["bob"], lines[0]["ann"], lines[0]["outcome"]) == ("well", "", "ill")
    assert lines[1]["outcome"] == ""


def test_erasing_removes_content_and_names_and_keeps_figures(clients):
    body = {"cases": [{"key": "patient-7", "features": UNSURE}]}
    case = clients.call("robot", "POST", "/v1/cases", json=body).json()["cases"][0]["case"]
    clients.call("ann", "POST", "/v1/skips", json={"case": case, "note": "secret words"})
    before = clients.call("boss", "GET", "/v1/tallies").json()["tallies"]
    assert clients.call("boss", "DELETE", f"/v1/cases/{case}/content").json()["erased"]
    clients.call("boss", "DELETE", "/v1/people/p1")
    shown = clients.call("boss", "GET", f"/v1/cases/{case}").json()
    assert shown["erased"]
    assert shown["key"] is shown["features"] is None
    problem(clients.call("ann", "GET", "/v1/me"), 401)
    after = clients.call("boss", "GET", "/v1/tallies").json()["tallies"]
    assert [one for one in before if one not in after] == []
    with clients.office.database.read() as connection:
        tables = [connection.exec_driver_sql(f"SELECT * FROM {name}").all() for name in METADATA.tables]
    assert not [secret for secret in ("patient-7", "secret words", "'ann'") if secret in str(tables)]


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"content": b"{", "headers": {"content-type": "application/json"}}, 400),
        ({"json": {"cases": []}}, 422),
        ({"json": {"cases": [{"features": [1.0]}]}}, 422),
        ({"json": {"cases": [{"features": []}]}}, 422),
        ({"json": {"cases": [{"features": {"a": 1}}]}}, 422),
        ({"json": {"cases": [{"features": UNSURE, "more": 1}]}}, 422),
        ({"json": {"cases": [{"features": UNSURE, "key": "a\x00b"}]}}, 422),
        ({"content": b'{"cases":[{"features":[NaN,1,1,1]}]}', "headers": {"content-type": "application/json"}}, 400),
        ({"content": b'{"cases":[{"features":["\\ud800"]}]}', "headers": {"content-type": "application/json"}}, 400),
        ({"json": {"cases": [{"features": ["x"]}]}}, 422),
        ({"content": b"x" * 300_000, "headers": {"content-type": "application/json"}}, 413),
    ],
)
def test_a_wrong_request_is_a_problem_that_repeats_no_content(clients, sent, status):
    body = problem(clients.call("robot", "POST", "/v1/cases", **sent), status)
    assert "0.5" not in str(body)


def test_unknown_things_are_problems(clients):
    problem(clients.call("boss", "GET", "/v1/cases/c999"), 404)
    problem(clients.call("boss", "GET", "/nothing"), 404)
    problem(clients.call("boss", "PUT", "/v1/cases"), 405)
    problem(clients.call("boss", "PATCH", "/v1/people/p999", json={"available": True}), 404)
    problem(clients.call("ann", "PATCH", "/v1/people/p1", json={"capacity": 5}), 403)


def test_every_reply_has_strict_headers(clients):
    for reply in (clients.call(None, "GET", "/health"), clients.call(None, "GET", "/v1/me"), clients.add(SURE)):
        assert "frame-ancestors 'none'" in reply.headers["content-security-policy"]
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"


def test_too_many_requests_are_refused(clients):
    clients.office.rates = RateLimit({"expert": (1.0, 2.0), "lead": (9.0, 9.0)}, clock=lambda: 0.0)
    replies = [clients.call("ann", "GET", "/v1/me") for _ in range(3)]
    assert [one.status_code for one in replies] == [200, 200, 429]
    assert replies[2].headers["retry-after"] == "1"
    assert clients.call("boss", "GET", "/v1/me").status_code == 200


def test_a_cookie_session_must_carry_its_csrf_token_to_change_something(clients):
    office = clients.office
    session = sign(office.key, "session", clients.tokens["ann"].removeprefix(PREFIX), expires=office.clock() + 100)
    cookie = {"Cookie": f"{SESSION_COOKIE}={session}"}
    assert clients.call(None, "GET", "/v1/me", headers=cookie).json() == {"person": "p1", "role": "expert"}
    change = {"json": {"available": False}}
    problem(clients.call(None, "PATCH", "/v1/people/p1", headers=cookie, **change), 403)
    wrong = {**cookie, CSRF_HEADER: csrf_token(b"other", session)}
    problem(clients.call(None, "PATCH", "/v1/people/p1", headers=wrong, **change), 403)
    right = {**cookie, CSRF_HEADER: csrf_token(office.key, session)}
    assert clients.call(None, "PATCH", "/v1/people/p1", headers=right, **change).status_code == 200
    office.clock.now += 200
    problem(clients.call(None, "GET", "/v1/me", headers=cookie), 401)


def test_the_log_lines_have_the_route_and_no_content(clients, caplog):
    with caplog.at_level(logging.INFO, logger="defero.service"):
        case = clients.call("robot", "POST", "/v1/cases", json={"cases": [{"key": "patient-7", "features": UNSURE}]})
        clients.call("boss", "GET", f"/v1/cases/{case.json()['cases'][0]['case']}?name=patient-7")
        clients.call("robot", "POST", "/v1/cases", json={"cases": [{"key": "patient-7", "features": ["bad"]}]})
    lines = "\n".join(record.getMessage() for record in caplog.records)
    assert "POST /v1/cases 200" in lines
    assert "GET /v1/cases/{case} 422" in lines  # the query is unknown
    assert "patient-7" not in lines
    assert "0.5" not in lines.replace(" 0.5 ms", "")


def test_openapi_describes_errors_and_the_token(clients):
    schema = clients.call(None, "GET", "/openapi.json").json()
    assert schema["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    reply = schema["paths"]["/v1/cases"]["post"]["responses"]["422"]["content"]
    assert list(reply) == ["application/problem+json"]


def test_an_expert_does_not_learn_what_the_team_decided(clients):
    case = clients.add(UNSURE).json()["cases"][0]["case"]
    after_answer = clients.call("ann", "POST", "/v1/answers", json={"case": case, "answer": "ill"}).json()
    open_still = clients.call("ann", "GET", f"/v1/cases/{case}").json()
    for person in ("p2", "p3"):
        clients.call("robot", "POST", "/v1/answers", json={"case": case, "answer": "ill", "person": person})
    settled = clients.call("ann", "GET", f"/v1/cases/{case}").json()
    assert (settled["status"], settled["answer"]) == ("settled", "ill")
    for seen in (after_answer, open_still, settled):
        assert [seen[name] for name in ("ask", "person", "label", "p_right", "expected_cost")] == [None] * 5
        assert seen["reason"] == ""
    assert clients.call("robot", "GET", f"/v1/cases/{case}").json()["label"] == "ill"


def test_questions_come_a_limited_number_at_a_time(clients):
    clients.add(*[UNSURE] * 120)

    def count(**query):
        return len(clients.call("ann", "GET", "/v1/questions", params=query).json()["questions"])

    assert (count(), count(limit=1), count(limit=1_000)) == (100, 1, 120)
    problem(clients.call("ann", "GET", "/v1/questions", params={"limit": 1_001}), 422)


def test_counts_are_of_a_year_at_most(clients):
    clients.add(SURE)

    def count(**query):
        return clients.call("boss", "GET", "/v1/tallies", params=query)

    assert count().json()["tallies"] == count(first="2027-01-15", last="2027-01-15").json()["tallies"] != []
    assert count(last="2027-01-14").json()["tallies"] == []
    problem(count(first="2026-01-01", last="2027-01-15"), 422)
    problem(count(first="2026-02-30"), 422)


def test_a_note_goes_with_its_case_also_within_one_commit(office):
    case = office.writer.do([add_cases(office.team, [UNSURE])])[0]["cases"][0]["case"]
    office.writer.do([Skip(case, "p1", "p1", "about mrs jones"), EraseCase(case, "boss")])
    other = office.writer.do([add_cases(office.team, [UNSURE])])[0]["cases"][0]["case"]
    office.writer.do([EraseCase(other, "boss"), Skip(other, "p1", "p1", "about mrs jones")])
    with office.database.read() as connection:
        assert connection.execute(NOTES.select()).all() == []


def test_everybody_elses_questions_are_taken_back_from_who_left(office):
    office.writer.do([add_cases(office.team, [[0.5, 0.9, 0.8, 0.7]] * 1_200)])
    office.writer.start()
    office.do(ErasePerson("p1", "boss"))
    for _ in range(3):
        office.take_back_due()
    with office.database.read() as connection:
        assert connection.execute(CASES.select().where(CASES.c.asked == "p1")).all() == []


def test_the_last_lead_cannot_remove_themselves(clients):
    reply = clients.call("boss", "DELETE", f"/v1/people/{clients.ids['boss']}")
    assert reply.status_code == 409
    assert (
        reply.json()["detail"]
        == "This is the last lead, and nobody else could run the service; add another lead first."
    )
    assert clients.call("boss", "GET", "/v1/people").status_code == 200
