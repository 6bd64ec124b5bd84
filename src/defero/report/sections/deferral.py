"""Accuracy of the team by the share of deferred cases, and who would get them."""

from collections.abc import Sequence

from defero.core.results import MODEL
from defero.core.trials.trial import Trial
from defero.metrics.deferral import DeferralPoint
from defero.metrics.record.team import TeamRecord
from defero.plotting import DeferralCurveDisplay
from defero.plotting.style import whole_percent
from defero.report.html import Html, folded, paragraph, section
from defero.report.numbers import count, percent, points, share
from defero.report.svg import figure
from defero.report.tables import table, too_many


def deferral(trial: Trial, record: TeamRecord) -> Html:
    """Return the section."""
    model = record.model.value
    rows = [
        [
            whole_percent(point.wanted),
            percent(point.rate),
            share(point.accuracy),
            points(point.accuracy.value - model),
        ]
        for point in record.deferral
    ]
    caption = "Accuracy of the team by the share of deferred cases, those with the largest expected gain first."
    return section(
        "deferral",
        "What if more or fewer cases went to experts?",
        paragraph(
            "Experts cost time. This is the accuracy if a given share of the cases goes to experts, those with the "
            "largest expected gain first, also where that gain is below 0. Without a limit the team defers every "
            f"case with an expected gain, which is {percent(1 - record.coverage)} of these cases."
        ),
        figure("curve", caption, lambda ax: DeferralCurveDisplay.from_trial(trial, ax=ax), size=(5.2, 3.8))
        if (trial.decision.best_expert != MODEL).any()
        else "",
        table(
            "Accuracy of the team if this share of the cases is deferred (95 % interval). Cases without a recorded "
            "answer cannot be deferred.",
            ["share wanted", "share deferred", "accuracy", "gain over the model, in points"],
            rows,
        ),
        _loads(record.deferral, [expert.name for expert in record.experts]),
    )


def _loads(curve: Sequence[DeferralPoint], names: list[str]) -> Html:
    """Return how many cases each expert gets at each share; those who would get most first."""
    if not names:
        return Html("")
    order = sorted(range(len(names)), key=lambda j: (-max(int(point.load[j]) for point in curve), j))
    rows = [[names[j], *(count(int(point.load[j])) for point in curve)] for j in order]
    html = table(
        "Cases that each expert gets if this share of all cases is deferred.",
        ["", *(whole_percent(point.wanted) for point in curve)],
        rows,
        kind="dense",
    )
    return folded(f"Show each expert's load ({count(len(names))})", html) if too_many(len(names)) else html
