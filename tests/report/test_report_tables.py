"""The page's tables, row by row: every number stands beside the name that it belongs to."""

import math
from dataclasses import replace

import pytest
from report_trials import Reader, page_of, trial_and_record

from defero.core.scores import Scores
from defero.judge.intervals import Share
from defero.judge.smooth import smooth_calibration_error
from defero.report.sections.calibration import calibration
from defero.report.sections.skill import skill
from defero.report.tables import Scale, whisker


@pytest.fixture(scope="module")
def team():
    return trial_and_record()


@pytest.fixture(scope="module")
def read(team):
    return Reader(page_of())


def percents(value):
    if 0 < value < 0.0005 or 0.9995 < value < 1:
        return "<0.1 %" if value < 0.5 else ">99.9 %"
    return "–" if math.isnan(value) else f"{100 * value:.1f} %"


def with_ends(value, low, high):
    return percents(value) if math.isnan(low) else f"{percents(value)} ({100 * low:.1f} to {100 * high:.1f})"


def share(value):
    return with_ends(value.value, *value.interval)


def points(value):
    return f"{round(100 * value, 1) + 0.0:+.1f}".replace("-", "−")


def gained(gain):
    return f"{points(gain.difference)} ({points(gain.low)} to {points(gain.high)})"


def test_gain(team, read):
    _, record = team
    rows = read.rows("gain")
    ranked = sorted(record.experts, key=lambda expert: -expert.alone.value)
    assert list(rows) == ["the team", "the model alone", *(expert.name for expert in ranked)]
    assert rows["the team"] == [share(record.team), "", "", str(record.team.total)]
    assert rows["the model alone"] == [share(record.model), "", gained(record.gain), str(record.model.total)]
    for expert in record.experts:
        assert rows[expert.name] == [share(expert.alone), "", gained(expert.gain), str(expert.alone.total)]


def test_whiskers_are_drawn_where_the_shares_are(team, read):
    _, record = team
    cells = read.cells("gain")
    (head,) = [name for name in cells["the team"] if name.endswith("to 100 %")]
    lowest = float(head.split()[0]) / 100
    shares = {"the team": record.team, "the model alone": record.model}
    for name, accuracy in (shares | {expert.name: expert.alone for expert in record.experts}).items():
        lines = cells[name][head].lines
        low, high, value, team_share = (
            pytest.approx(100 * (end - lowest) / (1 - lowest), abs=0.006)
            for end in (*accuracy.interval, accuracy.value, record.team.value)
        )
        assert lines == {"track": (0, 100), "mark": (team_share,) * 2, "span": (low, high), "dot": (value,) * 2}


def test_a_whisker_without_cases_is_empty():
    assert whisker(Share(0, 0), scale=Scale(0.0), mark=0.5).content == ""


def test_recall(team, read):
    _, record = team
    assert list(read.rows("classes")) == [str(recall.label) for recall in record.recall]
    for recall in record.recall:
        by = points(recall.team.value - recall.model.value)
        assert read.rows("classes")[str(recall.label)] == [
            str(recall.team.total),
            share(recall.team),
            share(recall.model),
            by,
        ]


def test_load(team, read):
    _, record = team
    rows, model = read.rows("load"), record.model_calibration
    asked = sorted((one for one in record.experts if one.asked.total), key=lambda one: -one.asked.total)
    assert list(rows) == ["the team", "the model", *(expert.name for expert in asked)]
    lines = {"the team": record.promises.total, "the model": model.promise}
    lines |= {expert.name: expert.promise for expert in asked}
    for name, promise in lines.items():
        part = percents(promise.kept.total / record.team.total)
        ends = with_ends(promise.kept.value, *promise.interval)
        assert rows[name][:-1] == [str(promise.kept.total), part, percents(promise.promised), ends]


def test_calibration(team, read):
    trial, record = team
    rows, model = read.rows("calibration", "Distance"), record.model_calibration
    assert len(rows) == 4
    error = with_ends(model.smooth_error, model.smooth_low, model.smooth_high)
    assert rows["the model"] == [str(len(trial)), error]
    for expert in record.experts:
        error = with_ends(expert.smooth_error, expert.smooth_low, expert.smooth_high)
        assert rows[expert.name] == [str(expert.alone.total), error]
    groups, rows = record.by_predicted_class, read.rows("calibration", "The model's share")
    assert len(rows) == len(groups.groups)
    for g, k in enumerate(groups.groups):
        kept = with_ends(groups.realised[g, 0], groups.low[g, 0], groups.high[g, 0])
        line = [str(groups.count[g, 0]), percents(groups.promised[g, 0]), kept]
        assert rows[str(record.classes[int(k)])] == line


def test_the_error_before_calibration_is_shown_where_there_was_one(team, read):
    assert "before recalibration" not in read.text
    assert "not recalibrated" in read.text
    trial, record = team
    other = Scores.from_probabilities(trial.scores.class_proba, 0.5 * trial.scores.expert_proba)
    sentences = ("Recalibrated on 90 cases.",)
    shown = Reader(calibration(replace(trial, uncalibrated=other), record, recalibration=sentences))
    before = smooth_calibration_error(
        0.5 * trial.scores.expert_proba, trial.expert_correct, observed=trial.observed, average=None
    )
    rows = shown.rows("calibration", "Distance")
    assert [rows[expert.name][-1] for expert in record.experts] == [percents(error) for error in before]
    assert rows["the model"][-1] == percents(smooth_calibration_error(trial.scores.model_proba, trial.model_correct))
    assert "Recalibrated on 90 cases." in shown.text


def test_panels(team, read):
    panel, rows = team[1].panel, read.rows("panels")
    assert list(rows.values()) == [
        [f"at least {percents(panel.asked_for)}"],
        [with_ends(panel.kept, panel.low, panel.high)],
        [str(panel.cases)],
        [str(panel.deferred)],
        [f"{panel.raw_size:.1f} ± {panel.raw_size_half:.1f}"],
        [f"{panel.filled_size:.1f} ± {panel.filled_size_half:.1f}"],
        [share(panel.accuracy)],
    ]


def test_skill(team, read):
    _, record = team
    cells = read.cells("skill")
    assert len(cells) == len(record.experts)
    for j, expert in enumerate(record.experts):
        for k, label in enumerate(record.classes):
            assert str(cells[expert.name][str(label)]) == percents(record.skill.accuracy[j, k])
            assert ("faint" in cells[expert.name][str(label)].kinds) == (record.skill.count[j, k] < 10)


def test_skill_of_few_answers_is_faint():
    _, record = trial_and_record(12, ("ann", "bob"), panel=False)
    cells = Reader(skill(record)).cells("skill")
    kinds = {"faint" in cell.kinds for row in cells.values() for cell in row.values() if str(cell) != "–"}
    assert kinds == {True}
