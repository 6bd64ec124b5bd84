"""docs/service.md: its table has every route, and its client code runs."""

import re
from pathlib import Path

from defero.service.access.roles import ALLOWED, OPEN

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text()


def test_the_table_has_every_route():
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = set()
    for row in rows:
        cell = row.split("|")[1]
        paths = re.findall(r"(/[\w/.{}]+)`", cell)
        methods = re.findall(r"\b(GET|POST|PUT|PATCH|DELETE)\b", cell)
        together = paths * len(methods) if len(paths) == 1 else paths
        named |= {f"{method} {path}" for method, path in zip(methods, together, strict=True)}
    assert named == set(ALLOWED) | OPEN - {"GET /openapi.json"}


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


def test_lines_of_the_page_are_short():
    assert all(len(line) <= 120 for line in PAGE.splitlines())
