"""How well each expert is known, who is not asked alone, and how answers were given, on the page."""

import math
from dataclasses import replace

import pytest
from report_trials import NASTY, Reader, provenance, trial_and_record

from defero.report import Evidence, report_page

pytestmark = pytest.mark.usefixtures("empty_pictures")


def page(counts=(400, 3, 0), sd=(0.021, 0.113, math.nan), least=5, **changes):
    trial, record = trial_and_record()
    experts = tuple(replace(one, training_answers=n) for one, n in zip(record.experts, counts, strict=True))
    evidence = Evidence(expert_sd=sd, min_answers=least)
    return Reader(report_page(trial, replace(record, experts=experts), provenance(**changes), evidence=evidence))


def test_the_doubt_and_the_answers_behind_it_are_columns():
    cells = page().cells("calibration", "Distance")
    shown = {
        name: [str(row[head]) for head in ("training answers", "standard deviation, in points")]
        for name, row in cells.items()
    }
    assert shown == {"the model": ["", ""], NASTY: ["400", "± 2.1"], "bob": ["3", "± 11.3"], "eve": ["0", "–"]}


def test_without_doubt_or_counts_there_are_no_columns():
    trial, record = trial_and_record()
    plain = Reader(report_page(trial, record, provenance()))
    assert set(plain.cells("calibration", "Distance")["bob"]) == {"cases", "error"}
    assert "standard deviation" not in plain.text
    nobody = page(sd=(math.nan,) * 3)
    assert set(nobody.cells("calibration", "Distance")["bob"]) == {"cases", "error", "training answers"}
    assert "standard deviation" not in nobody.text


def test_who_is_not_asked_alone_is_named_with_their_answers():
    text = page().text
    assert "fewer than 5 training answers" in text
    assert ": eve (0), bob (3)." in text
    assert "Never asked alone" not in page(counts=(5, 6, 7)).text
    assert "Never asked alone" not in page(counts=(None, None, None)).text
    assert f"{NASTY} (1)." in page(counts=(1, 2, 3), least=2).text
    assert "fewer than 1 training answer " in page(counts=(1, 0, 3), least=1).text


def test_what_training_learned_about_the_answers_is_shown():
    read = page(answering=("Class <b> was seen more.", "Weigh them."))
    assert "Were answers given at random? " in read.text
    assert "Class <b> was seen more. Weigh them." in read.text
    assert "answering-title" in read.ids
    assert "given at random" not in page().text
