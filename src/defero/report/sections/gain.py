"""What the team gains over the model alone, over each expert, for each class, and by the share of deferred cases."""

from collections.abc import Sequence

from defero.core.results import MODEL
from defero.core.trials.trial import Trial
from defero.core.wording import count_of
from defero.judge.accuracy import ClassRecall
from defero.judge.intervals import Share
from defero.judge.paired import Comparison
from defero.judge.record.team import TeamRecord
from defero.plotting import AgreementDisplay, DeferralCurveDisplay
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, points, points_interval, share
from defero.report.svg import figure
from defero.report.tables import Cell, Scale, folded_rows, table, whisker


def gain(trial: Trial, record: TeamRecord) -> Html:
    """Return the section."""
    if not record.experts:
        return section("gain", "How good is the model?", _model_only(record))
    ranked = sorted(record.experts, key=lambda expert: -_lower_end(expert.alone))
    scale = Scale.around([record.team, record.model, *(expert.alone for expert in ranked)])
    first = [_team_row(record, scale), _row("the model alone", record.model, record.gain, scale, record.team.value)]
    rows = [_row(expert.name, expert.alone, expert.gain, scale, record.team.value) for expert in ranked]

    def shown(part: Sequence[list[str | Cell]]) -> Html:
        return table(
            "Accuracy with 95 % intervals. In the picture the dot is the accuracy, the bar its interval, and the thin "
            "line the accuracy of the team.",
            ["", "accuracy", scale.head, "team minus them, in points", "cases they answered"],
            part,
        )

    return section(
        "gain",
        "What does the team gain?",
        paragraph(_won_and_lost(record)),
        folded_rows(rows, shown, before=first),
        tag(
            "p",
            "Each expert is compared with the team on the cases that this expert answered. A coloured difference is "
            "beyond chance (McNemar's exact test at 5 %, each row separately); any other may be chance.",
            attributes={"class": "aside"},
        ),
        *_agreement(trial, record),
    )


def recall(record: TeamRecord) -> Html:
    """Return the section on the recall of each class."""
    caption = "Recall of each class, with 95 % intervals."
    meaning = "The recall of a class is the share of its cases that get the right label."
    if record.experts:
        meaning += " A gain in accuracy can hide a class with a lower recall than before."
        head = ["class", "cases", "recall of the team", "of the model alone", "difference in points"]
    else:
        head = ["class", "cases", "recall of the model"]
    return section(
        "classes",
        "Is every class recognised?",
        paragraph(meaning),
        folded_rows(
            [_recall_row(row, experts=bool(record.experts)) for row in record.recall],
            lambda part: table(caption, head, part),
            rest="Show the other {n} classes",
        ),
        tag(
            "p",
            "A difference in red: the recall of the team is lower than that of the model alone, beyond chance "
            "(McNemar's exact test at 5 %, all classes together).",
            attributes={"class": "aside"},
        )
        if any(row.lost for row in record.recall)
        else "",
    )


def _recall_row(recalls: ClassRecall, *, experts: bool) -> list[str | Cell]:
    start: list[str | Cell] = [str(recalls.label), count(recalls.team.total)]
    if not experts:
        return [*start, share(recalls.model)]
    difference = tag(
        "span",
        points(recalls.team.value - recalls.model.value),
        attributes={"class": "bad" if recalls.lost else "unsure"},
    )
    return [*start, share(recalls.team), share(recalls.model), difference]


def _model_only(record: TeamRecord) -> Html:
    scale = Scale.around([record.model])
    drawn = whisker(record.model, scale=scale, mark=record.model.value)
    return table(
        "Accuracy with a 95 % interval.",
        ["", "accuracy", scale.head, "cases"],
        [["the model", share(record.model), drawn, count(record.model.total)]],
    )


def _agreement(trial: Trial, record: TeamRecord) -> list[Html]:
    # Weights say whom the team listens to, not the model's confidence.
    if record.estimates == "weights" or not trial.observed.any():
        return []
    return [
        tag("h3", "When does it help to ask an expert?"),
        paragraph(
            "If the model is confident, experts have little to add. If it is not, an expert who is right more often "
            "than the model can help."
        ),
        figure(
            "agreement",
            "Cases ordered by the confidence of the model: its accuracy, the average accuracy of the experts, and how "
            "often both give the same answer. Bands are 95 % intervals; bars below count the cases.",
            lambda ax: AgreementDisplay.from_trial(trial, ax=ax),
            size=(5.2, 3.8),
        ),
    ]


def _team_row(record: TeamRecord, scale: Scale) -> list[str | Cell]:
    drawn = whisker(record.team, scale=scale, mark=record.team.value)
    name, accuracy = tag("strong", "the team"), tag("strong", share(record.team))
    return [name, accuracy, drawn, "", count(record.team.total)]


def _row(name: str, accuracy: Share, gain: Comparison, scale: Scale, team: float) -> list[str | Cell]:
    if accuracy.total == 0:
        return [name, NOTHING, Cell("", {"class": "whisker"}), NOTHING, "0"]
    difference = joined([_coloured(gain), points_interval(gain)])
    return [name, share(accuracy), whisker(accuracy, scale=scale, mark=team), difference, count(accuracy.total)]


def _coloured(gain: Comparison) -> Html:
    kind = "unsure" if not gain.clear else "good" if gain.difference > 0 else "bad"
    return tag("span", points(gain.difference), attributes={"class": kind})


def _won_and_lost(record: TeamRecord) -> str:
    won = count_of(record.only_team_right, "case", "cases")
    return (
        f"Asking experts turned a wrong answer into a right one on {won}, and a right one into a wrong one on "
        f"{count(record.only_model_right)}. On all other cases the team and the model alone are both right or both "
        "wrong."
    )


def _lower_end(accuracy: Share) -> float:
    """Return the lower end of the interval: four right of four rank after 30 of 31."""
    return accuracy.interval[0] if accuracy.total else -1.0


def deferral(trial: Trial, record: TeamRecord) -> Html:
    """Return the section."""
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
    )
