"""Are the probabilities honest: does 80 % mean right in 80 of 100 cases?"""

import math
from collections.abc import Sequence

import numpy as np

from defero.core.checks import FloatArray
from defero.core.trial import Trial
from defero.metrics.probabilities.smooth import smooth_calibration_error
from defero.metrics.record.team import TeamRecord
from defero.report.evidence import Evidence
from defero.report.html import Html, folded, paragraph, section, table, tag
from defero.report.sections.many import in_parts, most_asked_first
from defero.report.sections.reliability import reliability_pictures
from defero.report.wording import NOTHING, count, percent, with_interval

TITLE = "Are the probabilities honest?"
LEARNED_FROM, GIVE_OR_TAKE = "answers learned from", "give or take, in points"
DOUBT = (
    "“Give or take” is how unsure the stated chance itself is (its standard deviation, on average over these cases): "
    "the fewer of their answers were learned from, the less is known of an expert."
)
WEIGHTS = (
    "This team goes by weights, which say whom to listen to and not how likely anybody is to be right: they promise "
    "nothing, so there is nothing here that could be kept or broken."
)


def honesty(
    trial: Trial, record: TeamRecord, *, calibration: tuple[str, ...], evidence: Evidence | None = None
) -> Html:
    """Return the section; `calibration` says what recalibration did, `evidence` how well the experts are known."""
    if record.estimates == "weights":
        return section("honesty", TITLE, paragraph(WEIGHTS))
    calibrated = trial.uncalibrated is not trial.scores
    before = _before(trial) if calibrated else None
    model = record.model_calibration
    order = most_asked_first([expert.asked.total for expert in record.experts])
    known = _known(record, evidence)
    first = _row("the model", len(trial), model.smooth_error, model.smooth_low, model.smooth_high, before, -1)
    rows = []
    for j in order:
        expert = record.experts[j]
        ends = expert.smooth_low, expert.smooth_high
        row = _row(expert.name, expert.alone.total, expert.smooth_error, *ends, before, j)
        rows.append([*row, *(cells[j] for cells in known.values())])
    return section(
        "honesty",
        TITLE,
        paragraph(
            "A probability is honest when, of all the cases with “80 % likely to be right”, about 80 % are right. The "
            "error is how far from that the probabilities are on average, in percentage points: 0 is perfectly honest. "
            "Chance alone makes it larger where there are few cases, so look at its interval."
        ),
        reliability_pictures(trial, record, order),
        in_parts(
            rows,
            lambda part: _table(part, calibrated=calibrated, more=tuple(known)),
            before=[[*first, *("" for _ in known)]],
        ),
        tag("p", DOUBT, attributes={"class": "aside"}) if GIVE_OR_TAKE in known else "",
        _recalibrated(calibration, calibrated=calibrated),
        _by_class_named(record),
    )


def _known(record: TeamRecord, evidence: Evidence | None) -> dict[str, list[str]]:
    """Return columns that say how well each expert is known, J cells each; none where nothing is."""
    columns = {}
    counts = [one.training_answers for one in record.experts]
    if any(n is not None for n in counts):
        columns[LEARNED_FROM] = [NOTHING if n is None else count(n) for n in counts]
    sd = () if evidence is None else evidence.expert_sd
    if any(not math.isnan(one) for one in sd):
        columns[GIVE_OR_TAKE] = [NOTHING if math.isnan(one) else f"± {100 * one:.1f}" for one in sd]
    return columns


def _before(trial: Trial) -> FloatArray:
    """Return the error before calibration of each expert and, last, of the model: (J + 1,)."""
    raw = trial.uncalibrated
    experts = smooth_calibration_error(raw.expert_proba, trial.expert_correct, observed=trial.observed, average=None)
    model = smooth_calibration_error(raw.model_proba, raw.class_idx == trial.label_idx)
    return np.append(experts, model)


def _row(name: str, n: int, error: float, low: float, high: float, before: FloatArray | None, j: int) -> list[str]:
    found = NOTHING if math.isnan(error) else with_interval(error, low, high)
    return [name, count(n), found, *([] if before is None else [percent(float(before[j]))])]


def _table(rows: Sequence[list[str]], *, calibrated: bool, more: tuple[str, ...]) -> Html:
    return table(
        "How far the stated chance of being right is from the truth (smooth calibration error, 95 % interval).",
        ["", "cases", "error", *(["before recalibration"] if calibrated else []), *more],
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
        "The probabilities were recalibrated on cases kept apart from training; “before recalibration” is what they "
        "were like then."
        if calibrated
        else "The probabilities are as training left them: the model was not recalibrated on cases of its own."
    )
    return tag("p", " ".join([said, *sentences]), attributes={"class": "aside"})
