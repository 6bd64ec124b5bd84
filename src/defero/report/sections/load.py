"""Who is asked how often, and how good they are on what they get, beside what was promised."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from defero.core.trial import Trial
from defero.core.wording import count_of
from defero.metrics.record.member import FEW, VERY_FEW, ExpertRecord, Kept, ModelCalibration
from defero.metrics.record.team import TeamRecord
from defero.metrics.statistics.intervals import Share
from defero.plotting import ExpertLoadDisplay
from defero.report.html import Cell, Html, folded, joined, paragraph, section, table, tag
from defero.report.sections.many import in_parts, most_asked_first, too_many
from defero.report.svg import figure
from defero.report.wording import NOTHING, count, percent, share

VERDICTS: dict[Kept | None, str] = {
    "less": "less than promised",
    "more": "more than promised",
    "as promised": "as promised",
    "too few": "too few to tell",
    None: NOTHING,
}
"""What the table says of each word of the record."""


@dataclass(frozen=True)
class Line:
    """Who, what they kept on the cases that they got, what was promised there, and what became of it."""

    name: str
    kept: Share
    promised: float
    word: Kept | None

    @classmethod
    def of_expert(cls, expert: ExpertRecord) -> "Line":
        """Return an expert's line."""
        return cls(expert.name, expert.asked, expert.promised, expert.kept_promise)

    @classmethod
    def of_model(cls, model: ModelCalibration) -> "Line":
        """Return the model's line."""
        return cls("the model", model.decided, model.promised, model.kept_promise)


def load(trial: Trial, record: TeamRecord, *, min_answers: int | None = None) -> Html:
    """Return the section; `min_answers` is how many answers to learn from it takes to be asked alone."""
    promising = record.estimates == "probabilities"
    order = most_asked_first([expert.asked.total for expert in record.experts])
    lines = [Line.of_expert(record.experts[j]) for j in order]
    asked = [line for line in lines if line.kept.total]
    unproven = _unproven(record.experts, min_answers)
    never = [line.name for line in lines if not line.kept.total and line.name not in unproven]
    shown = (Line.of_model(record.model_calibration), *asked)
    first, *rows = (_row(line, n_items=record.team.total, promising=promising) for line in shown)
    return section(
        "load",
        _title(promising=promising, experts=bool(lines)),
        paragraph(_said(promising=promising, experts=bool(lines))),
        _picture(trial, promising=promising) if asked else "",
        in_parts(
            rows,
            lambda part: _table(part, promising=promising),
            before=[first],
            rest="Show the other {n} who are asked",
        ),
        tag("p", _rule(), attributes={"class": "aside"}) if promising else "",
        _never(never),
        _too_few(unproven, min_answers),
    )


def _title(*, promising: bool, experts: bool) -> str:
    if not experts:
        return "Does the model keep what it promises?" if promising else "How good is the model on what it decides?"
    return f"Who is asked, and {'do they keep what was promised' if promising else 'are they right then'}?"


def _said(*, promising: bool, experts: bool) -> str:
    meaning = (
        "“Promised” is the mean of those probabilities over the cases that somebody got; “kept” is how often they were "
        "then right."
    )
    if not promising:
        return "Each case goes to the member of the team with the largest weight for it."
    if not experts:
        return f"For each case the model states how likely it is to be right. {meaning}"
    return (
        "For each case the team compares how likely the model and every expert are to be right, and gives the case to "
        f"the likeliest. {meaning}"
    )


def _rule() -> str:
    return (
        "The verdict says “less” or “more” only where chance hardly explains the gap, all rows taken together, and "
        f"where it is no trifle; below {VERY_FEW} cases it says nothing, and below {FEW} never “as promised”."
    )


def _picture(trial: Trial, *, promising: bool) -> Html:
    n_experts = len(trial.expert_names)
    caption = (
        "Left: the share of all cases that each expert gets. Right: how often they were right there (dot and line)"
    )
    drawn = figure(
        "load",
        f"{caption}, beside what was promised (open diamond)." if promising else f"{caption}.",
        lambda ax: _draw(trial, ax, promising=promising),
        size=(6.4, 1.2 + 0.23 * max(n_experts, 3)),
    )
    return folded(f"Show all {n_experts} experts in one picture", drawn) if too_many(n_experts) else drawn


def _draw(trial: Trial, ax: Axes, *, promising: bool) -> None:
    if promising:
        ExpertLoadDisplay.from_trial(trial, ax=ax)
        return
    names = trial.expert_names
    ExpertLoadDisplay.from_predictions(trial.decision, trial.answer_idx, trial.label_idx, names=names, ax=ax)


def _row(line: Line, *, n_items: int, promising: bool) -> list[str | Cell]:
    part = line.kept.total / n_items if n_items else math.nan
    start: list[str | Cell] = [line.name, count(line.kept.total), percent(part)]
    kept = share(line.kept)
    if not promising:
        return [*start, kept]
    kind = "bad" if line.word == "less" else "plain"
    return [*start, percent(line.promised), kept, Cell(VERDICTS[line.word], {"class": kind})]


def _table(rows: Sequence[list[str | Cell]], *, promising: bool) -> Html:
    if not promising:
        head = ["", "cases", "share of all", "right"]
        return table("Cases given to each, and how often they were right there (95 % interval).", head, rows)
    return table(
        "Cases given to each, the chance of being right that was promised there, and what was kept (95 % interval).",
        ["", "cases", "share of all", "promised", "kept", "verdict"],
        rows,
    )


def _never(names: list[str]) -> Html:
    if not names:
        return Html("")
    one = len(names) == 1
    head = f"{'One expert is' if one else f'{len(names)} experts are'} never asked on these cases: "
    return tag("p", head, joined(names, between=", "), ".", attributes={"class": "aside"})


def _unproven(experts: Sequence[ExpertRecord], least: int | None) -> dict[str, int]:
    """Return who is never asked alone, and how many of their answers were learned from; the fewest first."""
    known = {one.name: one.training_answers for one in experts if one.training_answers is not None}
    few = {name: n for name, n in known.items() if least is not None and n < least}
    return dict(sorted(few.items(), key=lambda one: one[1]))


def _too_few(unproven: dict[str, int], least: int | None) -> Html:
    if not unproven:
        return Html("")
    head = (
        "Insufficient evidence: never asked alone, with fewer than "
        f"{count_of(least or 0, 'answer', 'answers')} to learn from (how many in brackets): "
    )
    who = joined([f"{name} ({n})" for name, n in unproven.items()], between=", ")
    return tag("p", head, who, ".", attributes={"class": "aside"})
