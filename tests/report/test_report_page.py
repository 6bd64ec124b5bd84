"""The page: whole, closed in itself, readable by a browser and by a reader of screens."""

import re
from dataclasses import replace

import numpy as np
import pytest
from report_trials import NASTY, Reader, page_of, provenance, trial_and_record

from defero.core.scores import Scores
from defero.judge import team_record
from defero.report import report_page
from defero.report.page import CONTENTS, sentence


@pytest.fixture(scope="module")
def team():
    return trial_and_record()


@pytest.fixture(scope="module")
def page():
    return page_of()


@pytest.fixture(scope="module")
def read(page):
    return Reader(page)


def test_it_needs_nothing_from_outside_and_no_script(page, read):
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert "http" not in page
    assert "@import" not in page
    assert {"script", "link", "img", "iframe"}.isdisjoint(name for name, _ in read.tags)
    assert {"src", "srcset", "onclick", "onload"}.isdisjoint(name for name, _ in read.attributes)
    assert len(page) < 1_000_000


def test_ids_are_distinct_and_links_lead_somewhere(read):
    assert len(set(read.ids)) == len(read.ids)
    assert {target.removeprefix("#") for target in read.targets} <= set(read.ids)
    assert set(CONTENTS) - {"groups"} <= set(read.ids)


def test_headings_go_down_one_step_at_a_time(read):
    assert read.levels[0] == 1
    assert read.levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(read.levels, read.levels[1:], strict=False))


def test_tables_and_pictures_can_be_read_aloud(read):
    assert all("scope" in values for name, values in read.tags if name == "th")
    pictures = [values for name, values in read.tags if name == "svg"]
    assert len(pictures) > 5
    assert all(values.get("aria-label") or values.get("aria-hidden") == "true" for values in pictures)


def test_names_are_shown_as_they_are_and_do_nothing(page, read):
    assert read.text.count(NASTY) >= 5
    assert "<i>odd</i>" in read.text
    assert "wards/<new>.csv" in read.text
    assert {"b", "i", "new"}.isdisjoint(name for name, _ in read.tags)
    assert "<b>" not in page


def test_no_picture_has_a_colour_that_the_dark_page_cannot_change(read):
    inside = [values.get("style", "") for name, values in read.tags if name in ("path", "use", "text", "line", "g")]
    assert set(re.findall(r"#[0-9a-f]{6}", " ".join(inside))) == set()
    assert {"var(--team)", "var(--model)", "var(--expert)"} <= set(re.findall(r"var\(--\w+\)", " ".join(inside)))


def test_the_first_words_are_the_answer_then_come_the_cautions(team, read):
    _, record = team
    result = " ".join(sentence(record).split())
    start = read.text.index
    assert start(result) < start("Team accuracy") < start("recorded answers:") < start("What does the team gain?")
    assert all(one.replace("-", "−") in read.text.replace("-", "−") for one in record.cautions if "beyond" not in one)


def test_it_says_what_recorded_answers_can_tell(team, read):
    _, record = team
    assert f"{record.recorded_answers_per_item:.1f} of 3 experts answered" in read.text
    assert f"{100 * record.coverage_with_all:.1f} % if every expert could be asked" in read.text


def test_the_foot_says_how_to_make_it_again(read):
    foot = read.text[read.text.index("How this report was made") :]
    for fact in (
        "1,500, of which 1,380 were",
        "00ff00ff00ff00ff",
        "numpy 2.4.6",
        "label truth",
        "2026-01-02 03:04 UTC",
    ):
        assert fact in foot
    assert "defero report model 'wards/<new>.csv' --out report.html --seed 7" in foot


def test_the_same_trial_is_the_same_page(team, page):
    assert report_page(*team, provenance()) == page


@pytest.mark.parametrize(("n", "names"), [(1, ("ann",)), (3, ("ann", "bob"))])
def test_a_page_can_be_made_of_little(n, names):
    text = Reader(page_of(n, names, panel=False)).text
    assert f"On {n} held-out case" in text
    assert "nan" not in re.findall(r"\w+", text)
    assert "This team has no panel" in text


def test_without_experts_nothing_is_said_of_a_team():
    read = Reader(page_of(40, (), panel=False))
    _, record = trial_and_record(40, (), panel=False)
    assert f"On 40 held-out cases the model is right on {100 * record.model.value:.1f} %." in read.text
    assert read.text.count("The team has no experts") == 1
    before_the_glossary = read.text[: read.text.index("How to read this report Team")]
    for words in (
        "Asking experts",
        "These cases do not show",
        "Which expert",
        "Who is asked",
        "Decided by",
        "of the team",
    ):
        assert words not in before_the_glossary
    assert list(read.rows("gain")) == ["the model"]
    assert list(read.rows("load")) == ["the model"]
    assert {len(row) for row in read.rows("classes").values()} == {2}
    assert {target.removeprefix("#") for target in read.targets} <= set(read.ids)


def test_weights_are_not_judged_as_probabilities():
    trial, _ = trial_and_record()
    scores = trial.scores
    weights = Scores(scores.class_proba, scores.expert_proba, scores.model_proba, scores.expert_raw, "weight")
    trial = replace(trial, scores=weights, uncalibrated=weights, panel=None)
    read = Reader(report_page(trial, team_record(trial, rng=np.random.default_rng(0)), provenance()))
    assert read.text.count("This team uses weights") == 1
    assert [name for name in read.ids if name.startswith("reliability")] == []
    assert read.rows("calibration") == {}
    assert {len(row) for row in read.rows("load").values()} == {3}
    body = read.text[: read.text.index("How to read this report Team")]
    assert "romised" not in body
    assert "confidence of the model" not in body
    assert "nan" not in re.findall(r"\w+", read.text)


def test_of_many_experts_the_most_asked_are_in_sight_and_the_others_one_click_away(team, monkeypatch):
    monkeypatch.setattr("defero.report.page.IN_SIGHT", 1)
    monkeypatch.setattr("defero.report.page.SPARED", 0)
    _, record = team
    read = Reader(report_page(*team, provenance()))
    assert read.text.count("Show the other 2 experts") == 4
    load = read.text[read.text.index("Who is asked, and are") : read.text.index("Are the probabilities calibrated?")]
    in_sight, _, folded = load.partition("Show the other 2 who are asked")
    most = max(record.experts, key=lambda expert: expert.asked.total).name
    table = in_sight[in_sight.index("Cases that each") :]
    assert most in table
    assert all((expert.name in table) == (expert.name == most) for expert in record.experts)
    assert all(expert.name in folded for expert in record.experts if expert.name != most)
