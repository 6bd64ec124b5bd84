"""Panels that Figure 3 and the overlap figure share: sizes of conformal sets, and votes of their members."""

from dataclasses import replace

from defero_verma2023.figures.figure import Line, Panel, Series
from defero_verma2023.methods import ONE_CLASSIFIER, TWO_LOSSES

ALONE = Series(ONE_CLASSIFIER, "system_accuracy", ONE_CLASSIFIER, line="dashed")
_ALPHA = (10.0, "alpha: at most 10 %, as promised")
_MARKERS: dict[Line, str] = {"solid": "", "dashed": "^", "dotted": "D"}
_STATISTICS: tuple[tuple[str, Line], ...] = (("naive", "solid"), ("regularized", "dashed"))
_TARGETS: tuple[tuple[str, str, Line], ...] = (
    ("all_correct", "all-correct", "solid"),
    ("missed_share", "missed-share", "dashed"),
    ("any_correct", "any-correct", "dotted"),
)


def _of_both(*lines: Series) -> tuple[Series, ...]:
    """Return lines that name no method, for each of the paper's two losses."""
    return tuple(
        replace(one, method=method, label=f"{label}, {one.label}", marker=_MARKERS[one.line])
        for method, label in TWO_LOSSES.items()
        for one in lines
    )


def _published(metric: str, label: str, line: Line, *, run: str) -> Series:
    """Return a line that the paper draws as well, without a method."""
    return Series("", metric, label, line=line, published=metric, run=run)


def paper_sizes(*, diagonal: bool) -> Panel:
    """Return the paper's panel: the two statistics, as the authors ran them."""
    return Panel(
        title="the paper: its two statistics, as run",
        y_label="experts in the set",
        series=_of_both(*(_published(f"sets.{kind}_as_run.size", kind, line, run=kind) for kind, line in _STATISTICS)),
        unit="experts",
        diagonal=diagonal,
    )


def our_sizes(*, diagonal: bool) -> Panel:
    """Return our panel: the sets of the three promises, their thresholds found exactly, on the same networks."""
    return Panel(
        title="added: three promises, exact thresholds",
        y_label="experts in the set",
        series=_of_both(*(Series("", f"sets.{target}.size", name, line) for target, name, line in _TARGETS)),
        unit="experts",
        diagonal=diagonal,
    )


def paper_left_out() -> Panel:
    """Return what the sizes do not show: how many right experts the sets as run leave out, beside what was asked."""
    return Panel(
        title="the paper's sets, as run: right experts left out",
        y_label="right experts left out, %",
        series=_of_both(*(Series("", f"sets.{kind}_as_run.missed_share", kind, line) for kind, line in _STATISTICS)),
        reference=_ALPHA,
    )


def our_left_out() -> Panel:
    """Return the same of our sets, but any-correct ones, which promise one right expert and leave others out."""
    return Panel(
        title="added: right experts that exact sets leave out",
        y_label="right experts left out, %",
        series=_of_both(
            *(Series("", f"sets.{target}.missed_share", name, line) for target, name, line in _TARGETS[:2])
        ),
        reference=_ALPHA,
    )


def paper_votes(kind: str, *, title: str) -> Panel:
    """Return the accuracy of the vote on one kind of sets, beside five experts and one, from the authors' same run."""
    conformal = "votes.naive_as_run.system_accuracy" if kind == "naive" else "votes.regularized.system_accuracy"
    return Panel(
        title=title,
        y_label="system accuracy, %",
        series=_of_both(
            _published(conformal, f"{kind} set", "solid", run=kind),
            _published("votes.top5.system_accuracy", "top five", "dashed", run=kind),
            _published("votes.top_expert.system_accuracy", "top expert", "dotted", run=kind),
        ),
    )


def our_votes() -> Panel:
    """Return the accuracy of our sets under two votes, on an axis of its own: they differ by little."""
    votes = _of_both(
        Series("", "votes.any_correct_majority.system_accuracy", "any-correct, majority", "dotted"),
        Series("", "votes.any_correct_bayes.system_accuracy", "any-correct, Bayes", "dashed"),
        Series("", "votes.missed_share_bayes.system_accuracy", "missed-share, Bayes", "solid"),
    )
    return Panel(
        title="added: exact sets, and the Bayes vote", y_label="system accuracy of panels, %", series=(*votes, ALONE)
    )
