"""Who is asked how often, and their accuracy on those cases beside the promised one; the same by groups of cases."""

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from defero.core.trials.trial import Trial
from defero.core.wording import count_of
from defero.judge.intervals import Share
from defero.judge.record.group_load import GroupRow, GroupTable
from defero.judge.record.member import ExpertRecord
from defero.judge.record.promise import FEW, PromiseRecord, Verdict
from defero.judge.record.team import TeamRecord
from defero.plotting import ExpertLoadDisplay
from defero.report.html import Html, folded, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, points, share, with_interval
from defero.report.svg import figure
from defero.report.tables import Cell, folded_rows, most_asked_first, table, too_many

VERDICTS: dict[Verdict | None, str] = {
    "less": "less than promised",
    "more": "more than promised",
    "as promised": "as promised",
    "too few": "too few to tell",
    None: NOTHING,
}
"""The record's verdicts as the table writes them."""


def load(trial: Trial, record: TeamRecord, *, min_answers: int | None = None) -> Html:
    """Return the section; experts with fewer training answers than `min_answers` are never asked alone."""
    has_promises = record.estimates == "probabilities"
    order = most_asked_first([expert.asked.total for expert in record.experts])
    experts = [record.experts[j] for j in order]
    asked_experts = [expert for expert in experts if expert.asked.total]
    few_answers = _few_answers(record.experts, min_answers)
    never = [expert.name for expert in experts if not expert.asked.total and expert.name not in few_answers]
    lines = [("the team", record.promises.total), ("the model", record.promises.model)]
    lines += [(expert.name, expert.promise) for expert in asked_experts]
    cells = [_row(*line, n_items=record.team.total, has_promises=has_promises) for line in lines[not experts :]]
    n_first = len(cells) - len(asked_experts)
    return section(
        "load",
        _title(has_promises=has_promises, experts=bool(experts)),
        paragraph(_meaning(has_promises=has_promises, experts=bool(experts), costs=record.costs is not None)),
        _picture(trial, level=record.promises.all_experts.level, has_promises=has_promises) if asked_experts else "",
        folded_rows(
            cells[n_first:],
            lambda part: _table(part, has_promises=has_promises),
            before=cells[:n_first],
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


def _meaning(*, has_promises: bool, experts: bool, costs: bool) -> str:
    meaning = (
        "“Promised” is the mean of these probabilities over the cases that somebody decides; “kept” is the share of "
        "these cases on which they were right."
    )
    if not has_promises:
        return "Each case goes to the member of the team with the largest weight."
    if not experts:
        return f"For each case the model states how likely it is to be right. {meaning}"
    rule = "highest probability" if not costs else "lowest expected cost (their fee, and what an error may cost)"
    return (
        "For each case the team estimates how likely the model and each expert are to be right. Whoever has the "
        f"{rule} decides. {meaning}"
    )


def _rule() -> str:
    return (
        "The verdict is “less” or “more than promised” if the promised share lies outside the interval of the kept "
        "one. The team's interval is a 95 % interval. Those of the members are wider, so that they hold for all rows "
        "together. If all promises are kept, such a verdict appears by chance in at most 1 of 20 reports. With fewer "
        f"than {FEW} cases the verdict is never “as promised”."
    )


def _picture(trial: Trial, *, level: float, has_promises: bool) -> Html:
    n_experts = len(trial.expert_names)
    caption = "Left: the share of all cases that each expert gets. Right: their accuracy on these cases (dot and line)"
    drawn = figure(
        "load",
        f"{caption}, with the interval of the table, beside the promised one (open diamond)."
        if has_promises
        else f"{caption}.",
        lambda ax: _draw(trial, ax, level=level, has_promises=has_promises),
        size=(6.4, 1.2 + 0.23 * max(n_experts, 3)),
    )
    return folded(f"Show all {n_experts} experts in one picture", drawn) if too_many(n_experts) else drawn


def _draw(trial: Trial, ax: Axes, *, level: float, has_promises: bool) -> None:
    if has_promises:
        ExpertLoadDisplay.from_trial(trial, ax=ax, level=level, interval="clopper-pearson")
        return
    names = trial.expert_names
    ExpertLoadDisplay.from_predictions(trial.decision, trial.answer_idx, trial.label_idx, expert_names=names, ax=ax)


def _row(name: str, promise: PromiseRecord, *, n_items: int, has_promises: bool) -> list[str | Cell]:
    part = promise.kept.total / n_items if n_items else math.nan
    start: list[str | Cell] = [name, count(promise.kept.total), percent(part)]
    if not has_promises:
        return [*start, share(promise.kept)]
    share_right = with_interval(promise.kept.value, *promise.interval)
    kind = "bad" if promise.verdict == "less" else "plain"
    return [*start, percent(promise.promised), share_right, Cell(VERDICTS[promise.verdict], {"class": kind})]


def _table(rows: Sequence[list[str | Cell]], *, has_promises: bool) -> Html:
    if not has_promises:
        head = ["", "cases", "share of all", "accuracy"]
        return table("Cases that each of them decides, and accuracy on these cases (95 % interval).", head, rows)
    return table(
        "Cases that each of them decides, and promised and kept share of right answers (interval).",
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


MOST_CLASSES = 6
MOST_EXPERTS = 8


def groups(record: TeamRecord, tables: Sequence[GroupTable]) -> Html:
    """Return the section."""
    return section(
        "groups",
        "Who gets which cases?",
        paragraph(
            "Accuracy and recall are those of the team on recorded answers. The load is that of new cases: how many of "
            "these cases each expert would get if everybody could be asked. Small groups have wide intervals."
        ),
        joined(part for one in tables for part in _column(record, one)),
    )


def _column(record: TeamRecord, groups_of: GroupTable) -> list[Html]:
    class_idx = list(range(len(record.classes)))[:MOST_CLASSES]
    recalls = [f"recall of {record.classes[k]}" for k in class_idx]
    totals = [sum(int(row.load[j]) for row in groups_of.rows) for j in range(len(record.experts))]
    experts = sorted(range(len(totals)), key=lambda j: (-totals[j], j))[:MOST_EXPERTS]
    return [
        tag("h3", f"By {groups_of.column}"),
        table(
            f"Accuracy and recall of the team by {groups_of.column}, with 95 % intervals; gain over the model alone.",
            ["", "cases", "team", "gain, in points", *recalls],
            [_figures(row, class_idx) for row in groups_of.rows],
        ),
        table(
            f"Share of the cases that the model and each expert would get by {groups_of.column}, and in brackets the "
            "accuracy of the expert's recorded answers there.",
            ["", "model", *(record.experts[j].name for j in experts)],
            [_loads(row, experts) for row in groups_of.rows],
            kind="dense",
        ),
    ]


def _figures(row: GroupRow, classes: Sequence[int]) -> list[str]:
    difference = points(row.team.value - row.model.value)
    return [row.value, count(row.n_cases), share(row.team), difference, *(_share(row.recall[k]) for k in classes)]


def _loads(row: GroupRow, experts: Sequence[int]) -> list[str]:
    by_model = row.n_cases - int(row.load.sum())
    cells = [f"{percent(int(row.load[j]) / row.n_cases)} ({percent(row.alone[j].value)})" for j in experts]
    return [row.value, percent(by_model / row.n_cases), *cells]


def _share(one: Share) -> str:
    return share(one) if one.total else NOTHING
