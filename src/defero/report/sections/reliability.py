"""One small picture for each forecaster: said against came true."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from defero.core.checks import BoolArray, FloatArray
from defero.core.trial import Trial
from defero.core.wording import count_of
from defero.metrics.record.team import TeamRecord
from defero.plotting import ReliabilityDisplay
from defero.report.html import Html, joined, tag
from defero.report.sections.many import in_parts
from defero.report.svg import figure
from defero.report.wording import percent

_SIZE = (1.95, 1.85)
_ROOM = (0.19, 0.12, 0.72, 0.85)


def reliability_pictures(trial: Trial, record: TeamRecord, order: list[int]) -> Html:
    """Return the model's picture and the experts', in the order given, in columns as many as the page has room for."""
    proba, correct, observed = trial.scores.expert_proba, trial.expert_correct, trial.observed
    error = record.model_calibration.smooth_error
    first = _picture("m", "the model", trial.scores.model_proba, trial.model_correct, error)
    pictures = []
    for j in order:
        seen = observed[:, j]
        if seen.any():
            name, error = record.experts[j].name, record.experts[j].smooth_error
            pictures.append(_picture(f"e{j}", name, proba[seen, j], correct[seen, j], error))
    return joined([_legend(), in_parts(pictures, _grid, before=[first])])


def _legend() -> Html:
    return tag(
        "p",
        "Across: the chance of being right that was stated. Up: how often it came true. Honest probabilities lie on "
        "the dashed line. The pale boxes are 95 % intervals, all of one picture together; an orange diamond lies "
        "farther from the line than chance explains. Grey bars below count the answers.",
        attributes={"class": "aside"},
    )


def _grid(pictures: Sequence[Html]) -> Html:
    return tag("div", *pictures, attributes={"class": "many"})


def _picture(key: str, name: str, confidence: FloatArray, correct: BoolArray, error: float) -> Html:
    def draw(ax: Axes) -> None:
        display = ReliabilityDisplay.from_predictions(confidence, correct, ax=ax)
        # One key above all pictures, and each name as text of the page.
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
        ax.set(xlabel="", ylabel="")
        display.axes_[0].set_title("")

    off = "" if math.isnan(error) else f", error {percent(error)}"
    caption = joined([tag("strong", name), f" {count_of(len(correct), 'answer', 'answers')}{off}"])
    label = f"Stated and true chance of being right of {name}, {count_of(len(correct), 'answer', 'answers')}{off}"
    return figure(f"reliability-{key}", caption, draw, size=_SIZE, room=_ROOM, kind="small", label=label)
