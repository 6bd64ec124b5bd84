"""The figures of a team as text: alone, by the values of columns, and beside other teams."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from defero.core.wording import money, percent
from defero.judge.intervals import Share
from defero.judge.paired import Comparison
from defero.judge.record.costs import CostRecord, MeanCost
from defero.judge.record.group_load import GroupTable
from defero.judge.record.member import ExpertRecord, ModelCalibration
from defero.judge.record.panel import PanelRecord
from defero.judge.record.promise import PromiseRecord
from defero.judge.record.team import TeamRecord

if TYPE_CHECKING:
    from defero.study.judging.comparison import Rival

_COLUMNS = """
  right           share of right answers on all cases that they answered
  decides         share of the cases that the team gives them
  right there     share of right answers on those cases"""
_PROMISES = """\
  promised there  mean P(right) that the team assumed on those cases
  smooth error    smooth calibration error of P(right) on all cases that they answered;
                  with few cases it is large by chance alone"""
_WEIGHTS = """
This team decides by weights, which are no probabilities, so it makes no promises."""

MOST_ROWS = 20


def with_interval(share: Share) -> str:
    """Write a share with its interval."""
    low, high = share.interval
    return "-" if math.isnan(share.value) else f"{percent(share.value)}  ({100 * low:.1f} to {100 * high:.1f})"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Lay out cells in columns: the first to the left, the others to the right.

    >>> print(table(["who", "n"], [["ann", "12"], ["bob", "3"]]))
    who   n
    ann  12
    bob   3
    """
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in [header, *rows]
    ]
    return "\n".join(line.rstrip() for line in lines)


def points(gain: Comparison) -> str:
    """Write a difference of two shares in points, with its interval where there is one."""
    if math.isnan(gain.difference):
        return "-"
    ends = "" if math.isnan(gain.low) else f"  ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    return f"{100 * gain.difference:+.1f}{ends}"


def record_text(record: TeamRecord) -> str:
    """Return a team's record as text for a person."""
    lines = [f"On {record.team.total} held-out cases (95 % intervals):\n", *_member_lines(record)]
    if record.experts:
        lines.append(
            f"\nTeam minus model, in points: {points(record.gain)}; McNemar's p = {record.gain.p_value:.2g}.\n"
            f"The team is right where the model alone is wrong on {record.only_team_right} cases, "
            f"and wrong where it is right on {record.only_model_right}."
        )
    lines += _promise_lines(record.promises.total)
    if record.recorded != len(record.experts):
        lines.append(
            f"Only recorded answers can be used: on average {record.recorded:.1f} of {len(record.experts)} experts "
            "answered a case, and the team chose among those."
        )
        if not math.isnan(record.coverage_with_all):
            lines.append(
                f"So the model decides {percent(record.coverage)} here; it would decide "
                f"{percent(record.coverage_with_all)} if everybody could be asked, as in route."
            )
    lines += _way_lines(record)
    lines += [] if record.costs is None else _cost_lines(record.costs)
    if record.panel is not None:
        lines += panel_lines(record.panel)
    if record.panel_note is not None:
        lines.append(f"\n{record.panel_note}")
    lines += _recall_lines(record)
    if record.cautions:
        lines.append("\n" + "\n".join(f"note: {sentence}" for sentence in record.cautions))
    return "\n".join(lines)


def _promise_lines(total: PromiseRecord) -> list[str]:
    """Return the total promised beside what was kept; nothing where nothing was promised."""
    if total.verdict is None:
        return []
    low, high = total.interval
    verdicts = {"less": "less than promised", "more": "more than promised", "too few": "too few cases to tell"}
    return [
        f"Over all cases: promised {percent(total.promised)} (mean P(right) of the deciders), "
        f"kept {percent(total.kept.value)} ({100 * low:.1f} to {100 * high:.1f}): "
        f"{verdicts.get(total.verdict, 'as promised')}."
    ]


def _member_lines(record: TeamRecord) -> list[str]:
    """Return the team, the model and the experts; of many experts those who are asked most."""
    model = record.model_calibration
    promising = record.estimates == "probabilities"
    largest = _largest([expert.asked.total for expert in record.experts])
    lines: list[tuple[str, Share, Share, ExpertRecord | ModelCalibration]]
    lines = [("model", record.model, model.decided, model)]
    lines += [(one.name, one.alone, one.asked, one) for one in (record.experts[j] for j in largest)]
    rows = [["team", with_interval(record.team), "", "", *(["", ""] if promising else [])]]
    for name, alone, decided, member in lines:
        decides = decided.total / record.team.total if record.team.total else math.nan
        cells = [name, with_interval(alone), percent(decides), percent(decided.value)]
        rows.append([*cells, percent(member.promised), _error(member)] if promising else cells)
    head = ["", "right", "decides", "right there", *(["promised there", "smooth error"] if promising else [])]
    more = len(record.experts) - len(largest)
    others = [f"... and {more} experts who are asked less; to_dict (--json) has all."] if more else []
    return [table(head, rows), *others, _COLUMNS, _PROMISES if promising else _WEIGHTS]


def _way_lines(record: TeamRecord) -> list[str]:
    """Return every way of asking beside the plain alternatives; nothing without experts."""
    if len(record.ways) < 3:
        return []
    promising = record.estimates == "probabilities"
    fee = "the fees" if record.fees_given else "0.01 of an error for each question (no fee was given)"
    rows = []
    for one in record.ways:
        mark = " (the team)" if one.name == record.ask else ""
        ends = f"{percent(one.accuracy)}  ({100 * one.low:.1f} to {100 * one.high:.1f})"
        minus = "" if one.minus_team is None else points(one.minus_team)
        promised = [percent(one.promised)] if promising else []
        rows.append([f"{one.words}{mark}", ends, f"{one.questions:.2f}", f"{one.cost:.3f}", *promised, minus])
    head = ["Ways of asking", "right", "questions", "cost", *(["promised"] if promising else []), "minus team, points"]
    return [
        "\n" + table(head, rows),
        f"Cost: errors and {fee}, {'in units of one error' if record.costs is None else 'in your unit of money'}. "
        "Questions: answers heard per case.",
    ]


def _cost_lines(costs: CostRecord) -> list[str]:
    """Return what every way costs, per case, and what the team saves."""
    head = ["Money per case", "questions", "errors", "total", "saves against the model", "against everybody"]
    rows: list[list[str]] = []
    like = costs.like
    for one in costs.ways:
        mark = " (the team)" if one.name == costs.ask else ""
        amounts = [money(amount, like=like) for amount in (one.spent, one.errors)]
        means = [_mean(mean, like) for mean in (one.total, one.against_model, one.against_everybody)]
        rows.append([f"{one.words}{mark}", *amounts, *means])
    n_items, team = costs.n_items, costs.team
    return [
        "\n" + table(head, rows),
        "In the unit of the fees and costs that were given (95 % intervals by Student's t, paired for savings). "
        f"For all {n_items} cases the team spends {money(team.spent * n_items)} on questions and its errors cost "
        f"{money(team.errors * n_items)}: {money(team.total.mean * n_items)} in total.",
    ]


def _mean(one: MeanCost | None, like: float) -> str:
    if one is None:
        return "-"
    ends = "" if math.isnan(one.low) else f"  ({money(one.low, like=like)} to {money(one.high, like=like)})"
    return f"{money(one.mean, like=like)}{ends}"


def _recall_lines(record: TeamRecord) -> list[str]:
    """Return how much of each class is found; of many classes the most frequent."""
    largest = _largest(record.class_counts)
    rows = [
        [str(recalls.label), str(recalls.team.total), with_interval(recalls.team), with_interval(recalls.model)]
        for recalls in (record.recall[k] for k in largest)
    ]
    more = len(record.recall) - len(largest)
    others = [f"... and {more} rarer classes; to_dict (--json) has all."] if more else []
    return ["\n" + table(["class", "cases", "found by the team", "by the model"], rows), *others]


def _largest(counts: Sequence[int]) -> list[int]:
    """Return which to show, in their own order: all, or of too many the largest.

    >>> _largest([3, 1, 2])
    [0, 1, 2]
    """
    order = sorted(range(len(counts)), key=lambda place: -counts[place])
    return sorted(order[:MOST_ROWS]) if len(counts) > MOST_ROWS else list(range(len(counts)))


def _error(member: ExpertRecord | ModelCalibration) -> str:
    """Write a smooth calibration error with its interval."""
    if math.isnan(member.smooth_error):
        return "-"
    return f"{percent(member.smooth_error)}  ({100 * member.smooth_low:.1f} to {100 * member.smooth_high:.1f})"


def panel_lines(panel: PanelRecord) -> list[str]:
    """Return what the panels promised and kept."""
    share_kept = "-"
    if not math.isnan(panel.kept):
        share_kept = f"{percent(panel.kept)} ({100 * panel.low:.1f} to {100 * panel.high:.1f})"
    lines = [
        f"\nPanels ({panel.target}). {panel.promise}",
        f"Promised {panel.bound} {percent(panel.asked_for)}, kept {share_kept}. If everybody could be asked, "
        f"{panel.deferred} cases would be deferred; judged are the {panel.cases} of them that a recorded expert got "
        "right.",
    ]
    if panel.deferred:
        lines.append(
            f"A panel has {_size(panel.raw_size, panel.raw_size_half)} experts on average, and "
            f"{_size(panel.filled_size, panel.filled_size_half)} if the top expert is added to empty panels. "
            f"With panels voting the team is right on {with_interval(panel.accuracy)}."
        )
    return lines


def _size(mean: float, half_width: float) -> str:
    """Write how many experts a panel has; of one panel there is no spread.

    >>> _size(1.5, 0.25), _size(2.0, float("nan"))
    ('1.5 ± 0.2', '2.0')
    """
    return f"{mean:.1f}" if math.isnan(half_width) else f"{mean:.1f} ± {half_width:.1f}"


def groups_text(groups: Sequence[GroupTable]) -> str:
    """Return a table of the team and the model for each column; nothing where there is none."""
    tables = []
    for one in groups:
        rows = [
            [row.value, str(row.n_cases), with_interval(row.team), with_interval(row.model), str(int(row.load.sum()))]
            for row in one.rows
        ]
        tables.append(table([one.column, "cases", "team", "model alone", "asked about, if all could be"], rows))
    return "\n\n".join(tables)


def rivals_text(rivals: "Sequence[Rival]") -> str:
    """Return a table of the comparisons with other teams; nothing where there is none."""
    if not rivals:
        return ""
    several = len(rivals) > 1
    rows = []
    for rival in rivals:
        one = rival.comparison
        cells = [rival.model, str(one.n), percent(one.first), percent(one.second), points(one), f"{one.p_value:.3g}"]
        rows.append([*cells, *([f"{rival.adjusted:.3g}"] if several else [])])
    head = ["against", "cases", "this team", "the other", "difference, in points", "p"]
    level = f"{100 * rivals[0].comparison.level:g} %"
    lines = [
        f"On the cases that neither team saw ({level} paired score intervals; McNemar's exact p):\n",
        table([*head, *(["p, adjusted"] if several else [])], rows),
    ]
    if several:
        lines.append(f"\nThe p values are adjusted for being {len(rivals)} (Holm).")
    return "\n".join(lines)
