"""The figures of a team as text."""

import math
from itertools import zip_longest

from defero.core.wording import money, percent
from defero.judge.panels import PanelRecord
from defero.judge.record import tables
from defero.judge.record.figures import Figure
from defero.judge.record.members import PromiseRecord, shown_metrics
from defero.judge.record.team import Record

_COLUMNS = """
  right           share of right answers on all cases that they answered
  decides         share of the cases that the team gives them
  right there     share of right answers on those cases"""
_PROMISES = "  promised there  mean P(right) that the team assumed on those cases"
_WEIGHTS = """
This team decides by weights, which are no probabilities, so it makes no promises."""


def record_text(record: Record) -> str:
    """Return a team's record as text for a person."""
    gain, recorded = record.team_minus_model, record.recorded_answers_per_item
    lines = [f"On {record.team.total} held-out cases (95 % intervals):\n", tables.members(record).text()]
    more = len(record.experts) - tables.MOST_ROWS
    lines += [f"... and {more} experts who are asked less; to_dict (--json) has all."] if more > 0 else []
    lines += [_COLUMNS, *([_PROMISES, *_metric_lines()] if record.promising else [_WEIGHTS])]
    if record.experts:
        lines.append(
            f"\nTeam minus model, in points: {Figure.gain(gain)}; McNemar's p = {gain.p_value:.2g}.\n"
            f"The team is right where the model alone is wrong on {record.only_team_right} cases, "
            f"and wrong where it is right on {record.only_model_right}."
        )
    lines += _promise_lines(record.promises.total)
    if recorded != len(record.experts):
        lines.append(
            f"Only recorded answers can be used: on average {recorded:.1f} of {len(record.experts)} experts "
            "answered a case, and the team chose among those."
        )
        if not math.isnan(record.coverage_with_all):
            lines.append(
                f"So the model decides {percent(record.coverage)} here; it would decide "
                f"{percent(record.coverage_with_all)} if everybody could be asked, as in route."
            )
    lines += _way_lines(record)
    lines += [] if record.panel is None else panel_lines(record.panel)
    lines += [] if record.panel_note is None else [f"\n{record.panel_note}"]
    shown = tables.largest(record.class_counts)
    lines.append("\n" + tables.recall(record).only(range(4), shown).text())
    more = len(record.recall) - len(shown)
    lines += [f"... and {more} rarer classes; to_dict (--json) has all."] if more else []
    if record.cautions:
        lines.append("\n" + "\n".join(f"note: {sentence}" for sentence in record.cautions))
    return "\n".join(lines)


def _metric_lines() -> list[str]:
    """Return what each metric is."""
    named = ((word, line) for one in shown_metrics().values() for word, line in zip_longest([one.column], one.words))
    return [f"  {word or '':14}  {line}" for word, line in named]


def _promise_lines(total: PromiseRecord) -> list[str]:
    """Return the total promised beside what was kept; nothing where nothing was promised."""
    if total.verdict is None:
        return []
    verdict = "too few cases to tell" if total.verdict == "too few" else tables.VERDICTS[total.verdict]
    kept = str(Figure(total.kept.value, *total.interval)).replace("  (", " (")
    return [
        f"Over all cases: promised {percent(total.promised)} (mean P(right) of the deciders), kept {kept}: {verdict}."
    ]


def _way_lines(record: Record) -> list[str]:
    """Return every way of asking beside the plain alternatives, also in money; nothing without experts."""
    if len(record.ways) < 3:
        return []
    fee = "the fees" if record.fees_given else "0.01 of an error for each question (no fee was given)"
    lines = [
        "\n" + tables.ways(record).text(),
        f"Cost: errors and {fee}, {'in units of one error' if record.costs is None else 'in your unit of money'}. "
        "Questions: answers heard per case.",
    ]
    if record.costs is not None:
        n_items, team = record.team.total, record.costs.team
        spent, errors, total = (money(one * n_items) for one in (team.spent, team.errors, team.cost))
        lines += [
            "\n" + tables.costs(record).text(),
            "In the unit of the fees and costs that were given (95 % intervals by Student's t, paired for savings). "
            f"For all {n_items} cases the team spends {spent} on questions and its errors cost {errors}: {total} in "
            "total.",
        ]
    return lines


def panel_lines(panel: PanelRecord) -> list[str]:
    """Return what the panels promised and kept."""
    kept = str(Figure(panel.kept, panel.low, panel.high)).replace("  (", " (")
    lines = [
        f"\nPanels ({panel.target}). {panel.promise}",
        f"Promised {panel.bound} {percent(panel.asked_for)}, kept {kept}. If everybody could be asked, "
        f"{panel.deferred} cases would be deferred; judged are the {panel.cases} of them that a recorded expert got "
        "right.",
    ]
    if panel.deferred:
        lines.append(
            f"A panel has {tables.plus_minus(panel.raw_size, panel.raw_size_half)} experts on average, and "
            f"{tables.plus_minus(panel.filled_size, panel.filled_size_half)} if the top expert is added to empty "
            f"panels. With panels voting the team is right on {Figure.share(panel.team_with_panels)}."
        )
    return lines
