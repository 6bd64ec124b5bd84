"""A judged team by the values of columns, and beside other teams, as text."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from defero.core.wording import percent
from defero.metrics.record.group_load import GroupTable
from defero.study.judging.summary import points, table, with_interval

if TYPE_CHECKING:
    from defero.study.judging.comparison import Rival


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
