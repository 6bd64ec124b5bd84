"""Record an office at work: its database, its log and its views, which every later version must open and go on with.

Commit 687db29 made what stands in `frozen`: `python tests/service/record_office.py OUT`. A later record would not show
that old databases go on, so it belongs beside this one and does not replace it.
"""

import gzip
import json
import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from browsing import Person
from small_team import Clock
from starlette.testclient import TestClient

from defero import Study, read_cases
from defero.service.access import RateLimit
from defero.service.events import KINDS, HookFailed, HookSent, StudioFailed, StudioReached, StudioReady
from defero.service.flow.connections import BeginCall, CallResult, EndCall, FailCall, RecordEvent
from defero.service.flow.team import Shelf, load_team
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.database import Database
from defero.service.store.log import read_log
from defero.service.store.saved_views import fold_log, read_views
from defero.service.web.app import make_site

EXPERTS = ["dr_a", "dr_b", "dr_c", "dr_d"]
FREE = dict.fromkeys(("lead", "expert", "machine", "nobody"), (1000000.0, 1000000.0))
BEGIN = 1_790_000_000.0
COLUMNS = ["age", "size", "site"]


def patients(n, *, seed):
    """Return cases with a blank cell here and there, and four readers, each good at one site."""
    rng = np.random.default_rng(seed)
    age, size = rng.normal(55, 15, n).round(1), rng.gamma(2, 4, n).round(2)
    site = rng.choice(["arm", "leg", "trunk", "face"], n)
    sick = rng.random(n) < 1 / (1 + np.exp(-0.06 * (age - 55) - 0.3 * (size - 8)))
    frame = pd.DataFrame({"age": age, "size": pd.Series(size).mask(rng.random(n) < 0.05), "site": site})
    for name, strong in zip(EXPERTS, ["arm", "leg", "trunk", "face"], strict=True):
        right = rng.random(n) < np.where(site == strong, 0.97, 0.72)
        frame[name] = pd.Series(np.where(sick == right, "sick", "well"), dtype=object).mask(rng.random(n) < 0.3)
    return frame.assign(truth=np.where(sick, "sick", "well"))


def fit(table, folder, *, seed=0):
    """Fit a small team, as somebody does who begins or upgrades."""
    study = Study(read_cases(table, label="truth", expert_names=EXPERTS), random_state=seed)
    study.fit(net="linear")
    study.save(folder)


class Work:
    """Requests to an office by its lead, its experts and its programs."""

    def __init__(self, office):
        self.office, self.http = office, TestClient(Shell(make_site(office)))
        self.tokens = {"lead": office.lead_token(days=36_500)}
        self.rows = iter(patients(1000, seed=9)[COLUMNS].astype(object).to_dict("records"))

    def send(self, method, path, body=None, *, who="lead", **headers):
        headers |= {"authorization": f"Bearer {self.tokens[who]}"}
        reply = self.http.request(method, path, json=body, headers=headers)
        assert reply.status_code < 300, (path, reply.status_code, reply.text)
        return reply.json()

    def add(self, n, *, keys=None, **headers):
        rows = [{name: None if pd.isna(cell) else cell for name, cell in next(self.rows).items()} for _ in range(n)]
        keyed = zip(rows, keys or [None] * n, strict=True)
        cases = [{"features": {**row, "ward": 3}, "key": key} for row, key in keyed]
        return self.send("POST", "/v1/cases", {"cases": cases}, who="robot", **headers)["cases"]

    def answer(self, step, label="sick"):
        body = {"case": step["case"], "answer": label, "person": step["person"]}
        return self.send("POST", "/v1/answers", body, who="robot")

    def skip(self, step, note=""):
        body = {"case": step["case"], "person": step["person"], "note": note}
        return self.send("POST", "/v1/skips", body, who="robot")

    def outcomes(self, labels):
        body = {"outcomes": [{"case": case, "label": label} for case, label in labels.items()]}
        return self.send("POST", "/v1/outcomes", body, who="robot")


def wait(office, seconds):
    """Let time pass, and take back what is due."""
    office.clock.now += seconds
    office.take_back_due()


def live(work):
    """Bring an office to a state with everything that can happen in its log."""
    office = work.office
    for name, role in (("robot", "machine"), ("boss", "lead"), ("eve", "expert")):
        person = work.send("POST", "/v1/people", {"name": name, "role": role})["person"]
        work.tokens[name] = work.send("POST", f"/v1/people/{person}/tokens?days=365")["token"]
    work.tokens["dr_a"] = work.send("POST", "/v1/people/p1/tokens?days=365")["token"]
    terms = {"fees": {"p1": 0.02, "p2": 0.03, "p3": 0.01, "p4": 0.02}, "answer_within": 3600.0, "explore": 0.2}
    work.send("PUT", "/v1/policy", terms)
    first_cases(work)
    people_and_terms(work, terms)
    models(work)
    promises(work, terms)
    connections(work)
    for step in work.add(12):  # open ones at the end: fresh, heard, given back
        office.clock.now += 7
        if step["person"] and int(step["case"][1:]) % 3 == 0:
            work.answer(step)
        elif step["person"] and int(step["case"][1:]) % 3 == 1:
            work.skip(step)


def first_cases(work):
    """Answers, notes, questions given back, taken back, late; outcomes, one of them corrected."""
    office = work.office
    steps = work.add(24, keys=[f"patient-{i}" for i in range(24)], **{"idempotency-key": "morning"})
    asked = [step for step in steps if step["person"]]
    for step in asked[:6]:
        office.clock.now += 40
        work.answer(step)
    work.skip(asked[6], "blurred")
    mine = next(step for step in asked[7:] if step["person"] == "p1")
    work.send("POST", "/v1/answers", {"case": mine["case"], "answer": "sick"}, who="dr_a")
    assert Person(work.http.app, office, "p1").send("/inbox/undo", on="/inbox", case=mine["case"]).status_code < 400
    wait(office, 4000)
    settled = [step["case"] for step in steps if step["status"] == "settled"]
    work.outcomes(dict.fromkeys(settled[:4], "sick") | {asked[0]["case"]: "well"})
    work.outcomes({settled[0]: "well"})
    late = {"case": settled[1], "answer": "well", "person": "p2"}
    work.send("POST", "/v1/answers", late, who="robot")  # after it was settled: it does not count
    work.send("DELETE", f"/v1/cases/{settled[2]}/content")
    work.send("DELETE", f"/v1/cases/{asked[8]['case']}/content")


def people_and_terms(work, terms):
    """Somebody is away, has a limit, is erased; rules, costs by class, and a day on which nobody is asked."""
    people = {one["name"]: one["person"] for one in work.send("GET", "/v1/people")["people"]}
    work.send("PATCH", f"/v1/people/{people['dr_b']}", {"available": False})
    work.send("PATCH", f"/v1/people/{people['dr_c']}", {"capacity": 6})
    work.send("DELETE", f"/v1/people/{people['eve']}")
    rules = [{"do": "never_ask", "person": "p1", "column": "site", "equals": "leg"}, {"do": "ask", "label": "sick"}]
    matrix = {"sick": {"sick": 0, "well": 3}, "well": {"sick": 1, "well": 0}}
    work.send("PUT", "/v1/policy", {**terms, "rules": rules, "cost_matrix": matrix, "asking": "panel", "panel_size": 2})
    for step in [step for step in work.add(8) if step["person"]][:3]:
        work.answer(step)
    work.send("PUT", "/v1/policy", {"mode": "shadow", "shadow_answer": "none"})
    work.add(4)
    work.send("POST", "/v1/policies/1/restore")


def models(work):
    """A second model beside the first, switched to; the first one stays beside it."""
    second = work.send("POST", "/v1/models", {"folder": "second"})["version"]
    work.add(6)
    work.send("POST", f"/v1/models/{second}/switch")
    work.send("POST", "/v1/models", {"folder": "first"})
    work.add(4)


def promises(work, terms):
    """The model breaks its promise and is corrected; a person breaks theirs, and nobody has acted yet."""
    work.send("PUT", "/v1/policy", {**terms, "fees": dict.fromkeys(("p1", "p2", "p3", "p4"), 50), "explore": 0})
    for _ in range(12):
        steps = [step for step in work.add(5) if step["status"] == "settled"]
        work.outcomes({step["case"]: "well" if step["label"] == "sick" else "sick" for step in steps})
    work.send("POST", "/v1/drift/model", {"action": "correct"})
    work.send("PUT", "/v1/policy", {**terms, "asking": "one", "error_cost": 50, "explore": 0})
    for _ in range(10):
        for step in work.add(4):
            if step["person"]:
                label = max(step["p_class"], key=step["p_class"].get)
                work.answer(step, label)
                work.outcomes({step["case"]: "well" if label == "sick" else "sick"})
    work.send("PUT", "/v1/policy", terms)
    work.office.clock.now += 90_000  # the next day


def connections(work):
    """A webhook that failed and one that ended, a language model that was called, a project of Label Studio."""
    office, now = work.office, work.office.clock
    hook = work.send("POST", "/v1/webhooks", {"url": "https://hooks.example/a", "kinds": ["settled", "asked"]})["hook"]
    other = work.send("POST", "/v1/webhooks", {"url": "https://hooks.example/b", "kinds": ["outcome"]})["hook"]
    work.send("DELETE", f"/v1/webhooks/{other}")
    office.do(RecordEvent(HookSent(hook=hook, upto=200)))
    office.do(RecordEvent(HookFailed(hook=hook, status=500, retry_at=now() + 4)))
    model = {"url": "https://models.example/v1", "model": "llama", "per_call": 0.01, "most_per_day": 2, "within": 300}
    work.send("PUT", "/v1/language-models/p4", model)
    calls = [step["case"] for _ in range(6) for step in work.add(5) if step["person"] == "p4"]
    assert len(calls) > 1, calls
    office.do(BeginCall(calls[0], "p4"))
    office.do(FailCall(calls[0], "p4", 1, 429, now() + 5, "busy"))
    now.now += 10
    office.do(BeginCall(calls[0], "p4"))
    office.do(EndCall(calls[0], "p4", 2, CallResult("sick", seconds=1.5, price=0.01, tokens_in=80, tokens_out=2)))
    now.now += 10
    office.do(BeginCall(calls[1], "p4"))  # under way
    studio = {"url": "https://studio.example", "people": {"p3": "cem@clinic.example"}, "key_variable": "DEFERO_KEY_S"}
    link = work.send("PUT", "/v1/label-studio", studio)["link"]
    office.do(RecordEvent(StudioReady(link=link, project=7, webhook=True)))
    office.do(RecordEvent(StudioFailed(link=link, status=502, retry_at=now() + 3)))
    office.do(RecordEvent(StudioReached(link=link)))


def plain(ledger):
    """Return views as JSON holds them."""
    return json.loads(json.dumps(ledger.plain(), default=vars))


def line_of(entry):
    """Return an entry of the log as a line of the export."""
    return json.dumps([entry.seq, entry.at, entry.case, entry.fact.kind, json.loads(entry.body())])


def main(out):
    """Fit two models, let an office live, and write what is kept of it."""
    out.mkdir(parents=True, exist_ok=True)
    patients(240, seed=1).to_csv(out / "past.csv", index=False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, model in enumerate(("first", "second")):
            fit(out / "past.csv", folder / model, seed=number)
        database = folder / "cases.sqlite"
        team, shelf = load_team(folder / "first"), Shelf(folder)
        office = Office.of_team(team, str(database), clock=Clock(BEGIN), rates=RateLimit(FREE), shelf=shelf)
        office.writer.start()
        work = Work(office)
        live(work)
        now = office.clock()
        office.close()
        where = Database.connect(str(database))
        with where.read() as connection:
            entries = list(read_log(connection))
            views = plain(read_views(connection))
            assert plain(fold_log(connection)) == views
        where.close()
        assert {entry.fact.kind for entry in entries} == set(KINDS)
        with sqlite3.connect(database) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.execute("VACUUM")
        connection.close()
        keep(out / "office.sqlite.gz", database.read_bytes())
    keep(out / "log.jsonl.gz", "".join(f"{line_of(entry)}\n" for entry in entries).encode())
    keep(out / "views.json.gz", json.dumps(views).encode())
    (out / "facts.json").write_text(json.dumps({"now": now, "tokens": work.tokens}, indent=1) + "\n")


def keep(path, content):
    """Write a file compressed, without the time of writing."""
    path.write_bytes(gzip.compress(content, mtime=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
