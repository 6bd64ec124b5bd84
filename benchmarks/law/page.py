"""The tables of docs/studies/law.md."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from benchmarks.law.consensus import LEARN
from benchmarks.law.consensus import SETS as CONSENSUS
from benchmarks.law.summary import IN_TURN, Trials, curve_figures, heads
from benchmarks.law.trial import FEES, N_HEARD, WAYS
from benchmarks.page_numbers.blocks import table
from benchmarks.tables.trial import Line

KINDS = ("chosen on", "put aside", "simulated")
RIVAL = {250: (2.69, 1.24, 0.84), 500: (1.77, 1.30, 0.61)}
"""Areas of Kelly's method, run with a sampler of its own on other shuffles of the same sets."""
OLD = {250: (3.45, 2.96, 0.75), 500: (2.45, 2.17, 0.63)}
"""Areas of defero 687db29, the same."""
WITHIN = {"chosen on": 0.01, "put aside": 0.01, "simulated": 0.005}
"""How near the value of a question is to what was promised, in errors."""


def kind_of(trials: Trials, name: str) -> str:
    """Return whether a set was looked at while the law was chosen."""
    one = trials.sets[name]
    return "simulated" if one.simulated else "put aside" if one.put_aside else "chosen on"


def sets(trials: Trials) -> str:
    """Return what the sets are."""
    rows = []
    for name in trials.names:
        line = trials.of(name)[0]
        sizes = f"{line['n_learn']:,} + {line['n_judge']:,}"
        note = trials.sets[name].note
        rows.append((name, kind_of(trials, name), note, sizes, str(line["n_members"]), str(len(trials.of(name)))))
    return table(("set", "", "cases", "items, learn + judge", "members", "splits"), rows)


def log_loss(trials: Trials, before: Trials) -> str:
    """Return the log loss of what is reported, beside that of 687db29."""
    return _by_heard(trials, before, "log_loss", "{:.3f}", 1.0)


def accuracy(trials: Trials, before: Trials) -> str:
    """Return the share of right labels, beside that of 687db29."""
    return _by_heard(trials, before, "accuracy", "{:.1f}", 100.0)


def gaps(trials: Trials, before: Trials) -> str:
    """Return promised minus kept in points, beside that of 687db29, and the mean absolute gaps."""
    body = _by_heard(trials, before, "gap", "{:+.1f}", 100.0).split("\n")
    for label, names in _groups(trials):
        cells = [f"{100 * trials.mean_gap(n, names):.1f} / {_old_gap(before, n, names)}" for n in N_HEARD]
        body.append(f"| **mean absolute gap, {label}** | " + " | ".join(cells) + " |")
    return "\n".join(body)


def _groups(trials: Trials) -> list[tuple[str, list[str]]]:
    groups = [(kind, [name for name in trials.names if kind_of(trials, name) == kind]) for kind in KINDS]
    return [*((kind, names) for kind, names in groups if names), ("all", list(trials.names))]


def _old_gap(before: Trials, n_heard: int, names: Iterable[str]) -> str:
    there = [name for name in names if before.mean_after(name, n_heard, "gap") is not None]
    return f"{100 * before.mean_gap(n_heard, there):.1f}" if there else ""


def _by_heard(trials: Trials, before: Trials, figure: str, form: str, unit: float) -> str:
    rows = []
    for name in trials.names:
        cells = [
            " / ".join(_cell(one.mean_after(name, n, figure), form, unit) for one in (trials, before)) for n in N_HEARD
        ]
        rows.append((name, *("" if cell == " / " else cell for cell in cells)))
    return table(("set", *heads()), rows)


def _cell(value: float | None, form: str, unit: float) -> str:
    return "" if value is None else form.format(unit * value)


def costs(trials: Trials) -> str:
    """Return what each way costs at each fee, in errors of a hundred cases."""
    rows, more = [], []
    ways = [way for way in WAYS if way != "panel"]
    for name in trials.names:
        for fee in FEES:
            best, shown = trials.best(name, fee), (name if fee == FEES[0] else "", f"{fee:g}")
            cells = {way: f"{100 * trials.cost(name, fee, way):.2f}" for way in WAYS}
            cells[best] = f"**{cells[best]}**"
            asked = f"{trials.cost(name, fee, IN_TURN, 'questions'):.2f}"
            gap = 100 * (trials.cost(name, fee, IN_TURN, "errors") - trials.cost(name, fee, IN_TURN, "promised"))
            rows.append((*shown, *(cells[way] for way in ways)))
            more.append((*shown, cells["panel"], asked, f"{gap:+.1f}"))
    first = table(("set", "fee", *ways), rows)
    return f"{first}\n\n{table(('set', 'fee', 'panel', 'questions in turn', 'promised - kept in turn'), more)}"


def cost_verdict(trials: Trials) -> str:
    """Return the mean regret of asking in turn, and the ways that it significantly loses to."""
    regrets = [trials.regret(name, fee) for name in trials.names for fee in FEES]
    shares = [
        trials.regret(name, fee) / max(trials.cost(name, fee, IN_TURN, "errors"), 1e-12)
        for name in trials.names
        for fee in FEES
    ]
    tests = trials.losses()
    lost = [f"{name} at {fee:g} to {way}" for (name, fee, way), (_, p) in tests.items() if p < 0.05]
    what = "; ".join(lost) if lost else "none"
    return (
        "Mean regret of asking in turn against the cheapest way of each set and fee:\n"
        f"{100 * np.mean(regrets):.2f} errors of a hundred cases, {100 * np.mean(shares):.1f} % of its own errors.\n"
        "Significant losses to another way "
        f"(one-sided, corrected for shared cases, Holm over {len(tests)} tests): {what}."
    )


def questions(trials: Trials) -> str:
    """Return what the next question was to take from the errors, and what it took."""
    rows = []
    for name in trials.names:
        promised, kept = (100 * trials.question(name, figure) for figure in ("promised", "kept"))
        within = "yes" if abs(promised - kept) <= 100 * WITHIN[kind_of(trials, name)] else "no"
        rows.append((name, f"{promised:.1f}", f"{kept:.1f}", f"{promised - kept:+.1f}", within))
    return table(("set", "promised", "kept", "difference", "within .5 (simulated) or 1 point"), rows)


def consensus(lines: Mapping[tuple[str, str, int, str], Line], old: Sequence[Line]) -> str:
    """Return the areas of Kelly's sets, beside those of 687db29 and of Kelly's method."""
    rows = []
    for n_learn in LEARN:
        for place, name in enumerate(CONSENSUS):
            ours = [line for line in lines.values() if line["set"] == name and line["n_learn"] == n_learn]
            theirs = [line for line in old if line["set"] == name and line["n_learn"] == n_learn]
            if not ours:
                continue
            figures = curve_figures(ours)
            at = [f"{q:.2f}" if q is not None else "-" for q in figures["questions"]]
            again = _area(theirs)
            rows.append(
                (
                    f"{name}, {n_learn} learned",
                    at[1],
                    _area(ours),
                    again,
                    f"{OLD[n_learn][place]:.2f}",
                    f"{RIVAL[n_learn][place]:.2f}",
                )
            )
    head = ("set", "questions at 2 %", "area", "687db29", "687db29, first run", "Kelly's method")
    return table(head, rows)


def _area(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    figures = curve_figures(lines)
    return f"{figures['area']:.2f} ({figures['error']:.2f})"
