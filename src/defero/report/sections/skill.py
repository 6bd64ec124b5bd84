"""Who knows what: each expert's accuracy on each class."""

import math
from collections.abc import Sequence

from defero.metrics.record.member import VERY_FEW
from defero.metrics.record.team import TeamRecord
from defero.report.html import Cell, Html, joined, paragraph, section, table, tag
from defero.report.sections.many import in_parts, most_asked_first
from defero.report.wording import NOTHING, count, interval, percent

MOST_CLASSES, ACROSS = 40, 10
"""How many classes are shown at all, and side by side: what fits on a sheet of paper."""


def skill(record: TeamRecord) -> Html:
    """Return the section."""
    order = most_asked_first([expert.asked.total for expert in record.experts])
    # The most frequent classes, in their own order.
    kept = sorted(sorted(range(len(record.classes)), key=lambda k: -record.class_counts[k])[:MOST_CLASSES])
    across = [kept[start : start + ACROSS] for start in range(0, len(kept), ACROSS)]
    return section(
        "skill",
        "Who knows what?",
        paragraph(
            "An expert who is weak on average may be the best for one class. This is skill, over every case that the "
            "expert answered, asked or not; the stronger the colour, the more often they are right."
        ),
        in_parts(order, lambda experts: joined(_table(record, experts, classes) for classes in across)),
        _left_out(len(record.classes)),
    )


def _table(record: TeamRecord, experts: Sequence[int], classes: list[int]) -> Html:
    lowest = min((float(value) for value in record.skill.accuracy.ravel() if not math.isnan(value)), default=0.0)
    return table(
        "Share of right answers of each expert (row) on the cases that truly belong to each class (column). Faint: "
        f"fewer than {VERY_FEW} answers. Point at a cell for its interval.",
        ["", *(str(record.classes[k]) for k in classes)],
        [[record.experts[j].name, *(_cell(record, j, k, lowest=lowest) for k in classes)] for j in experts],
        kind="heat",
    )


def _left_out(n_classes: int) -> Html:
    if n_classes <= MOST_CLASSES:
        return Html("")
    said = f"Shown are the {MOST_CLASSES} most frequent of {count(n_classes)} classes; evaluate --json has them all."
    return tag("p", said, attributes={"class": "aside"})


def _cell(record: TeamRecord, j: int, k: int, *, lowest: float) -> Cell:
    found = record.skill
    n, value = int(found.count[j, k]), float(found.accuracy[j, k])
    if n == 0 or math.isnan(value):
        return Cell(NOTHING, {"title": "no answer recorded"})
    told = f"{interval(float(found.low[j, k]), float(found.high[j, k]))} %, {count(n)} answers"
    faint = {"class": "faint"} if n < VERY_FEW else {}
    return Cell(
        percent(value),
        {
            "style": f"--heat: {100 * (value - lowest) / (1 - lowest) if lowest < 1 else 100:.0f}%",
            "title": told,
            **faint,
        },
    )
