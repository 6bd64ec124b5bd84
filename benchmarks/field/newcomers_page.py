"""The part of the page on newcomers, written from its trials."""

from collections.abc import Callable
from textwrap import fill

import numpy as np

from benchmarks.field.newcomers import MOST_NEWCOMERS, N_ANSWERS, SETS, WAYS, read
from benchmarks.page_numbers.blocks import table
from benchmarks.resampled import ResampledMean, nadeau_bengio
from benchmarks.tables.trial import Line
from defero.judge.intervals import holm

LEVEL = 0.05
OURS, THEIRS = "shrunk heads", ("L2D-Pop, mean", "L2D-Pop, attention")


def section() -> str:
    """Return the heading, the tables, and who wins where; nothing without trials."""
    lines = read()
    if not lines:
        return ""
    return "\n\n".join(["## Newcomers", opening(lines), log_losses(lines), accuracies(lines), winners(lines)])


def opening(lines: list[Line]) -> str:
    """Say what was run."""
    sets = "; ".join(f"{name}: {SETS[name].note}" for name in SETS)
    return fill(
        f"`python -m benchmarks.field.newcomers`; {len({line['split'] for line in lines})} splits; up to "
        f"{MOST_NEWCOMERS} experts are left out of training and join with 0 to {max(N_ANSWERS)} answers. {sets}. *Log "
        "loss* is that of P(right) on the newcomers' answers to test cases, less is better. *Accuracy* is that of the "
        "model with the newcomers, on the cases that one of them answered. The last table has p values after Holm's "
        "correction over its rows.",
        100,
    )


def values(lines: list[Line], one: str, way: str, n_answers: int, figure: str) -> dict[int, float]:
    """Return a figure by split."""
    return {
        line["split"]: line[figure]
        for line in lines
        if (line["set"], line["system"], line["n_answers"]) == (one, way, n_answers)
    }


def log_losses(lines: list[Line]) -> str:
    """Return the table of log losses."""
    return _table(lines, "log_loss", "log loss", lambda value: f"{value:.3f}")


def accuracies(lines: list[Line]) -> str:
    """Return the table of accuracies, in per cent."""
    return _table(lines, "accuracy", "accuracy, %", lambda value: f"{100 * value:.1f}")


def _table(lines: list[Line], figure: str, words: str, written: Callable[[float], str]) -> str:
    rows = [
        (
            f"{one}, {way}",
            *(written(float(np.mean(list(values(lines, one, way, n, figure).values())))) for n in N_ANSWERS),
        )
        for one in SETS
        for way in WAYS
        if values(lines, one, way, N_ANSWERS[0], figure)
    ]
    return table((words, *(f"{n} answers" for n in N_ANSWERS)), rows)


def difference(lines: list[Line], one: str, other: str, n_answers: int) -> ResampledMean | None:
    """Return the log loss of L2D-Pop minus that of the heads, above 0 where the heads are better."""
    ours, theirs = (values(lines, one, way, n_answers, "log_loss") for way in (OURS, other))
    both = sorted(ours.keys() & theirs.keys())
    if len(both) < 2:
        return None
    line = next(line for line in lines if line["set"] == one)
    n_test = 1e-9 if SETS[one].fresh else line["n_test"]
    return nadeau_bengio([theirs[seed] - ours[seed] for seed in both], n_train=line["n_train"], n_test=n_test)


def winners(lines: list[Line]) -> str:
    """Say who wins where: the better of the two encoders beside the heads, with its interval."""
    rows, tests = [], []
    for one in SETS:
        for n_answers in N_ANSWERS:
            each = {other: difference(lines, one, other, n_answers) for other in THEIRS}
            known = {other: test for other, test in each.items() if test is not None}
            if known:
                other = min(known, key=lambda name: known[name].mean)
                rows.append((f"{one}, {n_answers} answers", other))
                tests.append(known[other])
    adjusted = holm([test.p_value for test in tests])
    cells = [
        (name, other, f"{test.mean:+.3f} [{test.low:+.3f}, {test.high:+.3f}]", f"{p:.2g}", _verdict(test, p, other))
        for (name, other), test, p in zip(rows, tests, adjusted, strict=True)
    ]
    header = ("set", "the better L2D-Pop", "its log loss minus the heads'", "p after Holm", "verdict")
    return table(header, cells)


def _verdict(test: ResampledMean, p_value: float, other: str) -> str:
    if p_value >= LEVEL:
        return "no clear difference"
    return "the heads win" if test.mean > 0 else f"{other} wins"
