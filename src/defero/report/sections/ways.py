"""Ways of asking: one expert, one after the other, a panel, and what one can do without a team."""

from defero.metrics.record.team import TeamRecord
from defero.metrics.record.ways import WayRecord, better_than_team
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, percent, points, points_interval, with_interval
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
