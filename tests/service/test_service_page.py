"""docs/howto/service.md: its table has every route, and its client code runs."""

import json
import re
import time
from pathlib import Path

from small_team import UNSURE
from stub_server import stub_server
from studio_stub import TOKEN, StudioStub

from defero.service.access import ALLOWED, OPEN, WITH_SECRET

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "service.md").read_text()


def test_the_table_has_every_route():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = set()
    for row in rows:
        cell = row.split("|")[1]
        paths = re.findall(r"(/[\w/.{}-]+)`", cell)
        methods = re.findall(r"\b(GET|POST|PUT|PATCH|DELETE)\b", cell)
        together = paths * len(methods) if len(paths) == 1 else paths
        named |= {f"{method} {path}" for method, path in zip(methods, together, strict=True)}
    assert named == set(ALLOWED) | set(WITH_SECRET) | OPEN - {"GET /openapi.json"}


def test_the_client_code_runs(monkeypatch):
    calls = []
    code = re.search(r"```python\n(.*?)```", PAGE, re.S).group(1)
    step = {"case": "c1", "status": "open", "ask": "ann", "person": "p1", "reason": "ask ann"}

    def call(self, method, path, body=None, headers=None):
        calls.append((method, path))
        return {"cases": [step], "changed": 1, **step}

    monkeypatch.setattr("defero.client.Client.call", call)
    exec(code, {"token": "defero_t"})  # the page's own code
    assert [path for _, path in calls] == ["/v1/cases", "/v1/answers", "/v1/outcomes"]


def test_the_code_for_language_models_runs(clients, monkeypatch):
    monkeypatch.setenv("DEFERO_KEY_LLM", "sk-1")
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "set_language_model" in block)

    def call(self, method, path, body=None, headers=None):
        reply = clients.call("boss", method, path, **({} if body is None else {"json": body}))
        assert reply.status_code == 200, reply.text
        return reply.json()

    def reply(_):
        return 200, {}, json.dumps({"choices": [{"message": {"content": "well"}}]}).encode()

    monkeypatch.setattr("defero.client.Client.call", call)
    with stub_server(reply) as (url, requests):
        for page, test in (("http://127.0.0.1:11434", url), ("llama", "ann"), ("{age}", "{x0}"), ("{note}", "{x1}")):
            code = code.replace(page, test)
        exec(code, {"lead_token": "defero_t"})  # the page's own code
        case, end = clients.add(UNSURE).json()["cases"][0]["case"], time.monotonic() + 10
        while not clients.call("boss", "GET", f"/v1/cases/{case}").json()["answers"] and time.monotonic() < end:
            time.sleep(0.05)
    assert clients.call("boss", "GET", f"/v1/cases/{case}").json()["answers"] == {"ann": "well"}
    assert requests[0].headers["authorization"] == "Bearer sk-1"
    assert json.loads(requests[0].body)["messages"][0]["content"].startswith("A patient of 0.5 years says: 0.9\n")


def test_the_code_for_label_studio_runs(clients, monkeypatch):
    code = next(block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "set_label_studio" in block)

    def call(self, method, path, body=None, headers=None):
        reply = clients.call("boss", method, path, **({} if body is None else {"json": body}))
        assert reply.status_code == 200, reply.text
        return reply.json()

    monkeypatch.setattr("defero.client.Client.call", call)
    monkeypatch.setenv("DEFERO_KEY_LABEL_STUDIO", TOKEN)
    stub = StudioStub(["ann@clinic.example"])
    with stub_server(stub) as (url, _):
        exec(code.replace("http://127.0.0.1:8080", url), {"lead_token": "defero_t"})  # the page's own code
        clients.add(UNSURE)
        end = time.monotonic() + 20
        while not stub.tasks and time.monotonic() < end:
            time.sleep(0.05)
    assert [one["data"]["defero_expert"] for one in stub.tasks.values()] == ["ann"]


def test_lines_of_the_page_are_short():
    assert all(len(line) <= 120 for line in PAGE.splitlines())
