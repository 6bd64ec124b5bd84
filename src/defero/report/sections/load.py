"""Who is asked how often, and their accuracy on those cases beside the promised one."""

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
from defero.report.html import Html, folded, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, share
from defero.report.svg import figure
from defero.report.tables import Cell, folded_rows, most_asked_first, table, too_many

VERDICTS: dict[Kept | None, str] = {
    "less": "less than promised",
    "more": "more than promised",
    "as promised": "as promised",
    "too few": "too few to tell",
    None: NOTHING,
}
"""The record's verdicts as the table writes them."""


@dataclass(frozen=True)
class LoadRow:
    """One row of the table: the accuracy on the cases that somebody decides, the promised one, and the verdict."""

    name: str
    kept: Share
    promised: float
    verdict: Kept | None

    @classmethod
    def of_expert(cls, expert: ExpertRecord) -> "LoadRow":
        """Return an expert's row."""
        return cls(expert.name, expert.asked, expert.promised, expert.kept_promise)

    @classmethod
    def of_model(cls, model: ModelCalibration) -> "LoadRow":
        """Return the model's row."""
        return cls("the model", model.decided, model.promised, model.kept_promise)


def load(trial: Trial, record: TeamRecord, *, min_answers: int | None = None) -> Html:
    """Return the section; experts with fewer training answers than `min_answers` are never asked alone."""
    has_promises = record.estimates == "probabilities"
    order = most_asked_first([expert.asked.total for expert in record.experts])
    lines = [LoadRow.of_expert(record.experts[j]) for j in order]
    asked = [line for line in lines if line.kept.total]
    few_answers = _few_answers(record.experts, min_answers)
    never = [line.name for line in lines if not line.kept.total and line.name not in few_answers]
    shown = (LoadRow.of_model(record.model_calibration), *asked)
    first, *rows = (_row(line, n_items=record.team.total, has_promises=has_promises) for line in shown)
    return section(
        "load",
        _title(has_promises=has_promises, experts=bool(lines)),
        paragraph(_meaning(has_promises=has_promises, experts=bool(lines))),
        _picture(trial, has_promises=has_promises) if asked else "",
        folded_rows(
            rows,
            lambda part: _table(part, has_promises=has_promises),
            before=[first],
            rest="Show the other {n} who are asked",
        ),
        tag("p", _rule(), attributes={"class": "aside"}) if has_promises else "",
        _never(never),
        _too_few(few_answers, min_answers),
    )


def _title(*, has_promises: bool, experts: bool) -> str:
    if not experts:
        return "Is the model as accurate as promised?" if has_promises else "How accurate is the model?"
    return f"Who is asked, and {'are they as accurate as promised' if has_promises else 'how accurate are they'}?"


def _meaning(*, has_promises: bool, experts: bool) -> str:
    meaning = (
        "“Promised” is the mean of these probabilities over the cases that somebody decides; “kept” is the share of "
        "these cases on which they were right."
    )
    if not has_promises:
        return "Each case goes to the member of the team with the largest weight."
    if not experts:
        return f"For each case the model states how likely it is to be right. {meaning}"
    return (
        "For each case the team estimates how likely the model and each expert are to be right. Whoever has the "
        f"highest probability decides. {meaning}"
    )


def _rule() -> str:
    return (
        "The verdict is “less” or “more than promised” only if the difference is beyond chance, all rows tested "
        f"together, and not negligible. With fewer than {VERY_FEW} cases it is “too few to tell”, and with fewer than "
        f"{FEW} it is never “as promised”."
    )


def _picture(trial: Trial, *, has_promises: bool) -> Html:
    n_experts = len(trial.expert_names)
    caption = "Left: the share of all cases that each expert gets. Right: their accuracy on these cases (dot and line)"
    drawn = figure(
        "load",
        f"{caption}, beside the promised one (open diamond)." if has_promises else f"{caption}.",
        lambda ax: _draw(trial, ax, has_promises=has_promises),
        size=(6.4, 1.2 + 0.23 * max(n_experts, 3)),
    )
    return folded(f"Show all {n_experts} experts in one picture", drawn) if too_many(n_experts) else drawn


def _draw(trial: Trial, ax: Axes, *, has_promises: bool) -> None:
    if has_promises:
        ExpertLoadDisplay.from_trial(trial, ax=ax)
        return
    names = trial.expert_names
    ExpertLoadDisplay.from_predictions(trial.decision, trial.answer_idx, trial.label_idx, expert_names=names, ax=ax)


def _row(line: LoadRow, *, n_items: int, has_promises: bool) -> list[str | Cell]:
    part = line.kept.total / n_items if n_items else math.nan
    start: list[str | Cell] = [line.name, count(line.kept.total), percent(part)]
    share_right = share(line.kept)
    if not has_promises:
        return [*start, share_right]
    kind = "bad" if line.verdict == "less" else "plain"
    return [*start, percent(line.promised), share_right, Cell(VERDICTS[line.verdict], {"class": kind})]


def _table(rows: Sequence[list[str | Cell]], *, has_promises: bool) -> Html:
    if not has_promises:
        head = ["", "cases", "share of all", "accuracy"]
        return table("Cases that each of them decides, and accuracy on these cases (95 % interval).", head, rows)
    return table(
        "Cases that each of them decides, and promised and kept share of right answers (95 % interval).",
        ["", "cases", "share of all", "promised", "kept", "verdict"],
        rows,
    )


def _never(names: list[str]) -> Html:
    if not names:
        return Html("")
    one = len(names) == 1
    head = f"{'One expert is' if one else f'{len(names)} experts are'} never asked on these cases: "
    return tag("p", head, joined(names, between=", "), ".", attributes={"class": "aside"})


def _few_answers(experts: Sequence[ExpertRecord], min_answers: int | None) -> dict[str, int]:
    """Return the number of training answers of each expert who is never asked alone; the fewest first."""
    counts = {expert.name: expert.training_answers for expert in experts if expert.training_answers is not None}
    few = {name: n for name, n in counts.items() if min_answers is not None and n < min_answers}
    return dict(sorted(few.items(), key=lambda pair: pair[1]))


def _too_few(few_answers: dict[str, int], min_answers: int | None) -> Html:
    if not few_answers:
        return Html("")
    least = count_of(min_answers or 0, "training answer", "training answers")
    head = f"Never asked alone, because they have fewer than {least} (number in brackets): "
    who = joined([f"{name} ({n})" for name, n in few_answers.items()], between=", ")
    return tag("p", head, who, ".", attributes={"class": "aside"})
