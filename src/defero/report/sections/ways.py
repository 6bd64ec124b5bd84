"""Ways of asking: one expert, one after the other, a panel with its promise, and what one can do without a team."""

from defero.core.trials.trial import Trial
from defero.judge.record.panel import PanelRecord
from defero.judge.record.team import TeamRecord
from defero.judge.record.ways import WayRecord, better_than_team
from defero.plotting import SetSizeDisplay
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, plus_minus, points, points_interval, share, with_interval
from defero.report.svg import figure
from defero.report.tables import Cell, table


def ways(record: TeamRecord) -> Html:
    """Return the section: every way on the same cases."""
    fee = "the fees of the questions" if record.fees_given else "0.01 of an error for each question, as no fee is set"
    unit = " (1 each)" if record.costs is None else ""
    promising = record.estimates == "probabilities"
    promised = " Promised: the mean stated probability that the label is right." if promising else ""
    better = {one.name for one in better_than_team(record.ways, record.ask)}
    return section(
        "ways",
        "Which way of asking is best?",
        paragraph(
            "The same cases, settled in every way. Only recorded answers can be heard; a case without any is decided "
            f"by the model. Cost is what errors cost{unit} plus {fee}."
        ),
        table(
            f"Ways of asking, with 95 % intervals.{promised}",
            [
                *("", "accuracy", "questions per case", "cost"),
                *(["promised"] if promising else []),
                "minus the team, in points",
            ],
            [
                _row(one, team=one.name == record.ask, better=one.name in better, promising=promising)
                for one in record.ways
            ],
        ),
        tag(
            "p",
            "A red difference: this way is right more often than the team, beyond chance (McNemar's exact test, Holm's "
            "correction over the table).",
            attributes={"class": "aside"},
        )
        if better
        else "",
    )


def _row(way: WayRecord, *, team: bool, better: bool, promising: bool) -> list[str | Cell]:
    name = tag("strong", f"{way.words} (the team)") if team else way.words
    gain = way.minus_team
    difference: str = "" if team else NOTHING
    if gain is not None:
        coloured = tag("span", points(gain.difference), attributes={"class": "bad" if better else "unsure"})
        difference = joined([coloured, points_interval(gain)])
    accuracy = with_interval(way.accuracy, way.low, way.high)
    promised = [percent(way.promised)] if promising else []
    return [name, accuracy, f"{way.questions:.2f}", f"{way.cost:.3f}", *promised, difference]


def panels(trial: Trial, record: TeamRecord, *, void: str = "") -> Html:
    """Return the section; a team without panels, or with panels that were not evaluated, gets one sentence.

    `void` says why the promise does not hold here, in place of a verdict.
    """
    panel = record.panel
    if panel is None:
        none = record.panel_note or "This team has no panel: each deferred case goes to one expert."
        return section("panels", "What do panels of experts promise?", paragraph(none))
    rows = [
        ["promised", f"{panel.bound} {percent(panel.asked_for)}"],
        ["kept on these cases", with_interval(panel.kept, panel.low, panel.high)],
        ["cases covered by the promise", count(panel.cases)],
        ["cases a panel would decide", count(panel.deferred)],
        ["experts per panel", plus_minus(panel.raw_size, panel.raw_size_half)],
        [
            "experts per panel, no panel empty",
            plus_minus(panel.filled_size, panel.filled_size_half),
        ],
        ["accuracy of the team if panels vote", share(panel.accuracy)],
    ]
    parts = [
        paragraph(
            "A panel can be asked instead of one expert: the smallest group of experts that keeps a promise. ",
            panel.promise,
            " An empty panel is replaced by the best expert for the case.",
        ),
        paragraph(void or _verdict(panel)),
        table(f"Promise of the panels ({panel.target}) and what was kept, with 95 % intervals.", ["", "value"], rows),
        paragraph(
            "The interval of what was kept covers two kinds of chance: which cases are tested here, and which cases "
            "the panels were calibrated on. With few calibration cases it is wide."
        ),
    ]
    if panel.deferred:
        caption = "Number of experts per panel, over the deferred cases."
        parts.append(figure("sizes", caption, lambda ax: SetSizeDisplay.from_trial(trial, ax=ax), size=(5.2, 3.2)))
    return section("panels", "What do panels of experts promise?", *parts)


def _verdict(panel: PanelRecord) -> str:
    if panel.kept_promise is None:
        return "No deferred case here shows whether the promise is kept."
    if panel.kept_promise == "less":
        return "The promise was not kept on these cases: they may differ from those that the panels were calibrated on."
    if panel.kept_promise == "too few":
        return "There are too few cases to tell whether the promise is kept."
    return "The result agrees with the promise."
