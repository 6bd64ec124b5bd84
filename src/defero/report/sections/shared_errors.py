"""Who else? Experts who err together are fewer people than they seem."""

from collections.abc import Sequence

from defero.metrics.record.team import TeamRecord
from defero.metrics.shared_errors import LEAST_SHARED, NOTEWORTHY, SharedErrors
from defero.metrics.shared_pairs import SharedPair
from defero.plotting import SharedErrorsDisplay
from defero.plotting.shared_errors import MOST_EXPERTS, SHOWN
from defero.report.html import Html, listed, paragraph, section, table, tag
from defero.report.sections.many import in_parts
from defero.report.svg import figure
from defero.report.wording import by_chance, count, percent

TITLE = "Who else? Experts who err together"
FEW = (
    " With so few experts hard cases cannot be told from copying: whatever goes together up to a correlation of 0.5 "
    "passes for hard cases."
)


def shared_errors(record: TeamRecord) -> Html:
    """Return the section."""
    found = record.shared_errors
    if len(found.names) < 2:
        return section("alike", TITLE, paragraph("There is one expert alone: nobody to compare them with."))
    known = bool((found.correlation == found.correlation).any())
    return section(
        "alike",
        TITLE,
        paragraph(
            "A second opinion helps only where its errors are its own: two copies of one person are one person. Hard "
            "cases make everybody err together; that is taken away first (how likely each expert was to be right, the "
            "true class, and what makes a case hard for all the others). What is left is 0 for strangers and 1 for "
            "copies."
        ),
        *_verdict(found, known=known),
        _pairs(found.pairs) if found.pairs else "",
        _picture(found) if known else "",
        tag("p", _rule(found), attributes={"class": "aside"}) if known else "",
    )


def _verdict(found: SharedErrors, *, known: bool) -> list[Html]:
    if not known:
        none = f"No two experts share {LEAST_SHARED} cases in which they could err: nothing can be said."
        return [paragraph(none)]
    said = [*found.sentences, *(_weaker(pair) for pair in found.pairs if not _inside(pair, found))]
    if not said:
        return [paragraph("No two experts err together more than the cases explain.")]
    return [listed(said)]


def _inside(pair: SharedPair, found: SharedErrors) -> bool:
    """Tell whether a group says it already."""
    return any({pair.first, pair.second} <= set(group) for group in found.groups)


def _weaker(pair: SharedPair) -> str:
    first, second = pair.names
    return f"{first} and {second} often err together: the two are worth about {pair.voices:.1f} voices."


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
    return in_parts(rows, _table, rest="Show the other {n} pairs")


def _table(rows: Sequence[list[str]]) -> Html:
    return table(
        "Pairs who err together beyond chance, the most alike first.",
        ["", "correlation", "same answer", "shared cases", "same error, of both wrong", "worth, in voices", "chance"],
        rows,
        kind="dense",
    )


def _picture(found: SharedErrors) -> Html:
    n_experts = len(found.names)
    shown = n_experts if n_experts <= MOST_EXPERTS else SHOWN
    whom = "every two experts" if shown == n_experts else f"the {shown} experts most alike, of {count(n_experts)}"
    side = 1.6 + (0.36 if shown <= 12 else 0.22) * max(shown, 4)
    return figure(
        "alike",
        f"How much the errors of {whom} go together beyond what the cases explain: the stronger the colour, the more. "
        "A frame marks pairs that chance does not explain.",
        lambda ax: SharedErrorsDisplay.from_errors(found, ax=ax),
        size=(side, side + 0.4),
    )


def _rule(found: SharedErrors) -> str:
    typical = f"{round(found.typical, 2) + 0.0:.2f}".replace("-", "\u2212")
    return (
        f"Before hard cases are allowed for, two experts' errors have a correlation of {typical} on average. A pair is "
        f"named from {NOTEWORTHY} on, where chance explains so much in at most one of twenty reports, all pairs taken "
        f"together; pairs with fewer than {LEAST_SHARED} shared cases are left out. Experts who hardly err cannot be "
        f"told apart.{FEW if len(found.names) < 4 else ''}"
    )
