"""What the lead does on the console: act on drift, change, preview and restore the policy, switch models."""

import re

import pytest
from browsing import Page, Person
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_team import SURE, UNSURE, Clock, add_cases, small_team
from test_models import other_team

from conftest import FREE, app_on
from defero.service.access import RateLimit
from defero.service.flow import team as teams
from defero.service.flow.cases import GiveAnswer, GiveOutcomes, Undo
from defero.service.flow.settings import AddPerson, ChangePolicy
from defero.service.flow.team import Shelf
from defero.service.office import Office
from defero.service.serve import Shell
from defero.service.store.saved_views import fold_log, open_ledger, read_views
from defero.service.views.policy import ASKING, MODES, ON_DRIFT, SHADOW_ANSWERS, Policy, PolicyRule
from defero.service.web import app as site
from defero.service.web import terms
from defero.service.web.terms import changes

POLICY, MODELS = "/console/policy", "/console/models"
ONLY_ANN = [0.5, 0.95, 0.5, 0.5]
CLASSES = ["ill", "well"]


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    folder = tmp_path / "models"
    (folder / "next").mkdir(parents=True)
    (folder / "next" / "model.json").write_text("{}")
    monkeypatch.setattr(teams, "load_team", lambda path, text_encoder: other_team())
    return Shelf(folder)


@pytest.fixture
def office(tmp_path, shelf):
    office = Office.of_team(
        small_team(), str(tmp_path / "cases.sqlite"), clock=Clock(), rates=RateLimit(FREE), shelf=shelf
    )
    office.start()
    office.do(AddPerson("boss", "lead", "system"))  # p4
    yield office
    office.close()


@pytest.fixture
def lead(office):
    return Person(Shell(app_on(office, site.make_site)), office, "p4")


def play(office, row, *, answer, outcome, times):
    for _ in range(times):
        case = office.do(add_cases(office.team, [row]))["cases"][0]
        while case["status"] == "open":
            case = office.do(GiveAnswer(case["case"], case["person"], answer, case["person"]))
        office.do(GiveOutcomes([(case["case"], outcome)], "p4"))


def words(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def policy_now(office):
    with office.database.read() as connection:
        return open_ledger(connection, now=office.clock()).policy


def form_on(lead, path=POLICY):
    """Return the fields of the policy's form as a browser would send them."""
    text = re.search(r'<form method="post" action="/console/policy" class="policy">.*?</form>', lead.page(path), re.S)[
        0
    ]
    page = Page(text)
    fields = {one["name"]: one.get("value", "") for one in page.all("input") if one.get("type") != "hidden"}
    for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', text, re.S):
        chosen = re.search(r'<option(?: value="([^"]*)")? selected>([^<]*)', options)
        first = re.search(r'<option(?: value="([^"]*)")?>([^<]*)', options)
        value, shown = (chosen or first).groups()
        fields[name] = shown if value is None else value
    return fields


def test_an_alarm_is_shown_and_corrected_dismissed_or_withdrawn(office, lead):
    assert "No outcome yet" in words(lead.page("/console"))
    play(office, ONLY_ANN, answer="ill", outcome="well", times=12)
    page = words(lead.page("/console"))
    assert "Alarm: right more or less often than promised: ann" in page
    assert re.search(r"Alarm: right in 0 % of the last \d+ outcomes, 95 % was promised", page)
    assert lead.send("/console/drift/p1", on="/console", action="explode").status_code == 422
    assert lead.send("/console/drift/p2", on="/console", action="correct").status_code == 409
    reply = lead.send("/console/drift/p1", on="/console", action="correct")
    assert (reply.status_code, reply.headers["location"]) == (303, "/console#drift")
    page = words(lead.page("/console"))
    assert re.search(r"Corrected: a promise of 80 % becomes [0-7]?\d %", page)
    assert "boss corrected the promise of ann" in page
    lead.send("/console/drift/p1", on="/console", action="withdraw")
    page = words(lead.page("/console"))
    assert "boss withdrew the correction of ann" in page
    assert "Corrected" not in page
    play(office, ONLY_ANN, answer="ill", outcome="well", times=12)
    lead.send("/console/drift/p1", on="/console", action="dismiss")
    assert "boss dismissed the alarm about ann" in words(lead.page("/console"))


def test_the_form_shows_the_policy_and_saving_it_unchanged_changes_nothing(office, lead):
    before = policy_now(office)
    lead.send(POLICY, on=POLICY, **form_on(lead))
    after = policy_now(office)
    assert (after.to_dict(), after.version) == (before.to_dict(), before.version + 1)


def test_a_policy_is_previewed_saved_and_rolled_back(office, lead):
    office.do(add_cases(office.team, [UNSURE, SURE, UNSURE]))
    fields = {**form_on(lead), "fees/p1": "30", "error_cost": "100", "capacity/p2": "5", "asking": "one"}
    fields |= {"rules/0/do": "ask", "rules/0/label": "ill", "cost_matrix/ill/well": "300", "explore": "0"}
    seen = lead.send(POLICY + "/preview", on=POLICY, **fields)
    text = words(seen.text)
    assert "3 of the last 3 cases would go to somebody else first" in text
    assert re.search(r"to ann 2 0 ", text)
    assert re.search(r"to bob 0 3 ", text)
    assert 'value="300"' in seen.text  # the form is as it was sent
    assert policy_now(office).version == 0
    assert lead.send(POLICY, on=POLICY, **fields).headers["location"] == f"{POLICY}?saved=1"
    policy = policy_now(office)
    assert (policy.fees, policy.capacity, policy.asking) == ({"p1": 30.0}, {"p2": 5}, "one")
    assert (policy.rules, policy.cost_matrix) == ((PolicyRule(do="ask", label="ill"),), {"ill": {"well": 300.0}})
    page = words(lead.page(POLICY + "?saved=1"))
    assert "Version 1 holds from now on" in page
    assert "fee of ann: none, now 30.00" in page
    assert form_on(lead) == {
        **fields,
        **{f"rules/2/{name}": "" for name in ("do", "person", "label", "column", "equals")},
    }
    assert lead.send(POLICY + "/0/restore", on=POLICY).headers["location"] == f"{POLICY}?saved=2"
    assert policy_now(office).to_dict() == Policy().to_dict()
    assert lead.send(POLICY + "/77/restore", on=POLICY).status_code == 404


WRONG = [
    ({"error_cost": "much"}, "error_cost"),
    ({"fees/p1": "-1"}, "fees of p1"),
    ({"fees/p1": "nan"}, "fees of p1"),
    ({"capacity/p1": "2.5"}, "capacity of p1"),
    ({"capacity/p1": "inf"}, "capacity of p1"),
    ({"explore": "70"}, "explore"),
    ({"panel_size": "1"}, "panel_size"),
    ({"answer_within": "0"}, "answer_within"),
    ({"asking": "all"}, "asking"),
    ({"rules/0/do": "ask"}, "a rule"),
    ({"rules/0/do": "never_ask"}, "person of a rule"),
    ({"rules/0/do": "ask", "rules/0/label": "?"}, "label of a rule"),
    ({"fees/p77": "1"}, "ids of people"),
]


def test_a_wrong_form_comes_back_as_it_was_with_the_reason(office, lead):
    for wrong, name in WRONG:
        fields = {**form_on(lead), "fees/p2": "4.25", **wrong}
        for path in (POLICY, POLICY + "/preview"):
            reply = lead.send(path, on=POLICY, **fields)
            assert reply.status_code == 422, wrong
            assert name in re.search(r'id="problem">([^<]+)<', reply.text)[1]
            assert 'value="4.25"' in reply.text
    assert policy_now(office).version == 0


def test_shadow_mode_is_switched_on_and_off(office, lead):
    lead.send(POLICY, on=POLICY, **{**form_on(lead), "fees/p2": "0.5"})
    lead.send(POLICY + "/mode", on=POLICY, mode="shadow")
    assert "Shadow mode" in words(lead.page("/console"))
    case = office.do(add_cases(office.team, [UNSURE]))["cases"][0]
    assert (case["ask"], case["status"]) == (None, "settled")
    lead.send(POLICY + "/mode", on=POLICY, mode="live")
    assert (policy_now(office).mode, policy_now(office).fees) == ("live", {"p2": 0.5})
    assert lead.send(POLICY + "/mode", on=POLICY, mode="off").status_code == 422


def test_a_model_is_loaded_compared_switched_and_switched_back(office, lead):
    play(office, UNSURE, answer="ill", outcome="ill", times=3)
    page = lead.page(MODELS)
    assert "<option>next</option>" in page
    assert "No candidate is loaded" in page
    assert lead.send(MODELS, on=MODELS, folder="../outside").status_code == 422
    assert lead.send(MODELS, on=MODELS, folder="nothing").status_code == 404
    lead.send(MODELS, on=MODELS, folder="next")
    assert "No new case came since it was loaded" in lead.page(MODELS)
    office.do(add_cases(office.team, [UNSURE, SURE]))
    page = words(lead.page(f"{MODELS}?compare=yes"))
    assert "New cases compared 2 Same answer 100 % Same first step 50 % Would ask somebody 50 %" in page
    assert "of the last 5 cases would go to somebody else first" in page
    lead.send(f"{MODELS}/next/switch", on=MODELS)
    assert office.do(add_cases(office.team, [UNSURE]))["cases"][0]["ask"] == "bob"
    page = words(lead.page(MODELS))
    assert "Before: test Switch back to it" in page
    lead.send(f"{MODELS}/test/switch", on=MODELS)
    assert office.do(add_cases(office.team, [UNSURE]))["cases"][0]["ask"] == "ann"
    assert lead.send(f"{MODELS}/none/switch", on=MODELS).status_code == 404


def test_panels_and_waiting_times(office, lead):
    """By hand: one case alone, one with one expert, two with two, of which one has nobody who is right."""
    office.do(GiveOutcomes([(office.do(add_cases(office.team, [SURE]))["cases"][0]["case"], "ill")], "p4"))
    lead.send(POLICY, on=POLICY, **{**form_on(lead), "asking": "one"})
    one = office.do(add_cases(office.team, [UNSURE]))["cases"][0]["case"]
    office.clock.now += 30
    office.do(GiveAnswer(one, "p1", "ill", "p1"))
    lead.send(POLICY, on=POLICY, **{**form_on(lead), "asking": "panel", "panel_size": "2"})
    pairs = [case["case"] for case in office.do(add_cases(office.team, [UNSURE, UNSURE]))["cases"]]
    office.clock.now += 300
    for case in pairs:
        for person, answer in (("p1", "ill"), ("p2", "well" if case == pairs[0] else "ill")):
            office.do(GiveAnswer(case, person, answer, person))
    office.do(GiveOutcomes([(one, "ill"), (pairs[0], "well"), (pairs[1], "well")], "p4"))
    page = words(lead.page("/console"))
    assert re.search(r"nobody 1 99\.9 % 100 %", page)
    assert re.search(r"one expert 1 \d+ % 100 %", page)
    assert re.search(r"two or more 2 \d+ % 0 % ", page)
    assert re.search(r"coverage of two or more 2 at least 90 % 50 %", page)
    # Seconds: p1 30, 300, 300; p2 was asked after p1 and answered at once, twice.
    assert "case to its answer, with experts 3 4 min 33 % 100 % 100 %" in page
    assert "question to answer, everybody 5 2 min 60 % 100 % 100 %" in page
    office.do(GiveOutcomes([(pairs[1], "ill")], "p4"))  # a correction takes back what the first one said
    assert re.search(r"coverage of two or more 2 at least 90 % 100 %", words(lead.page("/console")))
    with office.database.read() as connection:
        assert read_views(connection).plain() == fold_log(connection).plain()


def test_what_is_taken_back_is_not_counted_as_waiting(office, lead):
    case = office.do(add_cases(office.team, [UNSURE]))["cases"][0]["case"]
    nothing = words(lead.page("/console"))
    office.do(GiveAnswer(case, "p1", "ill", "p1"))
    assert words(lead.page("/console")) != nothing
    office.do(Undo(case, "p1", "p1"))
    waits = re.search(r"case to its answer.*?Money", words(lead.page("/console")))[0]
    assert re.findall(r" \d+ ", waits) == [" 0 ", " 0 "]


money = st.integers(0, 10**6).map(lambda cents: cents / 100)
people = st.sampled_from(["p1", "p2", "p3"])
rules = st.one_of(
    st.builds(PolicyRule, do=st.just("ask"), label=st.sampled_from(CLASSES)),
    st.builds(PolicyRule, do=st.just("ask"), column=st.just("x3"), equals=st.sampled_from(["0.7", "arm", None])),
    st.builds(PolicyRule, do=st.just("never_ask"), person=people, label=st.sampled_from([None, *CLASSES])),
)
policies = st.builds(
    Policy,
    fees=st.dictionaries(people, money),
    error_cost=money,
    cost_matrix=st.none()
    | st.dictionaries(
        st.sampled_from(CLASSES), st.dictionaries(st.sampled_from(CLASSES), money, min_size=1), min_size=1
    ),
    answer_within=st.none() | st.sampled_from([1.0, 90.0, 3_600.0, 5_400.0, 86_400.0, 1_000_000.0]),
    on_drift=st.sampled_from(ON_DRIFT),
    capacity=st.dictionaries(people, st.integers(0, 1000)),
    asking=st.sampled_from(ASKING),
    panel_size=st.integers(2, 100),
    rules=st.lists(rules, max_size=4).map(tuple),
    explore=st.integers(0, 50).map(lambda percent: percent / 100),
    mode=st.sampled_from(MODES),
    shadow_answer=st.sampled_from(SHADOW_ANSWERS),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(policy=policies)
def test_a_policy_goes_through_the_form_unchanged(office, lead, policy):
    office.do(ChangePolicy(policy.to_dict(), "p4"))
    before = policy_now(office)
    fields = form_on(lead)
    assert f"rules/{len(policy.rules)}/do" in fields  # a line to fill in
    assert lead.send(POLICY, on=POLICY, **fields).status_code == 303
    assert policy_now(office).to_dict() == before.to_dict()
    assert changes(before.to_dict(), policy_now(office).to_dict(), {}) == []


def test_a_large_cost_matrix_is_not_in_the_form_and_stays(office, lead, monkeypatch):
    monkeypatch.setattr(terms, "MOST_CLASSES", 1)
    office.do(ChangePolicy({"cost_matrix": {"ill": {"well": 5.0}}}, "p4"))
    fields = form_on(lead)
    assert not any(name.startswith("cost_matrix") for name in fields)
    lead.send(POLICY, on=POLICY, **{**fields, "asking": "one"})
    assert (policy_now(office).cost_matrix, policy_now(office).asking) == ({"ill": {"well": 5.0}}, "one")


def test_numbers_that_are_none_are_refused(office, lead):
    for value in ("1e400", "--1", "1,5"):
        assert lead.send(POLICY, on=POLICY, **{**form_on(lead), "fees/p1": value}).status_code == 422
    lead.send(POLICY, on=POLICY, **{**form_on(lead), "explore": "7"})
    assert policy_now(office).explore == 0.07
