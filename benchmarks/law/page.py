"""The tables of docs/studies/law.md."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.law.consensus import ERRORS, LEARN
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


def filled(text: str) -> str:
    """Return a text in lines of a page."""
    return textwrap.fill(text, 100, break_on_hyphens=False)


def kind_of(trials: Trials, name: str) -> str:
    """Return whether a set was looked at while the law was chosen."""
    one = trials.sets[name]
    return "simulated" if one.simulated else "put aside" if one.put_aside else "chosen on"


def sets(trials: Trials, before: Trials) -> str:
    """Return what the sets are, and how many splits there are of each."""
    rows = []
    for name in trials.names:
        line = trials.of(name)[0]
        sizes = f"{line['n_learn']:,} + {line['n_judge']:,}"
        splits = f"{len(trials.of(name))}, {len(trials.shared_with(before).of(name))}"
        rows.append((name, kind_of(trials, name), trials.sets[name].note, sizes, str(line["n_members"]), splits))
    return table(("set", "", "cases", "items, learn + judge", "members", "splits, shared"), rows)


def run_facts(trials: Trials) -> str:
    """Say at which commit the trials were made, and of how many splits of ten there are some."""
    commits = ", ".join(sorted({line["commit"] for line in trials.lines}))
    counts = [len(trials.of(name)) for name in trials.names]
    splits = f"{min(counts)} to {max(counts)} splits each"
    return f"{len(trials.lines)} trials of {len(trials.names)} sets, {splits}, at commit {commits}."


def log_loss(trials: Trials, before: Trials) -> str:
    """Return the log loss of what is reported, beside that of 687db29."""
    return _by_heard(trials, before, "log_loss", "{:.3f}", 1.0)


def accuracy(trials: Trials, before: Trials) -> str:
    """Return the share of right labels, beside that of 687db29."""
    return _by_heard(trials, before, "accuracy", "{:.1f}", 100.0)


def gaps(trials: Trials, before: Trials) -> str:
    """Return promised minus kept in points, beside that of 687db29, and the mean absolute gaps."""
    return "\n".join([_by_heard(trials, before, "gap", "{:+.1f}", 100.0), *_mean_gaps(trials, before)])


def _mean_gaps(trials: Trials, before: Trials) -> list[str]:
    """Return the last rows of the table: the mean over sets of the absolute gap."""
    rows = []
    for label, names in _groups(trials):
        pairs = [
            [one.mean_gap(n, names) for one in (trials.shared_with(before), before.shared_with(trials))]
            for n in N_HEARD
        ]
        cells = [f"{100 * ours:.1f} / {100 * theirs:.1f}" for ours, theirs in pairs]
        rows.append(f"| **mean absolute gap, {label}** | " + " | ".join(cells) + " |")
    return rows


def gap_verdict(trials: Trials) -> str:
    """Return the mean and the largest absolute gap on all splits, by the number of answers."""
    means, largest = [], (0.0, "")
    for n, head in zip(N_HEARD, heads(), strict=True):
        means.append(f"{100 * trials.mean_gap(n, trials.names):.1f} after {head}")
        for name in trials.names:
            gap = trials.mean_after(name, n, "gap")
            if gap is not None and abs(gap) > abs(largest[0]):
                largest = gap, f"{name} after {head}"
    return filled(
        f"On all splits that this release has run, the mean absolute gap is {', '.join(means)}; "
        f"the largest is {100 * largest[0]:+.1f}, of {largest[1]}."
    )


def _groups(trials: Trials) -> list[tuple[str, list[str]]]:
    groups = [(kind, [name for name in trials.names if kind_of(trials, name) == kind]) for kind in KINDS]
    return [*((kind, names) for kind, names in groups if names), ("all", list(trials.names))]


def _by_heard(trials: Trials, before: Trials, figure: str, form: str, unit: float) -> str:
    rows, both = [], (trials.shared_with(before), before.shared_with(trials))
    for name in both[0].names:
        cells = [" / ".join(_cell(one.mean_after(name, n, figure), form, unit) for one in both) for n in N_HEARD]
        rows.append((name, *("" if cell == " / " else cell for cell in cells)))
    return table(("set", *heads()), rows)


def _cell(value: float | None, form: str, unit: float) -> str:
    return "" if value is None else form.format(unit * value)


def costs(trials: Trials) -> str:
    """Return what each way costs at each fee, in errors of a hundred cases."""
    rows = []
    for name in trials.names:
        for fee in FEES:
            best = trials.best(name, fee)
            cells = [f"{100 * trials.cost(name, fee, way):.2f}" for way in WAYS]
            cells = [f"**{cell}**" if way == best else cell for way, cell in zip(WAYS, cells, strict=True)]
            rows.append((f"{name}, {fee:g}", *cells))
    return table(("set, fee", *WAYS), rows)


def in_turn(trials: Trials) -> str:
    """Return how many questions asking in turn puts at each fee, and how much surer it is than right, in points."""
    rows = []
    for name in trials.names:
        figures = [
            [trials.cost(name, fee, IN_TURN, figure) for figure in ("questions", "errors", "promised")] for fee in FEES
        ]
        rows.append((name, *(f"{asked:.2f}, {100 * (kept - promised):+.1f}" for asked, kept, promised in figures)))
    return table(("set", *(f"fee {fee:g}" for fee in FEES)), rows)


def cost_verdict(trials: Trials) -> str:
    """Return the mean regret of asking in turn, and the ways that it significantly loses to."""
    regrets = [trials.regret(name, fee) for name in trials.names for fee in FEES]
    shares = [
        trials.regret(name, fee) / max(trials.cost(name, fee, IN_TURN, "errors"), 1e-12)
        for name in trials.names
        for fee in FEES
    ]
    gaps = {
        f"{name} at {fee:g}": trials.cost(name, fee, IN_TURN, "errors") - trials.cost(name, fee, IN_TURN, "promised")
        for name in trials.names
        for fee in FEES
    }
    worst = max(gaps, key=lambda key: abs(gaps[key]))
    tests = trials.losses()
    lost = [f"{name} at {fee:g} to {way}" for (name, fee, way), (_, p) in tests.items() if p < 0.05]
    what = "; ".join(lost) if lost else "none"
    return filled(
        "Mean regret of asking in turn against the cheapest way of each set and fee: "
        f"{100 * np.mean(regrets):.2f} errors of a hundred cases, {100 * np.mean(shares):.1f} % of its own errors. "
        "Significant losses to another way "
        f"(one-sided, corrected for shared cases, Holm over {len(tests)} tests): {what}. "
        "Asking in turn is surer of its labels than right, or less sure, by "
        f"{100 * np.mean(np.abs(list(gaps.values()))):.1f} points on average over sets and fees; "
        f"the largest gap is {100 * gaps[worst]:+.1f}, of {worst}."
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
            shared = {line["split"] for line in ours}
            theirs = [
                line for line in old if (line["set"], line["n_learn"]) == (name, n_learn) and line["split"] in shared
            ]
            if not ours:
                continue
            asked = [f"{q:.2f}" if q is not None else "-" for q in curve_figures(ours)["questions"]]
            first = f"{OLD[n_learn][place]:.2f}"
            rival = f"{RIVAL[n_learn][place]:.2f}"
            rows.append((f"{name}, {n_learn}", ", ".join(asked), _area(ours), _area(theirs), first, rival))
    levels = ", ".join(f"{level:g}" for level in ERRORS)
    head = ("set, cases", f"questions at {levels} %", "area", "687db29", "687db29, first run", "Kelly's method")
    return table(head, rows)


def _area(lines: Sequence[Line]) -> str:
    if not lines:
        return ""
    figures = curve_figures(lines)
    return f"{figures['area']:.2f} ({figures['error']:.2f})"
