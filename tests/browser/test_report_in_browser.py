"""The report in a real browser: nothing overflows, nothing is fetched, nothing goes wrong, and the numbers are there.

Needs the system's Chromium; `make browser` runs it.
"""

import json
import re

import pytest
from looking import CONTRASTS, OVERFLOWING, run
from readers import LONG, ODD, fifty_readers

pytestmark = pytest.mark.browser

SCREENS = [(360, 740, "light"), (360, 740, "dark"), (768, 1024, "light"), (1280, 800, "light"), (1280, 800, "dark")]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def demo(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("demo") / "left"
    run("demo", "--seeds", 2, "--out", folder)
    return folder / "report.html", json.loads(run("evaluate", folder / "model", folder / "cases.csv", "--json"))


@pytest.fixture(scope="module")
def fifty(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("fifty")
    cases, names = fifty_readers()
    cases.to_csv(folder / "cases.csv", index=False)
    table, model = folder / "cases.csv", folder / "model"
    run("fit", table, "--label", "truth", "--experts", ",".join(names), "--net", "linear", "--out", model)
    run("report", model, table, "--out", folder / "report.html")
    return folder / "report.html", json.loads(run("evaluate", model, table, "--json"))


@pytest.fixture(params=["demo", "fifty"])
def report(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def opened(browser, report):
    """Return a way to open the page, which fails where something is fetched or goes wrong."""
    path, _ = report
    pages, wrong = [], []

    def open_at(width, height, scheme):
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url == path.as_uri() else wrong.append(request.url))
        page.goto(path.as_uri(), wait_until="load")
        pages.append(page)
        return page

    yield open_at
    for page in pages:
        page.close()
    assert wrong == []


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")


@pytest.mark.parametrize(("width", "height", "scheme"), SCREENS)
def test_nothing_overflows_and_everything_can_be_read(opened, width, height, scheme):
    page = opened(width, height, scheme)
    for _ in range(2):
        assert page.evaluate(OVERFLOWING) == []
        assert page.evaluate(CONTRASTS) == []
        unfold(page)


def test_dark_is_dark_and_light_is_light(opened):
    paper = "getComputedStyle(document.body).backgroundColor"
    assert opened(1280, 800, "light").evaluate(paper) == "rgb(255, 255, 255)"
    assert opened(1280, 800, "dark").evaluate(paper) == "rgb(20, 24, 31)"


def test_the_first_screen_has_the_answer(opened, report):
    """Without scrolling: the sentence, what it means, and the figures."""
    page, (_, found) = opened(1280, 800, "light"), report
    for words in (f"{100 * found['test']['team']['accuracy']:.1f}\u00a0%", "Model alone", "Decided by the model"):
        box = page.get_by_text(words).first.bounding_box()
        assert box["y"] + box["height"] < 800


def test_paper_is_never_dark_and_nothing_is_cut_off(opened, tmp_path):
    page = opened(794, 1123, "dark")  # A4 at 96 dots per inch
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate(CONTRASTS) == []
    # On paper nothing scrolls: every table and picture must fit between margins of 14 mm.
    page.set_viewport_size({"width": 794 - 2 * 53, "height": 1123})
    too_wide = """() => [...document.querySelectorAll('table, svg')].filter(part =>
      part.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map(part =>
      part.getBoundingClientRect().right + ' ' + part.textContent.trim().slice(0, 80))"""
    assert page.evaluate(too_wide) == []
    written = tmp_path / "page.pdf"
    page.pdf(path=written, format="A4")
    assert written.read_bytes().startswith(b"%PDF")


def test_on_paper_what_is_folded_away_is_there(opened):
    page = opened(794, 1123, "light")
    # What is skipped still has a box: its height alone would prove nothing.
    folded = """() => [...document.querySelectorAll('details:not([open]) tr')].map(row =>
      row.checkVisibility() ? row.getBoundingClientRect().height : 0)"""
    seen = "() => [...document.querySelectorAll('summary')].filter(part => part.getClientRects().length).length"
    assert set(page.evaluate(folded)) == {0}
    assert page.evaluate(seen)
    page.emulate_media(media="print")
    if page.evaluate("CSS.supports('selector(details::details-content)')"):
        assert min(page.evaluate(folded)) > 5
        assert page.evaluate(seen) == 0
    else:
        # The words to click on tell what is missing.
        assert page.evaluate(seen)


def numbers_of(test):
    """Return what the page must say, in words, of everything that `evaluate --json` found."""

    def percent(value):
        if 0 < value < 0.0005 or 0.9995 < value < 1:
            return "<0.1 %" if value < 0.5 else ">99.9 %"
        return f"{100 * value:.1f} %"

    def with_ends(value, low, high):
        return f"{percent(value)} ({100 * low:.1f} to {100 * high:.1f})"

    def points(value):
        return f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", "−")

    def share(found):
        if found["accuracy"] is None:  # nobody to count: the page has a dash there
            return "–"
        return with_ends(found["accuracy"], found["low"], found["high"])

    yield from map(share, (test["team"], test["model"]))
    for expert in test["experts"]:
        yield from (expert["name"], share(expert["alone"]))
        gain = expert["team_minus_expert"]
        ends = "" if gain["low"] is None else f" ({points(gain['low'])} to {points(gain['high'])})"
        yield points(gain["difference"]) + ends
        yield with_ends(expert["smooth_error"], expert["smooth_error_low"], expert["smooth_error_high"])
        if expert["probability_sd"] is not None:
            yield f"{expert['training_answers']} ± {100 * expert['probability_sd']:.1f}"
        promise = expert["promise"]
        if promise["promised"] is not None:
            yield from (with_ends(*(promise[name] for name in ("kept", "low", "high"))), percent(promise["promised"]))
    for line in test["recall"]:
        found = (with_ends(*(line[who + end] for end in ("", "_low", "_high"))) for who in ("team", "model"))
        yield " ".join([str(line["class"]), str(line["n"]), *found])
    for cell in test["skill_by_class"]:
        if cell["accuracy"] is not None:
            yield percent(cell["accuracy"])
    for line in test["model_by_predicted_class"]:
        yield with_ends(line["kept"], line["low"], line["high"])
    if test["panel"] is not None:
        yield with_ends(test["panel"]["kept"], test["panel"]["low"], test["panel"]["high"])
        yield share(test["panel"]["team_with_panels"])
    # The head says by itself whether the team is better.
    yield from (re.sub(r"-(?=\d+\.\d)", "−", said) for said in test["cautions"] if not said.startswith("The team is "))


def test_every_number_of_evaluate_is_in_the_page(opened, report):
    page = opened(1280, 800, "light")
    unfold(page)
    text = " ".join(page.inner_text("body").split())
    missing = [said for said in numbers_of(report[1]["test"]) if " ".join(said.split()) not in text]
    assert missing == []


def test_the_file_is_small(report):
    assert report[0].stat().st_size < 3 * MEGABYTE


def test_odd_and_long_names_are_names(browser, fifty):
    page = browser.new_page()
    page.goto(fifty[0].as_uri())
    heads = page.locator("#gain tbody th").all_text_contents()
    assert {ODD, LONG} <= set(heads)
    assert page.locator("b").count() == 0
    page.close()
