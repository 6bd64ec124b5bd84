"""Accuracy of each expert on each class, and experts who make the same mistakes."""

import math
from collections.abc import Sequence

from defero.judge.record.team import TeamRecord
from defero.judge.shared_errors import LEAST_SHARED, NOTEWORTHY, SharedErrors, SharedPair
from defero.report.html import Html, bullet_list, joined, paragraph, section, tag
from defero.report.numbers import NOTHING, by_chance, count, interval, percent
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


TITLE = "Experts who make the same mistakes"
FEW = (
    " With fewer than four experts, copying cannot be distinguished from hard cases: correlations up to 0.5 are "
    "attributed to hard cases."
)


def shared_errors(record: TeamRecord) -> Html:
    """Return the section."""
    errors = record.shared_errors
    if len(errors.names) < 2:
        return section("shared-errors", TITLE, paragraph("There is only one expert, so there are no pairs to compare."))
    known = bool((errors.correlation == errors.correlation).any())
    return section(
        "shared-errors",
        TITLE,
        paragraph(
            "A second opinion helps only if its mistakes differ from those of the first: two copies of one person "
            "count as one person. Hard cases cause mistakes of all experts, so their effect is removed first (by each "
            "expert's probability of being right, the true class, and the mistakes of all other experts). The "
            "correlation that remains is 0 for independent experts and 1 for copies."
        ),
        *_verdict(errors, known=known),
        _pairs(errors.pairs) if errors.pairs else "",
        tag("p", _rule(errors), attributes={"class": "aside"}) if known else "",
    )


def _verdict(errors: SharedErrors, *, known: bool) -> list[Html]:
    if not known:
        none = f"No two experts share {LEAST_SHARED} cases in which they could make mistakes: no pair can be compared."
        return [paragraph(none)]
    sentences = [*errors.sentences, *(_weaker(pair) for pair in errors.pairs if not _in_group(pair, errors))]
    if not sentences:
        return [paragraph("No two experts make the same mistakes more often than hard cases explain.")]
    return [bullet_list(sentences)]


def _in_group(pair: SharedPair, errors: SharedErrors) -> bool:
    """Return whether a group contains the pair."""
    return any({pair.first, pair.second} <= set(group) for group in errors.groups)


def _weaker(pair: SharedPair) -> str:
    first, second = pair.names
    return f"{first} and {second} often make the same mistakes: together they count as about {pair.voices:.1f} experts."


def _pairs(pairs: Sequence[SharedPair]) -> Html:
    rows = [
        [
            " and ".join(pair.names),
            f"{pair.correlation:.2f}",
            percent(pair.agreement),
            count(pair.n_shared),
            f"{count(pair.same_wrong)} of {count(pair.both_wrong)}",
            f"{pair.voices:.1f}",
            by_chance(pair.p_value),
        ]
        for pair in pairs
    ]
    return folded_rows(rows, _pairs_table, rest="Show the other {n} pairs")


def _pairs_table(rows: Sequence[list[str]]) -> Html:
    return table(
        "Pairs who make the same mistakes beyond chance, the most similar first.",
        [
            "",
            "correlation",
            "same answer",
            "shared cases",
            "same mistake, if both wrong",
            "count as",
            "p-value",
        ],
        rows,
        kind="dense",
    )


def _rule(errors: SharedErrors) -> str:
    typical = f"{round(errors.typical, 2) + 0.0:.2f}".replace("-", "\u2212")
    return (
        f"Before the effect of hard cases is removed, the mean correlation of two experts' mistakes is {typical}. "
        f"A pair is listed if its correlation is at least {NOTEWORTHY} and beyond chance (at 5 %, all pairs together). "
        f"Pairs with fewer than {LEAST_SHARED} shared cases are left out. Experts with hardly any mistakes cannot be "
        f"compared.{FEW if len(errors.names) < 4 else ''}"
    )
