"""Are the probabilities honest: does 80 % mean right in 80 of 100 cases?"""

import math
from collections.abc import Sequence

import numpy as np

from defero.core.checks import FloatArray
from defero.core.trial import Trial
from defero.metrics.smooth import smooth_calibration_error
from defero.metrics.team import TeamRecord
from defero.report.html import Html, folded, paragraph, section, table, tag
from defero.report.sections.many import in_parts, most_asked_first
from defero.report.sections.reliability import reliability_pictures
from defero.report.wording import NOTHING, count, percent, with_interval

TITLE = "Are the probabilities honest?"
WEIGHTS = (
    "This team goes by weights, which say whom to listen to and not how likely anybody is to be right: they promise "
    "nothing, so there is nothing here that could be kept or broken."
)


def honesty(trial: Trial, record: TeamRecord, *, calibration: tuple[str, ...]) -> Html:
    """Return the section; `calibration` says what recalibration did."""
    if record.estimates == "weights":
        return section("honesty", TITLE, paragraph(WEIGHTS))
    calibrated = trial.uncalibrated is not trial.scores
    before = _before(trial) if calibrated else None
    model = record.model_calibration
    order = most_asked_first([expert.asked.total for expert in record.experts])
    first = _row("the model", len(trial), model.smooth_error, model.smooth_low, model.smooth_high, before, -1)
    rows = []
    for j in order:
        expert = record.experts[j]
        ends = expert.smooth_low, expert.smooth_high
        rows.append(_row(expert.name, expert.alone.total, expert.smooth_error, *ends, before, j))
    return section(
        "honesty",
        TITLE,
        paragraph(
            "A probability is honest when, of all the cases with “80 % likely to be right”, about 80 % are right. The "
            "error is how far from that the probabilities are on average, in percentage points: 0 is perfectly honest. "
            "Chance alone makes it larger where there are few cases, so look at its interval."
        ),
        reliability_pictures(trial, record, order),
        in_parts(rows, lambda part: _table(part, calibrated=calibrated), before=[first]),
        _recalibrated(calibration, calibrated=calibrated),
        _by_class_named(record),
    )


def _before(trial: Trial) -> FloatArray:
    """Return the error before calibration of each expert and, last, of the model: (J + 1,)."""
    raw = trial.uncalibrated
    experts = smooth_calibration_error(raw.expert_proba, trial.expert_correct, observed=trial.observed, average=None)
    model = smooth_calibration_error(raw.model_proba, raw.class_idx == trial.label_idx)
    return np.append(experts, model)


def _row(name: str, n: int, error: float, low: float, high: float, before: FloatArray | None, j: int) -> list[str]:
    found = NOTHING if math.isnan(error) else with_interval(error, low, high)
    return [name, count(n), found, *([] if before is None else [percent(float(before[j]))])]


def _table(rows: Sequence[list[str]], *, calibrated: bool) -> Html:
    return table(
        "How far the stated chance of being right is from the truth (smooth calibration error, 95 % interval).",
        ["", "cases", "error", *(["before recalibration"] if calibrated else [])],
        rows,
    )


def _by_class_named(record: TeamRecord) -> Html:
    """Return the model's promise beside what it kept, for each class that it names."""
    found = record.by_predicted_class
    rows = []
    for g, k in enumerate(found.groups):
        kept = with_interval(float(found.realised[g, 0]), float(found.low[g, 0]), float(found.high[g, 0]))
        promised = percent(float(found.promised[g, 0]))
        rows.append([str(record.classes[int(k)]), count(int(found.count[g, 0])), promised, kept])
    shown = table(
        "The model's chance of being right, for each class that it names: promised, and kept (95 % interval).",
        ["the model says", "cases", "promised", "kept"],
        rows,
    )
    return folded("Show the model class by class", shown)


def _recalibrated(sentences: tuple[str, ...], *, calibrated: bool) -> Html:
    said = (
        "The probabilities were recalibrated on cases kept apart from training; the last column is what they were like "
        "before."
        if calibrated
        else "The probabilities are as training left them: the model was not recalibrated on cases of its own."
    )
    return tag("p", " ".join([said, *sentences]), attributes={"class": "aside"})
