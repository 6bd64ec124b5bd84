"""Panels: what they promise, what they kept, how many experts they ask."""

from defero.core.trial import Trial
from defero.metrics.record.panel import PanelRecord
from defero.metrics.record.team import TeamRecord
from defero.plotting import SetSizeDisplay
from defero.report.html import Html, paragraph, section, table
from defero.report.svg import figure
from defero.report.wording import count, percent, plus_minus, share, with_interval


def panels(trial: Trial, record: TeamRecord) -> Html:
    """Return the section; where the team has no panel, or none that was judged, it says so."""
    panel = record.panel
    if panel is None:
        none = record.panel_note or "This team has no panel: each deferred case goes to one expert."
        return section("panels", "What do panels of experts promise?", paragraph(none))
    rows = [
        ["promised", f"{panel.bound} {percent(panel.asked_for)}"],
        ["kept here", with_interval(panel.kept, panel.low, panel.high)],
        ["cases that count for the promise", count(panel.cases)],
        ["cases a panel would decide", count(panel.deferred)],
        ["experts on a panel", plus_minus(panel.raw_size, panel.raw_size_half)],
        ["the same, once an empty panel gets the top expert", plus_minus(panel.filled_size, panel.filled_size_half)],
        ["the team right, with panels voting", share(panel.accuracy)],
    ]
    parts = [
        paragraph(
            "Instead of one expert, a panel can be asked: the smallest group that keeps a promise. ", panel.promise
        ),
        paragraph(_kept(panel)),
        table(f"The panels' promise ({panel.target}) and what was kept, with 95 % intervals.", ["", "value"], rows),
    ]
    if panel.deferred:
        caption = "How many experts a panel has, over the deferred cases."
        parts.append(figure("sizes", caption, lambda ax: SetSizeDisplay.from_trial(trial, ax=ax), size=(5.2, 3.2)))
    return section("panels", "What do panels of experts promise?", *parts)


def _kept(panel: PanelRecord) -> str:
    if panel.kept_promise is None:
        return "No deferred case here can tell whether the promise is kept."
    if panel.kept_promise == "less":
        return "The promise was not kept on these cases: are they of the same kind as those it was calibrated on?"
    if panel.kept_promise == "too few":
        return "These cases are too few to tell whether the promise is kept."
    return "What was kept agrees with the promise."
