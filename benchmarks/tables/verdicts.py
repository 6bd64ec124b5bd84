"""What was to be shown, line by line, and whether the trials show it."""

from dataclasses import dataclass, replace

import numpy as np

from benchmarks.resampled import ResampledMean
from benchmarks.tables.summary import DEFAULT, MODEL, WAYS, Table, below_after_holm

FULL = 10
"""Splits from which on a verdict counts: with two or three every interval holds 0."""
MOST_BELOW, LEAST_ABOVE, MOST_GAP, LEAST_KEPT, TRUE_GAIN = 0.005, 0.01, 0.01, 0.9, 0.03


@dataclass(frozen=True)
class Verdict:
    """A line of what was to be shown.

    Attributes
    ----------
    claim : str
    n_checked : int
    failures : tuple of str
        The sets that fail it, with their numbers.
    complete : bool
        Whether every set of the table has ten splits.
    """

    claim: str
    n_checked: int
    failures: tuple[str, ...]
    complete: bool = False

    def __str__(self) -> str:
        if not self.n_checked:
            return f"- **not run**: {self.claim}"
        if not self.failures:
            word = "shown" if self.complete else "not contradicted so far"
            return f"- **{word}** ({self.n_checked} of {self.n_checked}): {self.claim}"
        head = f"- **not shown** ({self.n_checked - len(self.failures)} of {self.n_checked}): {self.claim}"
        return "\n".join([head, *(f"  - {failure}" for failure in self.failures)])


def verdicts(table: Table) -> list[Verdict]:
    """Return all lines."""
    complete = set(table.sets()) == set(table.settings) and all(
        len(table.lines(name, DEFAULT)) >= FULL for name in table.sets()
    )
    lines = [*_against_others(table), _few_answers(table), _true_gain(table), *(_promises(table, way) for way in WAYS)]
    return [replace(line, complete=complete) for line in lines]


def points(difference: ResampledMean) -> str:
    """Write a difference in points with its interval."""
    return f"{100 * difference.mean:+.2f} [{100 * difference.low:+.2f}, {100 * difference.high:+.2f}]"


def _others(table: Table) -> dict[tuple[str, str], ResampledMean]:
    pairs = [(name, other) for name in table.sets() for other in (table.best_plain(name), MODEL) if other is not None]
    tests = {pair: table.difference(*pair) for pair in pairs}
    return {pair: test for pair, test in tests.items() if test is not None}


def _against_others(table: Table) -> list[Verdict]:
    tests = _others(table)
    below = below_after_holm(tests) if tests else []
    far = [pair for pair, test in tests.items() if test.mean < -MOST_BELOW]

    def named(pairs: list[tuple[str, str]]) -> tuple[str, ...]:
        return tuple(f"{name}, {other}: {points(tests[name, other])}" for name, other in pairs)

    what = "the best plain system or the model alone"
    return [
        Verdict(f"no significant loss to {what} (one-sided, Holm over the table)", len(tests), named(below)),
        Verdict(f"no mean more than 0.5 points below {what}", len(tests), named(far)),
    ]


def _few_answers(table: Table) -> Verdict:
    checked, failures = 0, []
    for name in table.sets():
        if table.settings[name].kind != "few answers":
            continue
        for other, system in table.systems.items():
            difference = table.difference(name, other) if system.plain else None
            if difference is None:
                continue
            checked += 1
            if difference.mean < LEAST_ABOVE:
                failures.append(f"{name}, {other}: {points(difference)}")
    claim = "at least 1 point above every plain system where experts have 20 answers"
    return Verdict(claim, checked, tuple(failures))


def _true_gain(table: Table) -> Verdict:
    checked, failures = 0, []
    for name in table.sets():
        if table.settings[name].kind == "true gain":
            checked += 1
            share = gain_kept(table, name)
            if not share >= LEAST_KEPT:
                failures.append(f"{name}: {share:.0%} of the gain over its own model")
    return Verdict("600 rows keep 90 % of a true gain of 3 points", checked, tuple(failures))


def gain_kept(table: Table, setting: str, *, system: str = DEFAULT) -> float:
    """Return the gain of a team over its own model, by the true probabilities, as a share of the 3 points."""
    lines = table.lines(setting, system).values()
    return float(np.mean([line["true_value"] - line["true_model"] for line in lines])) / TRUE_GAIN


def _promises(table: Table, way: str) -> Verdict:
    gaps = {name: gap for name in table.sets() if (gap := table.gap(name, way)) is not None}
    failures = [
        f"{name}: {points(gap)}" for name, gap in gaps.items() if abs(gap.mean) > MOST_GAP and gap.low * gap.high > 0
    ]
    claim = f"promised minus kept, {way}: at most 1 point, or 0 inside its 95 % interval"
    return Verdict(claim, len(gaps), tuple(failures))
