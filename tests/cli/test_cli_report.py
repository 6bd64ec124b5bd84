"""`defero report`: the judgement of `evaluate` as one page."""

import json
import re

import pandas as pd
import pytest
from clinic import DOCTORS, enter, lesions, run, trained


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


def shown(page):
    """Return the words of a page, without its style."""
    body = page[page.index("<body>") :]
    return " ".join(re.sub(r"<[^>]*>", " ", body).split())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return what the command printed, its page, and what `evaluate` says; made once."""
    folder = trained(tmp_path_factory)[0]
    options = [folder / "model", folder / "cases.csv", "--seed", 3, "--label", "truth"]
    page = tmp_path_factory.mktemp("report") / "page.html"
    outcome = run("report", *options, "--out", page)
    return outcome, page, json.loads(run("evaluate", *options, "--json").out)["test"]


def test_it_writes_one_page_and_says_where(made):
    outcome, page, _ = made
    assert outcome.code == 0
    assert outcome.err == "note: blank cells, filled with the training median: size_mm in 1 row.\n"
    assert outcome.out.startswith(
        "128 of 160 rows were seen by fit and are left out.\nOn 32 held-out cases the team is"
    )
    assert outcome.out.endswith(f"\nWritten to {page}: open it in a browser.\n")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_its_numbers_are_those_of_evaluate(made):
    _, page, test = made
    text = shown(page.read_text(encoding="utf-8"))
    for member in (test["team"], test["model"], *(expert["alone"] for expert in test["experts"])):
        low, high = 100 * member["low"], 100 * member["high"]
        assert f"{100 * member['accuracy']:.1f} % ({low:.1f} to {high:.1f})" in text
    for expert in test["experts"]:
        low, high = 100 * expert["smooth_error_low"], 100 * expert["smooth_error_high"]
        assert f"{100 * expert['smooth_error']:.1f} % ({low:.1f} to {high:.1f})" in text
    for line in test["recall"]:
        shares = rf"{100 * line['team']:.1f} % [^%]*{100 * line['model']:.1f} %"
        assert re.search(rf"{line['class']} {line['n']} {shares}", text)
    # The head says by itself whether the team is better.
    assert all(sentence in text for sentence in test["cautions"] if not sentence.startswith("The team is "))
    for expert in test["experts"]:
        assert expert["probability_sd"] is None  # a linear net does not know how unsure it is
        assert re.search(rf"{expert['name']} {expert['alone']['n']} .* {expert['training_answers']} ", text)
    assert all(doctor in text for doctor in DOCTORS)


def test_the_foot_has_the_line_as_it_was_typed(made, tmp_path_factory):
    _, page, _ = made
    folder = trained(tmp_path_factory)[0]
    text = shown(page.read_text(encoding="utf-8"))
    line = f"defero report {folder}/model {folder}/cases.csv --seed 3 --label truth --out {page}"
    assert line in text
    assert "Rows 160, of which 128 were" in text
    assert re.search(r"32 rows, fingerprint [0-9a-f]{16} ", text)
    assert re.search(r"Libraries python [\d.]+, defero [\d.]+, numpy [\d.]+", text)
    assert re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d", text)


def test_json_is_evaluates_and_where_the_page_is(folder):
    lesions(12, seed=9).to_csv("fresh.csv", index=False)
    found = json.loads(run("report", "model", "fresh.csv", "--json").out)
    said = json.loads(run("evaluate", "model", "fresh.csv", "--json").out)
    assert found.pop("report") == "report.html"
    assert found == {name: value for name, value in said.items() if name != "against"}
    assert (folder / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("model", r"--out model: is a folder; name a file in it, such as model/report.html\."),
        ("no/such/page.html", r"--out no/such/page.html: the folder .*no/such does not exist; make it first\."),
        ("cases.csv", r"--out cases\.csv: is the table of cases itself; choose another name\."),
        ("rep.pdf", r"--out rep\.pdf: the page is HTML; name it rep\.html\. For a PDF open it in a browser and .*\."),
        ("rep", r"--out rep: the page is HTML; name it rep\.html\. .*\."),
        ("model/model.json", r"--out model/model\.json: lies in the model's folder, which stays as it is; .*folder\."),
    ],
)
def test_a_page_that_cannot_be_written_is_told_before_any_work(folder, monkeypatch, out, said):
    monkeypatch.setattr("defero.team.Team.load", None)
    outcome = run("report", "model", "cases.csv", "--out", out)
    assert (outcome.code, outcome.out) == (2, "")
    assert re.fullmatch(rf"defero: {said}\n", outcome.err)


def test_the_log_of_answers_is_no_page(folder, monkeypatch):
    monkeypatch.setattr("defero.team.Team.load", None)
    (folder / "log.csv").write_text("id,who,said\n", encoding="utf-8")
    outcome = run("report", "model", "cases.csv", "--answers", "log.csv", "--out", "log.csv")
    assert outcome.code == 2
    assert outcome.err == "defero: --out log.csv: is the log of answers itself; choose another name.\n"
    assert (folder / "log.csv").read_text(encoding="utf-8") == "id,who,said\n"


def test_a_table_of_nothing_new_is_refused_and_leaves_no_page(folder):
    from defero import Team
    from defero.data.fingerprint import held_out, row_fingerprints

    cases = lesions()
    seen = ~held_out(
        Team.load("model").all_seen(), row_fingerprints(pd.read_csv("cases.csv")[["age", "size_mm", "site"]])
    )
    cases[seen].to_csv("seen.csv", index=False)
    outcome = run("report", "model", "seen.csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "all 128 rows were seen by fit" in outcome.err
    assert not (folder / "report.html").exists()
