"""Connections on the console: what is connected, what it costs, how it fails; forms, also wrong ones."""

import html
import re

import pytest
from browsing import Page, Person
from small_team import UNSURE, add_cases

from conftest import app_on
from defero.service.events import StudioFailed
from defero.service.flow.connections import BeginCall, CallResult, EndCall, FailCall, RecordEvent, SetStudio
from defero.service.flow.settings import AddPerson
from defero.service.serve import Shell
from defero.service.store.contents import read_addresses, write_addresses
from defero.service.store.saved_views import fold_log, read_hooks, read_language_models, read_studio, read_views
from defero.service.web import app as site

PAGE = "/console/connections"
MODEL = {
    "person": "p1",
    "url": "http://127.0.0.1:9/v1",
    "model": "small",
    "prompt": "Note: {x0}",
    "key_variable": "DEFERO_KEY_LLM",
    "per_call": "0.002",
    "per_minute": "120",
    "timeout": "",
    "classes": "ill, well",
    "options": '{"temperature": 0}',
}


@pytest.fixture
def lead(office):
    office.writer.start()  # no caller, no courier: what happens is what a test does
    office.do(AddPerson("boss", "lead", "system"))  # p4
    return Person(Shell(app_on(office, site.make_site)), office, "p4")


def words(text):
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def send(lead, path, **fields):
    return lead.send(f"{PAGE}/{path}", on=PAGE, **fields)


def test_nothing_is_connected_at_first(lead):
    shown = words(lead.page(PAGE))
    for phrase in (
        "No language model is connected.",
        "Not connected: everybody answers in the inbox.",
        "Nothing is sent on.",
    ):
        assert phrase in shown


def test_a_language_model_is_connected_changed_and_ended(office, lead, monkeypatch):
    monkeypatch.setenv("DEFERO_KEY_LLM", "k-secret")
    reply = send(lead, "language-models", **MODEL)
    assert (reply.status_code, reply.headers["location"]) == (303, f"{PAGE}?done=model")
    with office.database.read() as connection:
        model = read_language_models(connection)["p1"]
    assert (model.per_call, model.per_minute, model.timeout, model.classes) == (0.002, 120, 60.0, ("ill", "well"))
    assert model.options == {"temperature": 0}
    page = lead.page(f"{PAGE}?done=model")
    assert "k-secret" not in page
    assert "small at http://127.0.0.1:9/v1" in words(page)
    sent = {**form_on(lead, "language-models"), "model": "large"}
    assert send(lead, "language-models", **sent).status_code == 303
    assert "large at" in words(lead.page(PAGE))
    assert send(lead, "language-models/p1/end").headers["location"] == f"{PAGE}?done=model_ended"
    assert "No language model is connected." in words(lead.page(PAGE))


def test_calls_prices_failures_and_what_waits_are_shown(office, lead, clock, monkeypatch):
    send(lead, "language-models", **MODEL)
    cases = [one["case"] for one in office.do(add_cases(office.team, [UNSURE] * 3))["cases"]]
    assert office.do(BeginCall(cases[0], "p1")) == 1
    office.do(EndCall(cases[0], "p1", 1, CallResult("ill", seconds=2.0, price=0.25, tokens_in=9, tokens_out=1)))
    clock.now += 90
    assert office.do(BeginCall(cases[1], "p1")) == 1
    office.do(FailCall(cases[1], "p1", 1, 401, clock.now + 5, "HTTP status 401"))
    clock.now += 60
    shown = words(lead.page(PAGE))
    for phrase in (
        "DEFERO_KEY_LLM is not set where the service runs",
        "Last call 60 s ago",
        "Calls 2 ",
        "Failed 1 ",
        "Mean time 2 s",
        "Paid 0.25",
        "Waiting 2 (oldest 2 min)",
    ):
        assert phrase in shown, (phrase, shown)
    monkeypatch.setenv("DEFERO_KEY_LLM", "k")
    assert "The last call failed: HTTP status 401; look at the key in DEFERO_KEY_LLM." in words(lead.page(PAGE))
    with office.database.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()


def test_experts_answer_in_label_studio(office, lead, clock, monkeypatch):
    fields = {"url": "http://127.0.0.1:9", "key_variable": "DEFERO_KEY_A", "in/p1": "yes", "people/p1": "Ann@a.example"}
    reply = send(lead, "label-studio", **fields, **{"people/p2": "bob@a.example"}, title="", poll="20", project="")
    assert reply.headers["location"] == f"{PAGE}?done=studio"
    with office.database.read() as connection:
        studio, addresses = read_studio(connection), read_addresses(connection)
    assert (studio.people, studio.poll, studio.title, addresses) == (("p1",), 20.0, "defero", {"p1": "ann@a.example"})
    office.do(add_cases(office.team, [UNSURE] * 2))
    office.do(RecordEvent(StudioFailed(link=studio.link, status=0, retry_at=clock.now + 300)))
    shown = words(lead.page(PAGE))
    for phrase in (
        "ann answers in",
        "DEFERO_KEY_A is not set",
        "Questions there 2",
    ):
        assert phrase in shown, (phrase, shown)
    assert 'value="ann@a.example"' in lead.page(PAGE)
    monkeypatch.setenv("DEFERO_KEY_A", "k")
    shown = words(lead.page(PAGE))
    assert "It cannot be reached: no reply" in shown
    assert "next in 5 min" in shown
    assert send(lead, "label-studio/end").headers["location"] == f"{PAGE}?done=studio_ended"
    with office.database.read() as connection:
        assert read_studio(connection) is None


def test_a_webhook_shows_its_secret_once(office, lead):
    kinds = {f"kinds/{one}": one for one in ("settled", "drift_raised")}
    reply = send(lead, "webhooks", url="http://127.0.0.1:9/x", **kinds)
    secret = re.search(r'<code id="secret">([^<]+)', reply.text)[1]
    assert len(secret) > 30
    page = lead.page(PAGE)
    assert secret not in page
    assert "Gets: settled, drift raised." in words(page)
    with office.database.read() as connection:
        (hook,) = read_hooks(connection)
    assert send(lead, f"webhooks/{hook}/end").headers["location"] == f"{PAGE}?done=hook_ended"
    assert "Nothing is sent on." in words(lead.page(PAGE))


@pytest.mark.parametrize(
    ("path", "fields", "fact"),
    [
        ("language-models", {**MODEL, "url": "ftp://a.example"}, "url: must be an address"),
        ("language-models", {**MODEL, "url": "http://a.example/v1?x=1"}, "without a query"),
        ("language-models", {**MODEL, "key_variable": "PATH"}, "DEFERO_KEY_"),
        ("language-models", {**MODEL, "per_call": "dear"}, "per_call: must be a number"),
        ("language-models", {**MODEL, "per_call": "nan"}, "per_call"),
        ("language-models", {**MODEL, "per_minute": "1.5"}, "per_minute"),
        ("language-models", {**MODEL, "classes": "sick"}, "classes is none of the classes"),
        ("language-models", {**MODEL, "options": "{"}, "options: must be JSON"),
        ("language-models", {**MODEL, "prompt": "{"}, 'a single "{"'),
        ("language-models", {**MODEL, "person": "p4"}, "Only an expert"),
        ("language-models", {**MODEL, "person": "x"}, "choose an expert"),
        ("label-studio", {"url": "http://a.example"}, "tick at least one expert"),
        ("label-studio", {"url": "http://a.example", "in/p1": "yes", "people/p1": "ann"}, "e-mail"),
        (
            "label-studio",
            {"url": "http://a.example", "in/p1": "yes", "people/p1": "", "project": "x"},
            "project: must be a whole number",
        ),
        ("webhooks", {"url": "http://a.example/hooked", "kinds/": ""}, "tick at least one"),
        ("webhooks", {"url": "a.example", "kinds/settled": "settled"}, "url: must be an address"),
    ],
)
def test_a_wrong_form_comes_back_as_it_was_with_the_reason(lead, path, fields, fact):
    reply = send(lead, path, **fields)
    assert reply.status_code in (409, 422)
    assert fact in html.unescape(reply.text)
    assert "Nothing was changed." in reply.text
    assert html.escape(fields["url"]) in reply.text


def test_hostile_texts_stay_texts(lead):
    fields = {**MODEL, "url": '"><script>alert(1)</script>', "prompt": "</textarea><script>alert(1)</script>"}
    assert "<script>alert" not in send(lead, "language-models", **fields).text


def test_every_field_has_a_name(lead):
    send(lead, "language-models", **MODEL)
    page = Page(lead.page(PAGE))
    ids = [one["id"] for _, one in page.tags if "id" in one]
    assert len(ids) == len(set(ids))
    labelled = {one["for"] for one in page.all("label") if "for" in one}
    fields = [one for kind in ("input", "select", "textarea") for one in page.all(kind) if one.get("type") != "hidden"]
    free = [one for one in fields if one.get("id") not in labelled and "aria-label" not in one]
    assert {one.get("type") for one in free} == {"checkbox"}  # inside their labels
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|\sstyle=|<style", page.text)


def form_on(lead, action):
    """Return the fields of a form of the page as a browser would send them, without its token."""
    text = re.search(rf'<form method="post" action="{PAGE}/{action}".*?</form>', lead.page(PAGE), re.S)[0]
    sent = [one for one in Page(text).all("input") if one.get("type") != "checkbox" or "checked" in one]
    fields = {one["name"]: one.get("value", "") for one in sent if one["name"] != "csrf"}
    areas = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>', text, re.S)
    chosen = re.findall(r'<select[^>]*name="([^"]+)".*?<option value="([^"]*)" selected', text, re.S)
    return fields | {name: html.unescape(value) for name, value in (*areas, *chosen)}


def test_saving_a_form_unchanged_changes_nothing(office, lead):
    send(lead, "language-models", **{**MODEL, "most_per_day": "2.5", "prompt": "A <b> of {x0}"})
    office.do(
        SetStudio("s1", {"url": "https://b.example", "people": ["p2", "p3"], "project": 4, "poll": 9.0}, {}, "p4")
    )
    with office.database.write() as connection:
        write_addresses(connection, {"p2": "bob@a.example"})
        before = read_language_models(connection), read_studio(connection), read_addresses(connection)
    for form in ("language-models", "label-studio"):
        assert send(lead, form, **form_on(lead, form)).status_code == 303
    with office.database.read() as connection:
        assert (read_language_models(connection), read_studio(connection), read_addresses(connection)) == before


def test_money_that_is_spent_for_today_is_told(office, lead, clock):
    send(lead, "language-models", **MODEL, most_per_day="0.25")
    [case] = [one["case"] for one in office.do(add_cases(office.team, [UNSURE]))["cases"]]
    assert office.do(BeginCall(case, "p1")) == 1
    told = "It may cost 0.25 a day, and 0.25 is paid: its questions go to somebody else until tomorrow (UTC)."
    assert told not in words(lead.page(PAGE))
    office.do(EndCall(case, "p1", 1, CallResult("ill", seconds=2.0, price=0.25)))
    assert told in words(lead.page(PAGE))
    clock.now += 86_400
    assert told not in words(lead.page(PAGE))
