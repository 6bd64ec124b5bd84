"""Make every request of the API once: the examples of its description. `python example_run.py` writes them anew."""

import json
import tempfile
from pathlib import Path

from small_team import SURE, UNSURE, Clock, SmallShelf, small_team
from starlette.testclient import TestClient

from defero.service.access import RateLimit, issue_token
from defero.service.flow.settings import AddPerson
from defero.service.office import Office
from defero.service.web import app

FILE = Path(app.__file__).with_name("examples.json")
FREE = dict.fromkeys(("lead", "expert", "machine", "nobody"), (1000000.0, 1000000.0))
SECRETS = ("token", "secret")
NOTHING_THERE = "http://127.0.0.1:9"


class Run:
    """A service on which every route is called, and what was sent and replied."""

    def __init__(self, office, http, token):
        self.office, self.http, self.token, self.made = office, http, token, {}

    def call(self, route, body=None, *, params=None, headers=None, **path):
        method, pattern = route.split(" ")
        headers = {"Authorization": f"Bearer {self.token}", **(headers or {})}
        reply = self.http.request(method, pattern.format(**path), json=body, params=params, headers=headers)
        assert reply.status_code < 300, (route, reply.text)
        is_json = reply.headers["content-type"].startswith("application/json")
        made = reply.json() if is_json else reply.text
        self.made[route] = {"reply": short(made)} | ({} if body is None else {"body": body})
        return made


def run_all():
    """Return what was sent and replied, by route."""
    folder = Path(tempfile.mkdtemp())
    office = Office.of_team(
        small_team(), str(folder / "cases.sqlite"), clock=Clock(), rates=RateLimit(FREE), shelf=SmallShelf()
    )
    office.writer.start()
    lead = office.do(AddPerson("boss", "lead", "system"))["person"]
    with office.database.write() as connection:
        token = issue_token(connection, lead, now=office.clock())
    http = TestClient(app.make_app(office), raise_server_exceptions=False)
    run = Run(office, http, token)
    _cases(run)
    _people_and_policies(run)
    _models_and_drift(run)
    _others(run)
    office.close()
    return dict(sorted(run.made.items()))


def _cases(run):
    cases = [{"key": "patient-7", "features": UNSURE}, {"key": None, "features": SURE}]
    first = run.call("POST /v1/cases", {"cases": cases[:1]})["cases"][0]["case"]
    run.call("GET /v1/cases/{case}", case=first)
    run.call("GET /v1/questions", params={"person": "p1"})
    run.call("POST /v1/answers", {"case": first, "answer": "ill", "person": "p1"})
    again = run.http.post("/v1/cases", json={"cases": cases}, headers={"Authorization": f"Bearer {run.token}"}).json()[
        "cases"
    ]
    run.call("POST /v1/skips", {"case": again[0]["case"], "person": "p1", "note": "not my field"})
    run.call("POST /v1/outcomes", {"outcomes": [{"case": again[1]["case"], "label": "ill"}]})
    run.call("GET /v1/cases/{case}/trail", case=again[0]["case"])
    run.call("GET /v1/decisions")
    run.call("GET /v1/export.csv")
    run.call("GET /v1/tallies")
    run.call("DELETE /v1/cases/{case}/content", case=again[1]["case"])


def _people_and_policies(run):
    run.call("GET /v1/me")
    run.call("POST /v1/people", {"name": "dot", "role": "expert", "capacity": 40})
    run.call("PATCH /v1/people/{person}", {"available": False}, person="p1")
    run.call("GET /v1/people")
    run.call("POST /v1/people/{person}/tokens", person="p5")
    run.call("DELETE /v1/people/{person}/tokens", person="p5")
    run.call("DELETE /v1/people/{person}", person="p5")
    rules = [{"do": "ask", "label": "ill"}, {"do": "never_ask", "person": "p3", "column": "x0", "equals": 1}]
    policy = {
        "fees": {"p2": 2.5},
        "error_cost": 40,
        "cost_matrix": {"ill": {"well": 100}},
        "capacity": {"p2": 30},
        "rules": rules,
    }
    run.call("POST /v1/policies/preview", policy)
    run.call("PUT /v1/policy", policy)
    run.call("GET /v1/policy")
    run.call("GET /v1/policies")
    run.call("POST /v1/policies/{version}/restore", version=0)


def _models_and_drift(run):
    headers = {"Authorization": f"Bearer {run.token}"}
    for _ in range(12):
        case = run.http.post("/v1/cases", json={"cases": [{"features": SURE}]}, headers=headers).json()["cases"][0]
        run.http.post("/v1/outcomes", json={"outcomes": [{"case": case["case"], "label": "well"}]}, headers=headers)
    run.call("GET /v1/drift")
    run.call("POST /v1/drift/{who}", {"action": "correct"}, who="model")
    run.call("POST /v1/models", {"folder": "november"})
    run.call("GET /v1/models/comparison")
    run.call("POST /v1/models/{version}/switch", version="next")
    run.call("GET /v1/models")


def _others(run):
    hook = run.call("POST /v1/webhooks", {"url": f"{NOTHING_THERE}/defero", "kinds": ["settled", "drift_raised"]})
    run.call("GET /v1/webhooks")
    run.call("DELETE /v1/webhooks/{hook}", hook=hook["hook"])
    model = {
        "url": f"{NOTHING_THERE}/v1",
        "model": "llama-3.3-70b",
        "prompt": "It says: {x0}",
        "per_call": 0.002,
    }
    run.call("PUT /v1/language-models/{person}", {**model, "key_variable": "DEFERO_KEY_LLM"}, person="p2")
    run.call("GET /v1/language-models")
    run.call("DELETE /v1/language-models/{person}", person="p2")
    studio = {"url": NOTHING_THERE, "people": {"p1": "ann@clinic.example"}}
    secret = run.call("PUT /v1/label-studio", studio)["secret"]
    run.call("GET /v1/label-studio")
    told = {"action": "ANNOTATION_CREATED", "task": {"id": 7}}
    run.call("POST /v1/label-studio/annotations", told, headers={"Defero-Secret": secret})
    run.call("DELETE /v1/label-studio")
    run.call("GET /health")
    run.call("GET /metrics")


def short(value, name=""):
    """Return a reply with at most two things in a list, few digits, and no secret."""
    if isinstance(value, dict):
        return {key: short(one, key) for key, one in value.items()}
    if isinstance(value, list):
        return [short(one) for one in value[:2]]
    if name in SECRETS:
        return f"{'defero_' if name == 'token' else ''}..."
    return round(value, 4) if isinstance(value, float) and name not in ("at", "due", "expires") else value


if __name__ == "__main__":
    FILE.write_text(json.dumps(run_all(), indent=1) + "\n")
