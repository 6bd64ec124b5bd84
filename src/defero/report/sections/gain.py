"""What the team gains over the model alone and over each expert, and class by class."""

from collections.abc import Sequence

from defero.core.trial import Trial
from defero.core.wording import count_of
from defero.metrics.accuracy import ClassRecall
from defero.metrics.record.team import TeamRecord
from defero.metrics.statistics.intervals import Share
from defero.metrics.statistics.paired import Comparison
from defero.plotting import AgreementDisplay
from defero.report.html import Cell, Html, joined, paragraph, section, table, tag
from defero.report.sections.many import in_parts
from defero.report.svg import figure
from defero.report.whisker import Scale, whisker
from defero.report.wording import NOTHING, count, points, points_interval, share


def gain(trial: Trial, record: TeamRecord) -> Html:
    """Return the section."""
    if not record.experts:
        return section("gain", "How good is the model?", _model_only(record))
    ranked = sorted(record.experts, key=lambda expert: -_surely(expert.alone))
    scale = Scale.around([record.team, record.model, *(expert.alone for expert in ranked)])
    first = [_team_row(record, scale), _row("the model alone", record.model, record.gain, scale, record.team.value)]
    rows = [_row(expert.name, expert.alone, expert.gain, scale, record.team.value) for expert in ranked]

    def shown(part: Sequence[list[str | Cell]]) -> Html:
        return table(
            "Right answers with 95 % intervals. In the picture the dot is the share, the bar its interval and the thin "
            "line the team.",
            ["", "right", scale.head, "team minus them, in points", "cases they answered"],
            part,
        )

    return section(
        "gain",
        "What does the team gain?",
        paragraph(_won_and_lost(record)),
        in_parts(rows, shown, before=first),
        tag(
            "p",
            "Each expert is compared with the team on the cases that this expert answered. A difference in colour is "
            "more than chance explains (McNemar's exact test at 5 %, each row by itself); any other may be chance.",
            attributes={"class": "aside"},
        ),
        *_agreement(trial, record),
    )


def recall(record: TeamRecord) -> Html:
    """Return the section on single classes."""
    caption = "Share of each class's cases that are called so (recall), with 95 % intervals."
    if record.experts:
        asked = "how many does the team call so? An overall gain can hide a class that is found less often than before."
        head = ["class", "cases", "found by the team", "by the model alone", "difference in points"]
    else:
        asked, head = "how many does the model call so?", ["class", "cases", "found by the model"]
    return section(
        "classes",
        "Is every class found?",
        paragraph(f"Of the cases that truly belong to a class, {asked}"),
        in_parts(
            [_recall_row(found, experts=bool(record.experts)) for found in record.recall],
            lambda part: table(caption, head, part),
            rest="Show the other {n} classes",
        ),
        tag(
            "p",
            "A difference in red: the team finds the class less often than the model alone, beyond chance (McNemar's "
            "exact test, all classes together at 5 %).",
            attributes={"class": "aside"},
        )
        if any(found.lost for found in record.recall)
        else "",
    )


def _recall_row(found: ClassRecall, *, experts: bool) -> list[str | Cell]:
    start: list[str | Cell] = [str(found.label), count(found.team.total)]
    if not experts:
        return [*start, share(found.model)]
    difference = tag(
        "span",
        points(found.team.value - found.model.value),
        attributes={"class": "bad" if found.lost else "unsure"},
    )
    return [*start, share(found.team), share(found.model), difference]


def _model_only(record: TeamRecord) -> Html:
    scale = Scale.around([record.model])
    drawn = whisker(record.model, scale=scale, mark=record.model.value)
    return table(
        "Right answers with a 95 % interval.",
        ["", "right", scale.head, "cases"],
        [["the model", share(record.model), drawn, count(record.model.total)]],
    )


def _agreement(trial: Trial, record: TeamRecord) -> list[Html]:
    # Weights say whom the team listens to, not how sure the model is.
    if record.estimates == "weights" or not trial.observed.any():
        return []
    return [
        tag("h3", "When is it worth asking?"),
        paragraph(
            "Where the model is sure, experts have little to add; where it is unsure, somebody who is right more often "
            "than the model can help."
        ),
        figure(
            "agreement",
            "Cases ordered by how sure the model is: how often it is right, how often the experts are right on "
            "average, and how often both say the same. Bands are 95 % intervals; bars below count the cases.",
            lambda ax: AgreementDisplay.from_trial(trial, ax=ax),
            size=(5.2, 3.8),
        ),
    ]


def _team_row(record: TeamRecord, scale: Scale) -> list[str | Cell]:
    drawn = whisker(record.team, scale=scale, mark=record.team.value)
    name, right = tag("strong", "the team"), tag("strong", share(record.team))
    return [name, right, drawn, "", count(record.team.total)]


def _row(name: str, right: Share, gain: Comparison, scale: Scale, team: float) -> list[str | Cell]:
    if right.total == 0:
        return [name, NOTHING, Cell("", {"class": "whisker"}), NOTHING, "0"]
    difference = joined([_coloured(gain), points_interval(gain)])
    return [name, share(right), whisker(right, scale=scale, mark=team), difference, count(right.total)]


def _coloured(gain: Comparison) -> Html:
    kind = "unsure" if not gain.clear else "good" if gain.difference > 0 else "bad"
    return tag("span", points(gain.difference), attributes={"class": kind})


def _won_and_lost(record: TeamRecord) -> str:
    won = count_of(record.only_team_right, "case", "cases")
    return (
        f"Asking experts turned a wrong answer into a right one on {won}, and a right one into a wrong one on "
        f"{count(record.only_model_right)}. On all others the team and the model alone are both right or both wrong."
    )


def _surely(right: Share) -> float:
    """Return the share that somebody has for sure: four right of four come after 30 of 31."""
    return right.interval[0] if right.total else -1.0
