"""What deferring more or fewer cases would bring, and who would get them."""

from collections.abc import Sequence

from defero.core.results import MODEL
from defero.core.trial import Trial
from defero.metrics.deferral import DeferralPoint
from defero.metrics.record.team import TeamRecord
from defero.plotting import DeferralCurveDisplay
from defero.plotting.style import whole_percent
from defero.report.html import Html, folded, paragraph, section, table
from defero.report.sections.many import too_many
from defero.report.svg import figure
from defero.report.wording import count, percent, points, share


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
    caption = "Accuracy of the team as ever more cases are deferred, those with the largest expected gain first."
    return section(
        "deferral",
        "What if more or fewer cases went to experts?",
        paragraph(
            "Experts cost time. Here the cases go to experts in the order of their expected gain, up to a share that "
            "you choose. As it is, the team defers where it expects to gain, which is "
            f"{percent(1 - record.coverage)} of these cases."
        ),
        figure("curve", caption, lambda ax: DeferralCurveDisplay.from_trial(trial, ax=ax), size=(5.2, 3.8))
        if (trial.decision.best_expert != MODEL).any()
        else "",
        table(
            "Accuracy for each share of cases deferred (95 % interval).",
            ["share wanted", "share deferred", "team right", "gain over the model, in points"],
            rows,
        ),
        _loads(record.deferral, [expert.name for expert in record.experts]),
    )


def _loads(at: Sequence[DeferralPoint], names: list[str]) -> Html:
    """Return who gets how many cases at each share; those who would get most first."""
    if not names:
        return Html("")
    order = sorted(range(len(names)), key=lambda j: (-max(int(point.load[j]) for point in at), j))
    rows = [[names[j], *(count(int(point.load[j])) for point in at)] for j in order]
    shown = table(
        "Cases each expert gets when this share of all cases is deferred.",
        ["", *(whole_percent(point.wanted) for point in at)],
        rows,
        kind="dense",
    )
    return folded(f"Show each expert's load ({count(len(names))})", shown) if too_many(len(names)) else shown
