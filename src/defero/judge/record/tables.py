"""The tables of a record, each defined once: `evaluate` prints some of them, the report shows nearly all."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.wording import percent
from defero.judge.panels import PanelRecord
from defero.judge.record.figures import Cell, Figure, FigureTable, Whisker, Words, hundredths, in_points
from defero.judge.record.members import PromiseRecord, Verdict, shown_metrics
from defero.judge.record.team import Record
from defero.judge.record.ways import MeanCost, better_than_team
from defero.judge.shared_errors import SharedErrors

MOST_ROWS = 20
VERDICTS: dict[Verdict | None, str] = {
    "less": "less than promised",
    "more": "more than promised",
    "as promised": "as promised",
    "too few": "too few to tell",
    None: "-",
}
DEVIATION = "standard deviation, in points"
VERY_FEW = 10
"""Answers: the accuracy of fewer is shown faintly."""
MOST_CLASSES, ACROSS = 40, 10
"""Classes of the table of skill, and how many stand side by side: as many as fit on a sheet of paper."""


def largest(counts: Sequence[int]) -> list[int]:
    """Return which to show, in their own order: all, or of too many the largest.

    >>> largest([3, 1, 2])
    [0, 1, 2]
    """
    order = sorted(range(len(counts)), key=lambda place: -counts[place])
    return sorted(order[:MOST_ROWS])


def most_asked_first(record: Record) -> list[int]:
    """Return the experts' indices, those with most cases first; ties in their order."""
    return sorted(range(len(record.experts)), key=lambda j: (-record.experts[j].asked.total, j))


def _part(promise: PromiseRecord, record: Record) -> Figure:
    return Figure(promise.kept.total / record.team.total if record.team.total else math.nan)


def members(record: Record) -> FigureTable:
    """Return accuracy and promises of the team, the model and the experts; of many experts those most asked."""
    shown = largest([expert.asked.total for expert in record.experts])
    metrics = shown_metrics()
    more = ["promised there", *(metric.column for metric in metrics.values())] if record.promising else []
    rows: list[list[Cell]] = [["team", Figure.share(record.team), *[""] * (2 + len(more))]]
    for one in (record.model_member, *(record.experts[j] for j in shown)):
        row: list[Cell] = [one.name, Figure.share(one.alone), _part(one.promise, record), Figure(one.asked.value)]
        rows.append([*row, Figure(one.promised), *(one.figures[key] for key in metrics)] if more else row)
    return FigureTable(["", "right", "decides", "right there", *more], rows)


def ways(record: Record) -> FigureTable:
    """Return every way of asking on the same cases; one that is better than the team is marked."""
    better = {one.name for one in better_than_team(record.ways, record.ask)}
    rows: list[list[Cell]] = []
    for one in record.ways:
        minus: Cell = "" if one.minus_team is None else Figure.gain(one.minus_team, mark="bad" * (one.name in better))
        promised = [Figure(one.promised)] if record.promising else []
        accuracy = Figure(one.accuracy, one.low, one.high)
        name = way_name(one.words, team=one.name == record.ask)
        rows.append([name, accuracy, Figure.number(one.questions, 2), Figure.number(one.cost, 3), *promised, minus])
    more = ["promised"] if record.promising else []
    return FigureTable(
        ["Ways of asking", "right", "questions", "cost", *more, "minus team, points"],
        rows,
        "Ways of asking, with 95 % intervals."
        + " Promised: the mean stated probability that the label is right." * record.promising,
    )


def way_name(words: str, *, team: bool) -> Words:
    """Return the name of a way; that of the team is said to be so."""
    return Words(f"{words} (the team)", mark="strong") if team else Words(words)


def costs(record: Record) -> FigureTable:
    """Return what every way costs per case, and what it saves."""
    money = partial(Figure.money, like=math.nan if record.costs is None else record.costs.like)

    def saved(one: MeanCost | None) -> Figure:
        if one is None:
            return Figure(math.nan)
        return money(
            one.per_case, one.low, one.high, mark="good" if one.low > 0 else "bad" if one.high < 0 else "unsure"
        )

    rows: list[list[Cell]] = []
    for one in record.ways:
        name, total = way_name(one.words, team=one.name == record.ask), one.total
        of_total = Figure(math.nan) if total is None else money(total.per_case, total.low, total.high)
        amounts = [money(one.spent), money(one.errors), of_total]
        rows.append([name, *amounts, saved(one.against_model), saved(one.against_everybody)])
    return FigureTable(
        ["Money per case", "questions", "errors", "total", "saves against the model", "against everybody"],
        rows,
        "Money per case, with 95 % intervals (Student's t). Savings are paired, case by case.",
    )


def recall(record: Record) -> FigureTable:
    """Return how much of each class is found, by the team and by the model."""
    rows: list[list[Cell]] = []
    for one in record.recall:
        by = Figure(one.team.value - one.model.value, write=in_points, mark="bad" if one.lost else "unsure")
        rows.append(
            [str(one.label), Figure.number(one.team.total), Figure.share(one.team), Figure.share(one.model), by]
        )
    head = ["class", "cases", "found by the team", "by the model", "difference in points"]
    return FigureTable(head, rows, "Recall of each class, with 95 % intervals.")


def gain(record: Record) -> FigureTable:
    """Return accuracies with whiskers, and the team beside each; the best experts first."""
    # By the lower end: four right of four rank after 30 of 31.
    ranked = sorted(record.experts, key=lambda one: -one.alone.interval[0] if one.alone.total else 1.0)
    shares = [record.team, record.model, *(one.alone for one in ranked)]
    lows = [one.interval[0] for one in shares if one.total]
    start = min(0.9, math.floor(10 * min(lows)) / 10) if lows else 0.0
    rows: list[list[Cell]] = []
    lines = [(one.name, one.alone, one.team_minus_expert) for one in ranked]
    for name, share, minus in [("the model alone", record.model, record.team_minus_model), *lines]:
        difference = Figure.gain(minus) if share.total else Figure(math.nan)
        drawn = Whisker(share, start, record.team.value)
        rows.append([name, Figure.share(share), drawn, difference, Figure.number(share.total)])
    team, drawn = Figure.share(record.team), Whisker(record.team, start, record.team.value)
    rows.insert(0, [Words("the team", mark="strong"), team, drawn, "", Figure.number(record.team.total)])
    scale = f"{100 * start:.0f} to 100 %"
    head = ["", "accuracy", scale, "team minus them, in points", "cases they answered"]
    caption = (
        "Accuracy with 95 % intervals. In the picture the dot is the accuracy, the bar its interval, and the thin "
        "line the accuracy of the team."
    )
    if record.experts:
        return FigureTable(head, rows, caption, n_first=2)
    alone: list[Cell] = ["the model", *rows[1][1:3], rows[1][4]]
    return FigureTable(["", "accuracy", scale, "cases"], [alone], "Accuracy with a 95 % interval.")


def promises(record: Record) -> FigureTable:
    """Return who decides how many cases, and the promised and the kept share of right answers; the most asked first."""
    asked = [record.experts[j] for j in most_asked_first(record) if record.experts[j].asked.total]
    lines = [("the team", record.promises.total), ("the model", record.promises.model)][not record.experts :]
    rows: list[list[Cell]] = []
    for name, one in [*lines, *((expert.name, expert.promise) for expert in asked)]:
        row: list[Cell] = [name, Figure.number(one.kept.total), _part(one, record)]
        verdict = Words(VERDICTS[one.verdict], mark="bad" if one.verdict == "less" else "plain")
        kept = Figure(one.kept.value, *one.interval)
        rows.append([*row, Figure(one.promised), kept, verdict] if record.promising else [*row, Figure.share(one.kept)])
    if not record.promising:
        caption = "Cases that each of them decides, and accuracy on these cases (95 % interval)."
        return FigureTable(["", "cases", "share of all", "accuracy"], rows, caption, len(lines))
    caption = "Cases that each of them decides, and promised and kept share of right answers (interval)."
    return FigureTable(["", "cases", "share of all", "promised", "kept", "verdict"], rows, caption, len(lines))


def calibration(record: Record, *, before: FloatArray | None, expert_sd: Sequence[float]) -> FigureTable:
    """Return calibration errors of the model and the experts, the most asked first.

    Parameters
    ----------
    record : Record
    before : (J + 1,), optional
        The errors before recalibration, the model's last.
    expert_sd : J numbers, or none
        Standard deviations of the experts' probabilities.
    """
    counts = [one.training_answers for one in record.experts]
    columns: dict[str, list[Cell]] = {}
    if before is not None:
        columns["before recalibration"] = [Figure(float(error)) for error in before]
    if any(n is not None for n in counts):
        columns["training answers"] = [*(Figure.number(math.nan if n is None else n) for n in counts), ""]
    if any(not math.isnan(sd) for sd in expert_sd):
        columns[DEVIATION] = [*(Figure(sd, write=lambda one: f"± {hundredths(one)}") for sd in expert_sd), ""]
    everybody, metrics = [*record.experts, record.model_member], shown_metrics()
    rows: list[list[Cell]] = []
    for j in (-1, *most_asked_first(record)):
        one, more = everybody[j], (column[j] for column in columns.values())
        name = "the model" if j == -1 else one.name
        rows.append([name, Figure.number(one.alone.total), *(one.figures[key] for key in metrics), *more])
    return FigureTable(
        ["", "cases", *(metric.on_page or metric.column for metric in metrics.values()), *columns],
        rows,
        "Distance of the stated probabilities from the share of right answers (smooth calibration error, 95 % "
        "interval).",
        n_first=1,
    )


def by_predicted_class(record: Record) -> FigureTable:
    """Return the model's promised and kept share of right answers for each class that it predicts."""
    one = record.by_predicted_class
    rows: list[list[Cell]] = [
        [
            str(record.classes[int(k)]),
            Figure.number(int(one.count[g, 0])),
            Figure(float(one.promised[g, 0])),
            Figure(float(one.accuracy[g, 0]), float(one.low[g, 0]), float(one.high[g, 0])),
        ]
        for g, k in enumerate(one.groups)
    ]
    caption = "The model's share of right answers for each class that it predicts: promised, and kept (95 % interval)."
    return FigureTable(["predicted class", "cases", "promised", "kept"], rows, caption)


def panel(one: PanelRecord) -> FigureTable:
    """Return what the panels promised and kept."""
    rows: list[list[Cell]] = [
        ["promised", f"{one.bound} {percent(one.asked_for)}"],
        ["kept on these cases", Figure(one.kept, one.low, one.high)],
        ["cases covered by the promise", Figure.number(one.cases)],
        ["cases a panel would decide", Figure.number(one.deferred)],
        ["experts per panel", plus_minus(one.raw_size, one.raw_size_half)],
        ["experts per panel, no panel empty", plus_minus(one.filled_size, one.filled_size_half)],
        ["accuracy of the team if panels vote", Figure.share(one.team_with_panels)],
    ]
    caption = f"Promise of the panels ({one.target}) and what was kept, with 95 % intervals."
    return FigureTable(["", "value"], rows, caption)


def plus_minus(mean: float, half_width: float) -> str:
    """Write a mean with half the width of its interval; without it if it is nan.

    >>> plus_minus(1.5, 0.25), plus_minus(2.0, math.nan), plus_minus(math.nan, math.nan)
    ('1.5 ± 0.2', '2.0', '-')
    """
    if math.isnan(mean):
        return "-"
    return f"{mean:.1f}" if math.isnan(half_width) else f"{mean:.1f} ± {half_width:.1f}"


def pairs(errors: SharedErrors) -> FigureTable:
    """Return the pairs of experts who make the same mistakes."""
    rows: list[list[Cell]] = [
        [
            " and ".join(one.experts),
            Figure.number(one.correlation, 2),
            Figure(one.agreement),
            Figure.number(one.n_shared),
            f"{one.same_wrong:,} of {one.both_wrong:,}",
            Figure.number(one.voices, 1),
            by_chance(one.p_value),
        ]
        for one in errors.pairs
    ]
    head = ["", "correlation", "same answer", "shared cases", "same mistake, if both wrong", "count as", "p-value"]
    return FigureTable(head, rows, "Pairs who make the same mistakes beyond chance, the most similar first.")


def by_chance(p_value: float) -> str:
    """Write a p-value.

    >>> by_chance(0.0312), by_chance(0.5), by_chance(1e-9)
    ('p = 0.031', 'p = 0.5', 'p < 0.001')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.2g}"


def skill(record: Record) -> list[FigureTable]:
    """Return the accuracy of each expert on the most frequent classes, ten classes a table; the most asked first."""
    frequent = sorted(range(len(record.classes)), key=lambda k: -record.class_counts[k])[:MOST_CLASSES]
    classes = [sorted(frequent)[start : start + ACROSS] for start in range(0, len(frequent), ACROSS)]
    known = record.skill.accuracy[~np.isnan(record.skill.accuracy)]
    lowest = float(known.min()) if known.size else 0.0
    caption = (
        f"Accuracy of each expert (row) on the cases of each true class (column). Faint: fewer than {VERY_FEW} "
        "answers. Hover over a cell to see its interval."
    )
    order = most_asked_first(record)
    return [
        FigureTable(
            ["", *(str(record.classes[k]) for k in part)],
            [[record.experts[j].name, *(_skill_cell(record, j, k, lowest=lowest) for k in part)] for j in order],
            caption,
        )
        for part in classes
    ]


def _skill_cell(record: Record, j: int, k: int, *, lowest: float) -> Words:
    skill = record.skill
    n, value, low, high = (array[j, k].item() for array in (skill.count, skill.accuracy, skill.low, skill.high))
    if n == 0 or math.isnan(value):
        return Words("-", hint="no answer recorded")
    return Words(
        percent(value),
        mark="faint" if n < VERY_FEW else "",
        hint=f"{hundredths(low)} to {hundredths(high)} %, {n:,} answers",
        heat=(value - lowest) / (1 - lowest) if lowest < 1 else 1.0,
    )
