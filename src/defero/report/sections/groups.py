"""Who gets which cases: load, accuracy and recall by the values of columns."""

from collections.abc import Sequence

from defero.metrics.record.group_load import GroupRow, GroupTable
from defero.metrics.record.team import TeamRecord
from defero.metrics.statistics.intervals import Share
from defero.report.html import Html, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, count, percent, points, share
from defero.report.tables import table

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
