"""Are the probabilities calibrated: does 80 % mean right in 80 of 100 cases?"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.trials.trial import Trial
from defero.core.wording import count_of
from defero.judge.record.team import TeamRecord
from defero.judge.smooth import smooth_calibration_error
from defero.plotting import ReliabilityDisplay
from defero.report.html import Html, folded, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, with_interval
from defero.report.provenance import Evidence
from defero.report.svg import figure
from defero.report.tables import folded_rows, most_asked_first, table

TITLE = "Are the probabilities calibrated?"
TRAINING_ANSWERS, STANDARD_DEVIATION = "training answers", "standard deviation, in points"
UNCERTAINTY = (
    "The standard deviation says how uncertain the stated probability itself is, on average over these cases. It "
    "covers chance in this expert's answers only; the real error can be several times as large. It is larger for "
    "experts with few training answers."
)
WEIGHTS = (
    "This team uses weights, which say whom to listen to and not how likely anyone is to be right. It makes no "
    "promises, so there is no calibration to check."
)


def calibration(
    trial: Trial, record: TeamRecord, *, recalibration: tuple[str, ...], evidence: Evidence | None = None
) -> Html:
    """Return the section; `recalibration` says what recalibration did, `evidence` how well the experts are known."""
    if record.estimates == "weights":
        return section("calibration", TITLE, paragraph(WEIGHTS))
    tried = trial.uncalibrated is not trial.scores
    calibrated = tried and _changed(trial)
    before = _errors_before(trial) if calibrated else None
    model = record.model_calibration
    order = most_asked_first([expert.asked.total for expert in record.experts])
    columns = _evidence_columns(record, evidence)
    first = _row("the model", len(trial), model.smooth_error, model.smooth_low, model.smooth_high, before, -1)
    rows = []
    for j in order:
        expert = record.experts[j]
        ends = expert.smooth_low, expert.smooth_high
        row = _row(expert.name, expert.alone.total, expert.smooth_error, *ends, before, j)
        rows.append([*row, *(cells[j] for cells in columns.values())])
    return section(
        "calibration",
        TITLE,
        paragraph(
            "A probability is calibrated if about 80 % of the cases with “80 % likely to be right” are right. The "
            "error is the average distance from that, in percentage points: 0 is perfect calibration. With few cases "
            "chance alone makes the error larger, so read it together with its interval."
        ),
        _reliability_pictures(trial, record, order),
        folded_rows(
            rows,
            lambda part: _table(part, calibrated=calibrated, more=tuple(columns)),
            before=[[*first, *("" for _ in columns)]],
        ),
        tag("p", UNCERTAINTY, attributes={"class": "aside"}) if STANDARD_DEVIATION in columns else "",
        _recalibrated(recalibration, tried=tried, calibrated=calibrated),
        _by_predicted_class(record),
    )


def _evidence_columns(record: TeamRecord, evidence: Evidence | None) -> dict[str, list[str]]:
    """Return columns that say how well each expert is known, J cells each; columns without any number are left out."""
    columns = {}
    counts = [expert.training_answers for expert in record.experts]
    if any(n is not None for n in counts):
        columns[TRAINING_ANSWERS] = [NOTHING if n is None else count(n) for n in counts]
    expert_sd = () if evidence is None else evidence.expert_sd
    if any(not math.isnan(sd) for sd in expert_sd):
        columns[STANDARD_DEVIATION] = [NOTHING if math.isnan(sd) else f"± {100 * sd:.1f}" for sd in expert_sd]
    return columns


def _errors_before(trial: Trial) -> FloatArray:
    """Return the error before calibration of each expert and, last, of the model: (J + 1,)."""
    raw = trial.uncalibrated
    experts = smooth_calibration_error(raw.expert_proba, trial.expert_correct, observed=trial.observed, average=None)
    model = smooth_calibration_error(raw.model_proba, raw.class_idx == trial.label_idx)
    return np.append(experts, model)


def _row(name: str, n: int, error: float, low: float, high: float, before: FloatArray | None, j: int) -> list[str]:
    cell = NOTHING if math.isnan(error) else with_interval(error, low, high)
    return [name, count(n), cell, *([] if before is None else [percent(float(before[j]))])]


def _table(rows: Sequence[list[str]], *, calibrated: bool, more: tuple[str, ...]) -> Html:
    return table(
        "Distance of the stated probabilities from the share of right answers (smooth calibration error, 95 % "
        "interval).",
        ["", "cases", "error", *(["before recalibration"] if calibrated else []), *more],
        rows,
    )


def _by_predicted_class(record: TeamRecord) -> Html:
    """Return the model's promised and kept share of right answers, for each class that it predicts."""
    groups = record.by_predicted_class
    rows = []
    for g, k in enumerate(groups.groups):
        share_right = with_interval(float(groups.realised[g, 0]), float(groups.low[g, 0]), float(groups.high[g, 0]))
        promised = percent(float(groups.promised[g, 0]))
        rows.append([str(record.classes[int(k)]), count(int(groups.count[g, 0])), promised, share_right])
    html = table(
        "The model's share of right answers for each class that it predicts: promised, and kept (95 % interval).",
        ["predicted class", "cases", "promised", "kept"],
        rows,
    )
    return folded("Show the model by predicted class", html)


def _changed(trial: Trial) -> bool:
    """Whether recalibration changed any probability of these cases."""
    pairs = ((getattr(one, name) for one in (trial.scores, trial.uncalibrated)) for name in _PROBABILITIES)
    return any(not np.array_equal(now, before) for now, before in pairs)


_PROBABILITIES = ("class_proba", "expert_proba")


def _recalibrated(sentences: tuple[str, ...], *, tried: bool, calibrated: bool) -> Html:
    first = "The probabilities were not recalibrated on held-out cases."
    if calibrated:
        first = (
            "The probabilities were recalibrated on held-out cases; “before recalibration” is the error without that."
        )
    elif tried:
        first = "Held-out cases gave no reason to correct the probabilities: they are as the model learned them."
    return tag("p", " ".join([first, *sentences]), attributes={"class": "aside"})


_SIZE = (1.95, 1.85)
_ROOM = (0.19, 0.12, 0.72, 0.85)


def _reliability_pictures(trial: Trial, record: TeamRecord, order: list[int]) -> Html:
    """Return the model's picture and the experts' in the given order, in as many columns as fit on the page."""
    proba, correct, observed = trial.scores.expert_proba, trial.expert_correct, trial.observed
    error = record.model_calibration.smooth_error
    first = _picture("m", "the model", trial.model_proba, trial.model_correct, error)
    pictures = []
    for j in order:
        answered = observed[:, j]
        if answered.any():
            name, error = record.experts[j].name, record.experts[j].smooth_error
            pictures.append(_picture(f"e{j}", name, proba[answered, j], correct[answered, j], error))
    return joined([_legend(), folded_rows(pictures, _grid, before=[first])])


def _legend() -> Html:
    return tag(
        "p",
        "Horizontal: the stated probability of being right. Vertical: the share that was right. Calibrated "
        "probabilities lie on the dashed line. The pale boxes are 95 % intervals that hold for all boxes of a picture "
        "together; an orange diamond is farther from the line than chance explains. Grey bars count the answers.",
        attributes={"class": "aside"},
    )


def _grid(pictures: Sequence[Html]) -> Html:
    return tag("div", *pictures, attributes={"class": "many"})


def _picture(key: str, name: str, confidence: FloatArray, correct: BoolArray, error: float) -> Html:
    def draw(ax: Axes) -> None:
        display = ReliabilityDisplay.from_predictions(confidence, correct, ax=ax)
        # One legend above all pictures, and each name as text of the page.
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
        ax.set(xlabel="", ylabel="")
        display.axes_[0].set_title("")

    numbers = count_of(len(correct), "answer", "answers")
    numbers += "" if math.isnan(error) else f", error {percent(error)}"
    caption = joined([tag("strong", name), f" {numbers}"])
    label = f"Stated probability of being right and share of right answers of {name}, {numbers}"
    return figure(f"reliability-{key}", caption, draw, size=_SIZE, room=_ROOM, kind="small", label=label)
