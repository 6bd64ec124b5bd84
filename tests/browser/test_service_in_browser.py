"""The service in a real browser: an expert works by keyboard alone, the lead sees it, and everything can be read.

Needs the system's Chromium; `make browser` runs it. With npm on this machine axe-core looks at every page too.
"""

import os
import shutil
import socket
import subprocess
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import uvicorn
from looking import CONTRASTS, OVERFLOWING, run

from defero.service.access import issue_link
from defero.service.flow.cases import AddCases, GiveAnswer, GiveOutcomes
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.saved_views import open_ledger
from defero.service.web.app import make_site

pytestmark = pytest.mark.browser

SCREENS = [(width, scheme) for width in (360, 768, 1280) for scheme in ("light", "dark")]
REFUSED = ("403 (Forbidden)", "422 (Unprocessable")
AXE_RUN = "axe.run().then(found => found.violations.map(one => [one.id, one.impact, one.nodes[0].html]))"


def id_of(office, name):
    return next(person for person, known in office.views()[1].items() if known == name)


def past_cases(n=600, seed=0):
    """Return cases of two classes that a model cannot tell apart where x is near 0; ann and bob can."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=n), rng.normal(size=n)
    truth = np.where(x + 0.8 * rng.normal(size=n) > 0, "malign", "benign")
    wrong = np.where(truth == "malign", "benign", "malign")
    answers = {name: np.where(rng.random(n) < p, truth, wrong) for name, p in (("ann", 0.97), ("bob", 0.9))}
    return pd.DataFrame({"x": x.round(3), "noise": noise.round(3), "truth": truth, **answers})


@pytest.fixture(scope="module")
def served(tmp_path_factory, browser):
    """Train a tiny team and serve it; cases near the border wait for ann and bob."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "models").mkdir()
    for seed, name in enumerate(("model", "models/november")):
        past_cases(seed=seed).to_csv(folder / "cases.csv", index=False)
        told = ("--label", "truth", "--experts", "ann,bob", "--net", "linear", "--out", folder / name)
        run("fit", folder / "cases.csv", *told)
    office = Office.open(folder / "model", str(folder / "service.sqlite"), models=folder / "models")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = uvicorn.Config(Shell(make_site(office)), port=port, log_level="error", access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield office, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


@pytest.fixture
def enter(browser, served):
    """Return a way to open somebody's link in a window of their own; what goes wrong in it fails the test."""
    office, address = served
    contexts, wrong = [], []

    def enter_as(name, width=1280, scheme="light"):
        person = office.first_lead() if name == "lead" else id_of(office, name)
        with office.database.write() as connection:
            link = issue_link(connection, office.key, person, now=office.clock())
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        # A page that is refused is a page too; Chromium says so in its console.
        page.on("console", lambda one: None if any(code in one.text for code in REFUSED) else wrong.append(one.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda one: None if one.url.startswith((address, "data:")) else wrong.append(one.url))
        page.goto(address + link)
        page.wait_for_url("**/console" if name == "lead" else "**/inbox")
        return page

    yield enter_as
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    """Return the script of axe-core: the file that DEFERO_AXE names, or what npm installs."""
    if "DEFERO_AXE" in os.environ:
        return Path(os.environ["DEFERO_AXE"]).read_text()
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm here, and DEFERO_AXE names no axe.min.js")
    folder = tmp_path_factory.mktemp("axe")
    command = [npm, "install", "axe-core", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip("npm cannot install axe-core here")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


def add(lead, address, n):
    """Add n cases at the border as the lead does, by a table."""
    lead.goto(f"{address}/console/cases")
    lead.evaluate("document.querySelector('details.panel').open = true")
    lead.fill("#table", "x,noise\n" + "\n".join(f"{0.001 * i},0.1" for i in range(n)))
    lead.click("details.panel button")
    lead.wait_for_url("**added=*")


def title(page):
    return page.inner_text("h1")


def press(page, key):
    """Press a key, and wait for the page that it leads to."""
    with page.expect_navigation():
        page.keyboard.press(key)


def test_an_expert_works_by_keyboard_alone_and_the_lead_sees_it(enter, served):
    _, address = served
    lead = enter("lead")
    add(lead, address, 8)
    name = max(("ann", "bob"), key=lambda one: asked(lead, address, one))
    n_asked = asked(lead, address, name)
    assert n_asked >= 7
    expert = enter(name)
    assert expert.evaluate("document.activeElement.id") == "case"  # screen readers begin with the case
    seen = []
    for _ in range(5):
        seen.append(title(expert))
        press(expert, "2")
        assert f"{seen[-1]}: you answered malign" in expert.inner_text("[role=status]")
    assert len(set(seen)) == 5
    press(expert, "u")
    assert title(expert) == seen[-1]
    press(expert, "1")
    assert f"{seen[-1]}: you answered benign" in expert.inner_text("[role=status]")
    skipped = title(expert)
    expert.keyboard.press("s")
    assert expert.evaluate("document.activeElement.id") == "note"
    expert.keyboard.press("Escape")
    assert expert.evaluate("document.activeElement.id") == "case"
    expert.keyboard.press("s")
    expert.keyboard.type("1 scan is missing, u see")  # these keys mean nothing in a text
    press(expert, "Enter")
    assert f"{skipped}: skipped" in expert.inner_text("[role=status]")
    lead.goto(f"{address}/console")
    cells = lead.locator("#load tbody tr", has_text=name).locator("td").all_inner_texts()
    assert cells[2:4] == ["5", "1"]
    lead.goto(f"{address}/console/cases/{skipped}")
    assert "1 scan is missing, u see" in lead.inner_text("main")
    lead.goto(f"{address}/console/cases/{seen[-1]}")
    words = lead.inner_text("main")
    assert words.index("answered malign") < words.index("took the answer back") < words.index("answered benign")


def asked(lead, address, name):
    lead.goto(f"{address}/console")
    return int(lead.locator("#load tbody tr", has_text=name).locator("td").nth(1).inner_text())


def test_keys_can_be_switched_off_and_everything_works_without_scripts(enter, served, browser):
    _, address = served
    add(enter("lead"), address, 4)
    expert = enter("ann")
    expert.uncheck("#keys")
    before = title(expert)
    expert.keyboard.press("1")
    expert.reload()
    assert title(expert) == before
    assert not expert.is_checked("#keys")
    plain = browser.new_context(java_script_enabled=False, storage_state=expert.context.storage_state()).new_page()
    plain.goto(f"{address}/inbox")
    plain.click(".answers button >> nth=0")
    assert "you answered" in plain.inner_text("[role=status]")
    plain.context.close()


def pages_of(enter, served, width, scheme):
    """Yield every page, with something in it."""
    _, address = served
    lead = enter("lead", width, scheme)
    add(lead, address, 3)
    yield "cases", lead
    case = lead.locator("main table a").first.get_attribute("href")
    alarm(served)
    for path in (case, "/console", "/console?days=90", "/console/people", "/console/policy"):
        lead.goto(address + path)
        yield path, lead
    lead.select_option('[name="rules/0/do"]', "ask")
    lead.select_option('[name="rules/0/label"]', "malign")
    lead.click("text=Preview on the last")
    lead.wait_for_selector("#preview")
    yield "preview", lead
    lead.fill("#error_cost", "much")
    lead.click("text=Save as version")
    lead.wait_for_selector("#problem")
    yield "a form that is wrong", lead
    lead.goto(f"{address}/console/models")
    lead.click("text=Load beside")
    lead.wait_for_selector("#candidate")
    add(lead, address, 3)
    lead.goto(f"{address}/console/models?compare=yes")
    yield "models", lead
    connect(lead, address)
    yield "connections", lead
    end(lead, address)
    lead.goto(f"{address}/console/people")
    lead.click("text=New link >> nth=0")
    yield "new link", lead
    expert = enter("ann", width, scheme)
    yield "inbox", expert
    expert.click(".answers button >> nth=0")
    expert.click("summary >> text=Skip")
    yield "inbox after an answer", expert
    expert.goto(f"{address}/console")
    yield "refused", expert


def connect(lead, address):
    """Let a language model that is not there answer for bob, by keyboard alone."""
    lead.goto(f"{address}/console/connections")
    lead.focus("summary >> text=Connect a language model")
    for key in ("Enter", "Tab", "b", "Tab"):
        lead.keyboard.press(key)
    lead.keyboard.type("http://127.0.0.1:9/v1")
    lead.keyboard.press("Tab")
    lead.keyboard.type("small")
    lead.keyboard.press("Enter")
    lead.wait_for_url("**/console/connections?done=model")


def end(lead, address):
    lead.goto(f"{address}/console/connections")
    lead.focus("[aria-label='End bob']")
    for key in ("Enter", "Tab", "Enter"):
        lead.keyboard.press(key)
    lead.wait_for_url("**done=model_ended")


def test_the_lead_connects_a_language_model_by_keyboard(enter, served):
    _, address = served
    lead = enter("lead")
    connect(lead, address)
    shown = lead.inner_text("main")
    assert "bob small at http://127.0.0.1:9/v1" in shown.replace("\n", " ")
    end(lead, address)
    assert "No language model is connected." in lead.inner_text("main")


def test_a_long_file_is_cut_between_cases_and_the_page_says_so(enter, served):
    _, address = served
    lead = enter("lead")
    lead.goto(f"{address}/console/cases")
    lead.evaluate("document.querySelector('details.panel').open = true")
    rows = ["x,noise,note", *(f'{n},0.1,"two\n\nlines"' for n in range(1_100))]
    file = {"name": "cases.csv", "mimeType": "text/csv", "buffer": "\r\n".join(rows).encode()}
    lead.set_input_files("#file", file)
    lead.wait_for_function("document.getElementById('taken').textContent")
    assert lead.inner_text("#taken") == "The file has 1,100 cases: the first 1,000 are taken."
    taken = lead.input_value("#table")
    assert taken.endswith('999,0.1,"two\n\nlines"')
    lead.click("details.panel button")
    lead.wait_for_url("**added=1000")


def alarm(served):
    """Let ann be wrong until there is an alarm about her."""
    office, _ = served
    ann, team = id_of(office, "ann"), office.team
    for _ in range(60):
        with office.database.read() as connection:
            if open_ledger(connection, now=office.clock()).drift.state(ann).alarmed:
                return
        rows = [{"x": 0.0, "noise": 0.0}]
        step = office.do(AddCases([None], rows, team.matrix(rows), team.version))["cases"][0]
        while step["status"] == "open":
            step = office.do(GiveAnswer(step["case"], step["person"], "benign", step["person"]))
        office.do(GiveOutcomes([(step["case"], "malign")], office.first_lead()))
    pytest.fail("no alarm after 60 errors")


@pytest.mark.parametrize(("width", "scheme"), SCREENS)
def test_nothing_overflows_and_everything_can_be_read(enter, served, width, scheme):
    for name, page in pages_of(enter, served, width, scheme):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.evaluate(OVERFLOWING) == [], name
        assert page.evaluate(CONTRASTS) == [], name


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (1280, "dark")])
def test_axe_finds_no_serious_fault(enter, served, axe, width, scheme):
    for name, page in pages_of(enter, served, width, scheme):
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        # The page's own policy forbids scripts in the page: the tool runs from outside of it.
        page.evaluate(axe)
        faults = page.evaluate(AXE_RUN)
        assert [one for one in faults if one[1] in ("serious", "critical")] == [], name


def test_on_paper_there_are_no_forms(enter, served):
    lead = enter("lead", 794, "dark")
    lead.emulate_media(media="print")
    assert lead.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert lead.evaluate("[...document.querySelectorAll('form, button')].every(one => !one.getClientRects().length)")
