"""A metric of another package: it is in text, JSON, frame and page of every evaluation."""

import re

import numpy as np
import pytest
from outside_parts import BRIER
from toy_team import ANSWERS, TEST, X, Y, fitted

from defero.judge import METRICS
from defero.judge.record import tables
from defero.report import Provenance, report_page
from defero.study.page import record_text
from defero.team.judge import record_of, try_out


@pytest.fixture
def trial_and_record():
    METRICS.register("brier", BRIER)
    team = fitted().team_
    trial = try_out(team, X[TEST], Y[TEST], ANSWERS[TEST])
    return trial, record_of(team, trial)


def test_text_json_frame_and_page_show_it(trial_and_record):
    trial, record = trial_and_record
    values = [one.figures["brier"].value for one in (*record.experts, record.model_member)]
    assert values[-1] == pytest.approx(np.mean((trial.model_proba - trial.model_correct) ** 2))
    plain = record.to_dict()
    assert [one["brier"] for one in plain["experts"]] == values[:-1]
    assert plain["model_calibration"]["brier"] == values[-1]
    assert [one.get("brier") for one in record.rows()] == [None, values[-1], *values[:-1]]
    text = record_text(record)
    assert "Brier score" in text
    assert re.search(r"  Brier score +mean squared", text)
    assert f"{100 * values[0]:.1f} %" in text
    assert "Brier score" in tables.calibration(record, before=None, expert_sd=()).head
    provenance = Provenance("team/", "cases.csv", 150, 0, 0, "-", "defero report", "today")
    assert "Brier score" in report_page(trial, record, provenance)


def test_an_installed_package_adds_one_without_being_imported(installed):
    installed("defero.metrics", "mean-square", "BRIER")
    assert METRICS.find("mean-square").column == "Brier score"
