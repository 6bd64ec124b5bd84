"""What a person reads of a record: where something cannot be said, it is not made up."""

import re
from dataclasses import replace

import numpy as np
import pytest

from defero.core.results import Decision
from defero.core.scores import Scores
from defero.core.trial import Trial
from defero.judge import compare, team_record
from defero.judge.intervals import Share
from defero.judge.panels import PanelRecord
from defero.judge.record import tables
from defero.judge.record.figures import Figure
from defero.study.page import record_text

PANEL = PanelRecord(
    "A promise.", "any-correct", 0.1, 0.9, 1.0, 0.2, 1.0, 1, 1, 1.0, 2.0, *[np.nan] * 2, Share(3, 4), None
)


@pytest.fixture
def trial():
    """Return forty cases of two classes, the odd ones given to an expert who is always right."""
    label_idx = np.arange(40) % 2
    scores = Scores.from_probabilities(np.tile([0.6, 0.4], (40, 1)), np.tile([0.7], (40, 1)))
    whom = np.where(label_idx == 1, 0, -1)
    value = scores.model_proba
    decision = Decision(whom, ("ann",), np.zeros(40), value, np.zeros(40, int), np.full(40, 0.7))
    return Trial(np.array(["no", "yes"]), label_idx, label_idx[:, None], scores, decision, scores)


def shown(trial):
    return record_text(team_record(trial, rng=np.random.default_rng(0))) + "\n"


def test_classes_have_intervals(trial):
    out = shown(trial)
    assert "no        20  100.0 %  (83.9 to 100.0)  100.0 %  (83.9 to 100.0)\n" in out
    assert "yes       20  100.0 %  (83.9 to 100.0)      0.0 %  (0.0 to 16.1)\n" in out


def test_weights_are_not_shown_as_promises(trial):
    weights = replace(trial.scores, link="weight")
    out = shown(replace(trial, scores=weights, uncalibrated=weights))
    assert "This team decides by weights, which are no probabilities, so it makes no promises." in out
    assert "promised there" not in out
    assert "smooth error" not in out
    assert "promised there" in shown(trial)


def test_panels_that_were_not_judged_are_told(trial):
    out = shown(replace(trial, panel_note="Its panels are not judged here."))
    assert "\nIts panels are not judged here.\n" in out


def test_the_size_of_one_panel_has_no_spread():
    out = tables.panel(PANEL).text()
    assert re.search(r"^experts per panel +1\.0$", out, re.MULTILINE)
    assert re.search(r"^experts per panel, no panel empty +2\.0$", out, re.MULTILINE)
    assert "nan" not in out
    out = tables.panel(replace(PANEL, raw_size_half=0.25, filled_size_half=0.5)).text()
    assert "1.0 ± 0.2" in out
    assert "2.0 ± 0.5" in out


def test_a_difference_with_its_interval():
    assert str(Figure.gain(compare([1], [0]))) == "+100.0  (-60.4 to +100.0)"
    assert str(Figure.gain(compare([], []))) == "-"
