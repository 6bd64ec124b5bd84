"""The whole loop, with a real server and a real browser: train, serve, answer, drift, policy, retrain, switch.

Posts and people of keswani-toxicity (DEFERO_DATA). Two people answer by keyboard in Chromium, the others and the rest
of the answers come by the API. `make slow` runs it and writes `tests/statistical/results/service_whole_loop.json`.

Which figures of the console must be those of `defero evaluate`, and why:

1. The export has the answers that were asked for and the outcomes. How many cases have an outcome, how many answers
   each person gave, and how many of them were right, are counts of the same answers against the same outcomes.
2. After that everybody's answer to every case is sent; these come too late to count, but they are in the export. Then
   `evaluate --ask sequential` can ask whom the service asked. The model, the costs and the rule of asking are the same,
   so that it asks the same people in the same order and gives the same labels: right answers, their interval, questions
   a case, the promised probability and the cost of fees and errors are equal.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
from looking import run
from study_results import write_study
from toxic_posts import N_LATER, N_NEW, toxic_posts

from defero.client import Client, ServiceError
from defero.service.store.database import Database
from defero.service.store.saved_views import fold_log, read_views
from defero.service.web.sight import money, percent

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the data"),
]

BATCH = 100
WRONG_SHARE = 0.7
"""Of the answers of one person, from the second batch on."""
BY_KEYBOARD = 20
"""Of each of the two in a batch, at most."""
PATIENCE = 120_000


class Loop:
    """A server, a browser and the people who use them."""

    def __init__(self, folder, posts, browser):
        self.folder, self.posts, self.browser = folder, posts, browser
        self.rng = np.random.default_rng(2)
        self.given, self.by_keyboard, self.cases, self.windows = {}, Counter(), {}, {}
        command = [sys.executable, "-m", "defero", "serve", "model", "--models", "models", "--link", "--port", "0"]
        command[-1] = str(free_port())
        self.address = f"http://127.0.0.1:{command[-1]}"
        self.server = subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        said = ""
        while "defero_" not in said:
            said += self.server.stdout.readline()
        self.link = re.search(r"http://\S+/in/\S+", said)[0]
        added = json.loads(run("people", "add", "triage", "--role", "machine", "--database", self.database, "--json"))
        self.api = Client(self.address, added["token"], timeout=120)
        self.lead_token = re.search(r"defero_\S+", said)[0]
        self.people = {one["name"]: one["person"] for one in self.when_up(self.api.people)}
        self.drifter = self.other = ""

    @property
    def database(self):
        return self.folder / "model.sqlite"

    def when_up(self, call):
        for _ in range(600):
            try:
                return call()
            except ServiceError:
                time.sleep(0.1)
        raise AssertionError("the server did not start")

    def stop(self):
        for page in self.windows.values():
            page.context.close()
        self.api.close()
        self.server.terminate()
        self.server.wait(60)
        self.server.stdout.close()

    def open(self, link):
        context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(link)
        page.wait_for_url(re.compile("/(console|inbox)$"))
        return page

    def lead(self, path="/console"):
        """Return the lead's window on a page."""
        if "lead" not in self.windows:
            self.windows["lead"] = self.open(self.link)
        self.windows["lead"].goto(self.address + path)
        return self.windows["lead"]

    def inbox(self, name):
        """Return somebody's inbox; the lead makes their link under People."""
        if name not in self.windows:
            lead = self.lead("/console/people")
            lead.click(f'[aria-label="New link for {name}"]')
            self.windows[name] = self.open(lead.inner_text("#secret"))
        self.windows[name].goto(f"{self.address}/inbox")
        return self.windows[name]

    def answer_of(self, post, name, *, drifting):
        """Return what somebody answers, always the same for the same post."""
        if (post, name) not in self.given:
            answer = self.posts.answers[post, name]
            if drifting and name == self.drifter and self.rng.random() < WRONG_SHARE:
                answer = 1 - self.posts.truth[post]
            self.given[post, name] = answer
        return self.given[post, name]

    def add(self, table):
        """Bring cases; return their first steps."""
        rows = table[["text", "dialect"]].to_dict("records")
        steps = self.api.add(rows, keys=table["id"].tolist())
        self.cases |= {step.case: post for step, post in zip(steps, table["id"], strict=True)}
        return steps

    def answer_by_keyboard(self, name, *, drifting):
        """Answer questions in the inbox with the keys of the classes, nothing else."""
        page = self.inbox(name)
        for _ in range(BY_KEYBOARD):
            post = page.inner_text("h1")
            if not post.startswith("post-"):
                return
            key = str(self.answer_of(post, name, drifting=drifting))
            with page.expect_navigation():
                page.keyboard.press(key)
            assert f"{post}: you answered {key}" in page.inner_text("[role=status]")
            self.by_keyboard[name] += 1

    def answer_the_rest(self, *, drifting):
        """Answer by the API until nothing waits; return the cases in the order of their answers."""
        answered = []
        while True:
            waiting = [(name, self.api.questions(person=self.people[name])) for name in self.posts.names]
            if not any(questions for _, questions in waiting):
                return list(dict.fromkeys(answered))
            for name, questions in waiting:
                for one in questions:
                    answer = self.answer_of(one["key"], name, drifting=drifting)
                    self.api.answer(one["case"], answer, person=self.people[name])
                    answered.append(one["case"])

    def outcomes(self, cases):
        self.api.outcomes({case: self.posts.truth[self.cases[case]] for case in cases})

    def export(self, name):
        with Client(self.address, self.lead_token, timeout=120) as lead:
            (self.folder / name).write_text(lead.export())
        return self.folder / name


@pytest.fixture(scope="module")
def loop(tmp_path_factory, browser):
    folder, posts = tmp_path_factory.mktemp("loop"), toxic_posts()
    (folder / "models").mkdir()
    posts.past.to_csv(folder / "past.csv", index=False)
    run("fit", folder / "past.csv", *fitted("gold", "id", posts.names), "--out", folder / "model")
    loop = Loop(folder, posts, browser)
    yield loop
    loop.stop()


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def fitted(label, key, names):
    return ("--label", label, "--key", key, "--text", "text", "--experts", ",".join(names))


def evaluated(loop, export):
    told = ("--label", "outcome", "--key", "case", "--ask", "sequential", "--json")
    return json.loads(run("evaluate", loop.folder / "model", export, *told))["test"]


def tiles(page, panel):
    names, values = (page.locator(f"#{panel} {tag}").all_inner_texts() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def table(page, panel):
    """Return the cells of a panel's table by its first column."""
    rows = {}
    for row in page.locator(f"#{panel} tbody tr").all():
        rows[row.locator("th").inner_text()] = row.locator("td").all_inner_texts()
    return rows


def tallies_of(loop):
    """Return the exact counts behind the console's figures, by person ("" is the team) and name, over all days."""
    with Client(loop.address, loop.lead_token, timeout=120) as lead:
        rows = lead.call("GET", "/v1/tallies")["tallies"]
    names, counts = {person: name for name, person in loop.people.items()}, Counter()
    for row in rows:
        counts[names.get(row["person"], ""), row["name"]] += row["amount"]
    return counts


def first_word_of(cell):
    """Return a share such as '92 %' without the verdict after it."""
    return re.match(r"\d+ %", cell)[0]


def test_the_whole_loop(loop):
    started = time.process_time()
    facts = {"cases": work_through_the_cases(loop)}
    facts |= the_alarm_is_shown(loop)
    facts |= console_equals_evaluate(loop)
    facts |= policy_is_changed_after_a_preview_and_rolled_back(loop)
    facts |= the_next_model_is_fitted_compared_and_switched(loop)
    loop.stop()
    where = Database.connect(str(loop.database))
    with where.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()
    where.close()
    write_study("service_whole_loop", cpu_seconds=time.process_time() - started, command="make browser", **facts)


def work_through_the_cases(loop):
    """Three batches of cases; two people answer by keyboard, the rest comes by the API; outcomes follow."""
    n_alone, new = 0, loop.posts.new
    for start in range(0, N_NEW, BATCH):
        drifting = start > 0
        steps = loop.add(new.iloc[start : start + BATCH])
        alone = [step.case for step in steps if step.settled]
        n_alone += len(alone)
        if not drifting:  # the two who get most questions work by keyboard; the first of them drifts
            asked_first = Counter(step.ask for step in steps if step.ask is not None)
            loop.drifter, loop.other = (name for name, _ in asked_first.most_common(2))
        for name in (loop.drifter, loop.other):
            loop.answer_by_keyboard(name, drifting=drifting)
        loop.answer_the_rest(drifting=drifting)
        loop.outcomes([step.case for step in steps])
    counts = tallies_of(loop)
    asked = {name: counts[name, "asked"] for name in loop.posts.names}
    assert asked[loop.drifter] >= 40
    assert min(loop.by_keyboard[name] for name in (loop.drifter, loop.other)) >= 12
    assert sum(loop.by_keyboard.values()) >= 60
    return {
        "received": N_NEW,
        "answered_by_the_model_alone": n_alone,
        "questions": sum(asked.values()),
        "questions_by_person": asked,
        "answers_by_keyboard": dict(loop.by_keyboard),
    }


def the_alarm_is_shown(loop):
    page = loop.lead()
    assert loop.drifter in page.inner_text("#alarms")
    cards = page.locator("#drift li.alarmed")
    said = {card.locator("h3").inner_text(): card.locator("p").nth(1).inner_text() for card in cards.all()}
    assert re.search(r"right in \d+ % of the last \d+ outcomes", said[loop.drifter])
    assert loop.other not in said
    return {"alarms": said, "drifter": loop.drifter}


def console_equals_evaluate(loop):
    page = loop.lead()
    promises, costs, change = table(page, "promises"), tiles(page, "money"), table(page, "change")
    counts = tallies_of(loop)
    asked_for = evaluated(loop, loop.export("asked_for.csv"))
    assert asked_for["items"] == int(promises["the team"][0]) == int(change["Cases settled"][0]) == N_NEW
    by_person = {one["name"]: one["alone"] for one in asked_for["experts"]}
    for name, share in by_person.items():
        n_answers, _, kept, interval, _ = promises[name]
        assert int(n_answers) == share["n"], name
        assert counts[name, "judged"] == share["n"], name
        if share["n"]:
            assert counts[name, "right"] / share["n"] == share["accuracy"], name
            assert first_word_of(kept) == percent(share["accuracy"]), name
            assert interval == f"{percent(share['low'])} to {percent(share['high'])}", name
    late = 0
    for case, post in loop.cases.items():
        for name in loop.posts.names:
            if (post, name) not in loop.given:
                loop.api.answer(case, loop.answer_of(post, name, drifting=False), person=loop.people[name])
                late += 1
    page = loop.lead()
    assert table(page, "promises") == promises  # late answers do not count
    everything = evaluated(loop, loop.export("everything.csv"))
    way = everything["ways"]["sequential"]
    n_outcomes, promised, kept, interval, _ = promises["the team"]
    assert everything["items"] == int(n_outcomes) == N_NEW
    assert first_word_of(kept) == percent(way["accuracy"])
    assert interval == f"{percent(way['low'])} to {percent(way['high'])}"
    assert promised == percent(way["promised"])
    assert change["Questions for each settled case"][0] == f"{way['questions']:.2f}"
    assert int(costs["Known errors"]) == round(N_NEW * (1 - way["accuracy"]))
    spent = float(costs["Fees"]) + float(costs["Cost of known errors"])
    assert money(spent) == money(N_NEW * way["cost"])
    assert counts["", "right"] / N_NEW == way["accuracy"]
    assert counts["", "asked"] / N_NEW == pytest.approx(way["questions"], abs=1e-12)
    assert counts["", "promised_judged"] / 1e6 / N_NEW == pytest.approx(way["promised"], abs=1e-6)
    exact = {name: way[name] for name in ("accuracy", "low", "high", "questions", "promised", "cost")}
    return {
        "late_answers": late,
        "evaluate": {"people": by_person, "team": exact},
        "console": {name: cells[:4] for name, cells in promises.items()},
    }


def policy_is_changed_after_a_preview_and_rolled_back(loop):
    page = loop.lead("/console/policy")
    page.fill(f'[aria-label="Fee of {loop.drifter}"]', "0.3")
    page.fill(f'[aria-label="Fee of {loop.other}"]', "0.01")
    page.click("text=Preview on the last")
    page.wait_for_selector("#preview")
    rows = table(page, "preview")
    before, after = map(int, rows[f"to {loop.drifter}"])
    assert after < before
    page.click("text=Save as version 1")
    page.wait_for_url("**saved=1")
    assert f"fee of {loop.drifter}: none, now 0.30" in page.inner_text("main")
    page.click('[aria-label="Restore version 0"]')
    page.wait_for_url("**saved=2")
    assert page.input_value(f'[aria-label="Fee of {loop.drifter}"]') == ""
    page = loop.lead()
    page.click(f'[aria-label="Correct the promise of {loop.drifter}"]')
    page.wait_for_url("**/console#drift")
    assert f"lead corrected the promise of {loop.drifter}" in page.inner_text("#drift")
    assert page.locator("#alarms", has_text=loop.drifter).count() == 0
    return {"preview": {"questions_to_drifter": {"now": before, "then": after}}, "policy_versions": 2}


def the_next_model_is_fitted_compared_and_switched(loop):
    told = fitted("outcome", "case", loop.posts.names)
    run("fit", loop.folder / "everything.csv", *told, "--out", loop.folder / "models" / "next")
    page = loop.lead("/console/models")
    old = page.inner_text("#model").split()[0]
    page.click("text=Load beside")
    page.wait_for_selector("#candidate")
    new = page.inner_text("#candidate").split()[0]
    assert {step.model for step in loop.add(loop.posts.later)} == {old}  # without effect
    page = loop.lead("/console/models?compare=yes")
    compared = dict(zip(page.locator("dt").all_inner_texts(), page.locator("dd").all_inner_texts(), strict=True))
    assert int(compared["New cases compared"]) == N_LATER
    rows = table(page, "comparison")
    left_out = int(re.search(r"(\d+) cases are left out", page.inner_text("#comparison"))[1])
    assert 0.75 * N_NEW < left_out < N_NEW  # the next model was fitted on them; a fifth of the export is its test part
    deciding = []
    for version in (new, old, new):
        loop.lead("/console/models").click(f'[aria-label$="it: model {version}"]')
        loop.windows["lead"].wait_for_function(f"document.getElementById('model').innerText.startsWith('{version}')")
        deciding.append(loop.add(loop.posts.later.iloc[:1])[0].model)
    assert deciding == [new, old, new]
    return {
        "new_cases_beside": compared,
        "left_out_of_comparison": left_out,
        "comparison": rows,
        "models_that_decided": deciding,
    }
