"""Accuracy of each expert on each class."""

import math
from collections.abc import Sequence

from defero.metrics.record.team import TeamRecord
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, interval, percent
from defero.report.tables import Cell, folded_rows, most_asked_first, table

VERY_FEW = 10
"""Cells with fewer answers are faint."""
MOST_CLASSES, ACROSS = 40, 10
"""Number of classes that are shown, and how many side by side: as many as fit on a sheet of paper."""


def skill(record: TeamRecord) -> Html:
    """Return the section."""
    order = most_asked_first([expert.asked.total for expert in record.experts])
    # The most frequent classes, in their order.
    class_idx = sorted(sorted(range(len(record.classes)), key=lambda k: -record.class_counts[k])[:MOST_CLASSES])
    across = [class_idx[start : start + ACROSS] for start in range(0, len(class_idx), ACROSS)]
    return section(
        "skill",
        "Which expert for which class?",
        paragraph(
            "An expert who is weak on average may be the best for one class. The table counts all cases that an expert "
            "answered, whether the team would ask them or not. Stronger colours mean higher accuracy."
        ),
        folded_rows(order, lambda experts: joined(_table(record, experts, classes) for classes in across)),
        _left_out(len(record.classes)),
    )


def _table(record: TeamRecord, experts: Sequence[int], classes: list[int]) -> Html:
    lowest = min((float(value) for value in record.skill.accuracy.ravel() if not math.isnan(value)), default=0.0)
    return table(
        "Accuracy of each expert (row) on the cases of each true class (column). Faint: fewer than "
        f"{VERY_FEW} answers. Hover over a cell to see its interval.",
        ["", *(str(record.classes[k]) for k in classes)],
        [[record.experts[j].name, *(_cell(record, j, k, lowest=lowest) for k in classes)] for j in experts],
        kind="heat",
    )


def _left_out(n_classes: int) -> Html:
    if n_classes <= MOST_CLASSES:
        return Html("")
    note = f"The {MOST_CLASSES} most frequent of {count(n_classes)} classes are shown; evaluate --json has all of them."
    return tag("p", note, attributes={"class": "aside"})


def _cell(record: TeamRecord, j: int, k: int, *, lowest: float) -> Cell:
    skill = record.skill
    n, value = int(skill.count[j, k]), float(skill.accuracy[j, k])
    if n == 0 or math.isnan(value):
        return Cell(NOTHING, {"title": "no answer recorded"})
    hint = f"{interval(float(skill.low[j, k]), float(skill.high[j, k]))} %, {count(n)} answers"
    faint = {"class": "faint"} if n < VERY_FEW else {}
    return Cell(
        percent(value),
        {
            "style": f"--heat: {100 * (value - lowest) / (1 - lowest) if lowest < 1 else 100:.0f}%",
            "title": hint,
            **faint,
        },
    )
