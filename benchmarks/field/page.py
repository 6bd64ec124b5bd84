"""The page, written from the trials."""

from collections.abc import Mapping
from textwrap import fill

import numpy as np

from benchmarks.field import newcomers_page
from benchmarks.field.method import Entry
from benchmarks.field.problem import FieldSet
from benchmarks.field.summary import ACCURACY, COSTS, DEFAULT, Field, Lines
from benchmarks.field.trial import FEES
from benchmarks.page_numbers.blocks import table
from benchmarks.resampled import ResampledMean

IN_TURN = "default, in turn"


def page(lines: Lines, sets: Mapping[str, FieldSet], methods: Mapping[str, Entry]) -> str:
    """Return the page."""
    field = Field(lines, sets, methods)
    if not field.shown_sets():
        return "# The methods of the field, side by side\n\nNo trials yet.\n"
    parts = [
        _opening(field),
        "## Mean gap to the best\n\n" + verdict(field) + "\n\n" + gaps(field),
        "## Questions, promises, CPU time\n\n" + facts(field),
        "## Where the default is not the best\n\n" + behind(field),
        "## After Holm's correction\n\n" + _significant(field),
        *(_one_set(field, name) for name in field.shown_sets()),
        newcomers_page.section(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(field: Field) -> str:
    used = [
        ", ".join(f"{name} {version}" for name, version in line["versions"].items()) for line in field.lines.values()
    ]
    # Trials come from more than one machine: each set of versions with its share of them.
    versions = " / ".join(f"{one} ({used.count(one)} trials)" for one in dict.fromkeys(used))
    commits = ", ".join(sorted({str(line["commit"]) for line in field.lines.values()}))
    sets = "\n".join(f"- **{name}**: {field.sets[name].note}" for name in field.shown_sets())
    run = (
        f"`python -m benchmarks.field`; {field.splits()}, seeded from 0; defero at {commits}; {versions}; one "
        "thread. Every trial is a line of `field.jsonl`. `--method path/to/file.py:Class` adds a class with `fit` and "
        "`decide`, and its row: see [the methods](../../docs/studies/field.md)."
    )
    return "\n\n".join(["# The methods of the field, side by side", fill(run, 100), protocol(), sets])


def protocol() -> str:
    """Return what is the same for all methods."""
    fees = ", ".join(f"{fee:g}" for fee in FEES)
    return fill(
        "All methods see the same matrix of numbers, at most 1,000 rows to learn from, and the same recorded answers. "
        "Only experts whose answer is recorded can be asked. *Accuracy* is that of the system without fees. *Cost* is "
        f"errors plus fees ({fees} of an error for a question of the mean price); each method is told the fees. The "
        "*gap* of a method on a set is its distance to the best method of that set, in points (hundredths of a case), "
        "by means over the splits; the best is chosen on the same splits, so that all gaps are slightly too large. By "
        "accuracy only methods that ask one expert at most are compared; by cost all of them, on the sets where "
        "answers can be combined (not those of language models, of which only right or wrong is known). Intervals are "
        "95 %, paired by split, after Nadeau and Bengio where splits share rows.",
        100,
    )


def verdict(field: Field) -> str:
    """Say by which measures the default's mean gap is the smallest, and what is ahead of it elsewhere."""
    sentences = []
    for measure in (ACCURACY, *COSTS):
        order = field.ranked(measure)
        for name in (DEFAULT,) if measure == ACCURACY else (DEFAULT, IN_TURN):
            if name not in order:
                continue
            rank = order.index(name) + 1
            if rank == 1:
                sentences.append(f"- {words(measure)}: `{name}` has the smallest mean gap.")
                continue
            ahead = ", ".join(f"{other} {_points(field.mean_gap(other, measure))}" for other in order[: rank - 1][:4])
            sentences.append(
                f"- {words(measure)}: `{name}` is number {rank} of {len(order)} with "
                f"{_points(field.mean_gap(name, measure))}, behind {ahead}."
            )
    return "\n".join(sentences)


def words(measure: str) -> str:
    """Return a measure in words."""
    return "Accuracy" if measure == ACCURACY else f"Cost at a fee of {float(measure.removeprefix('cost_')):g}"


def gaps(field: Field) -> str:
    """Return the table of mean gaps, in points."""
    order = sorted(field.shown_methods(COSTS[0]), key=lambda name: _order(field, name))
    rows = []
    for name in order:
        single = field.methods[name].kind == "one question"
        ahead = field.over_sets(name, ACCURACY) if single and name != DEFAULT else None
        cells = [_points(field.mean_gap(name, measure)) for measure in COSTS]
        own = _points(field.mean_gap(name, ACCURACY)) if single else ""
        rows.append((_marked(field, name), own, _interval(ahead), *cells))
    header = ("method", "gap in accuracy", "default minus it, over sets", *(f"gap at fee {fee:g}" for fee in FEES))
    return table(header, rows)


def _marked(field: Field, name: str) -> str:
    """Return a method's name, with a mark where it has fewer splits than the default on some set."""
    fewer = [one for one in field.shown_sets() if field.fewer_splits(one, name)]
    return f"{name} (fewer splits: {', '.join(fewer)})" if fewer else name


def _marked_on(field: Field, one: str, name: str) -> str:
    """Return a method's name, with its number of splits where the default has more on this set."""
    n_splits = f" ({len(field.runs(one, name))} of {len(field.runs(one, DEFAULT))} splits)"
    return f"{name}{n_splits if field.fewer_splits(one, name) else ''}"


def _order(field: Field, name: str) -> float:
    measure = ACCURACY if field.methods[name].kind == "one question" else COSTS[0]
    return field.mean_gap(name, measure)


def facts(field: Field) -> str:
    """Return the table of sources, questions, promises and seconds."""
    rows = [
        (
            _marked(field, name),
            field.methods[name].source,
            f"{field.mean_over_sets(name, 'questions'):.2f}",
            _points(field.promise_error(name)),
            _points(_largest(field, name)),
            f"{field.mean_over_sets(name, 'fit_s') + field.mean_over_sets(name, 'decide_s'):.1f}",
        )
        for name in field.shown_methods(COSTS[0])
    ]
    header = ("method", "source", "questions", "promised - kept, mean size", "largest", "CPU s a split")
    return table(header, rows)


def _largest(field: Field, name: str) -> float:
    gaps = [field.promise_gap(one, name) for one in field.shown_sets()]
    known = [gap for gap in gaps if not np.isnan(gap)]
    return max(known, key=abs) if known else float("nan")


def behind(field: Field) -> str:
    """Return, for each set, the best method and the default's distance to it."""
    rows = []
    for one in field.shown_sets():
        best = field.best(one, ACCURACY)
        cheap = field.best(one, COSTS[1])
        own = "" if best == DEFAULT else _interval(field.difference(one, best, ACCURACY))
        turn = (
            ""
            if cheap == IN_TURN or not field.runs(one, IN_TURN)
            else _interval(field.difference(one, cheap, COSTS[1], base=IN_TURN))
        )
        rows.append((one, best, own, cheap, turn))
    header = (
        "set",
        "most accurate",
        "default minus it",
        f"cheapest at fee {FEES[1]:g}",
        "saved by the default in turn",
    )
    return table(header, rows)


def _significant(field: Field) -> str:
    sentences = []
    for measure, base in ((ACCURACY, DEFAULT), (COSTS[1], IN_TURN)):
        tests = field.significant(measure, base=base)
        n_tests = sum(
            field.difference(one, name, measure, base=base) is not None
            for one in field.shown_sets()
            for name in field.shown_methods(measure)
            if name != base
        )
        below = [f"{one}, {name}: {_interval(test)}" for (one, name), (test, _) in tests.items() if test.mean < 0]
        above = len(tests) - len(below)
        lost = "none" if not below else "".join(f"\n  - {words}" for words in below)
        sentences.append(
            f"- {words(measure)}, `{base}`: of {n_tests} comparisons (set by method) {above} are significantly better, "
            f"and significantly worse: {lost}."
            if not below
            else f"- {words(measure)}, `{base}`: of {n_tests} comparisons (set by method) {above} are significantly "
            f"better, and {len(below)} significantly worse:{lost}"
        )
    return "\n".join(sentences)


def _one_set(field: Field, one: str) -> str:
    rows = [
        (
            _marked_on(field, one, name),
            f"{100 * field.mean(one, name, ACCURACY):.1f}",
            f"{field.mean(one, name, 'questions'):.2f}",
            f"{100 * field.mean(one, name, COSTS[1]):.1f}",
            _points(field.promise_gap(one, name)),
            f"{field.mean(one, name, 'fit_s') + field.mean(one, name, 'decide_s'):.1f}",
        )
        for name in sorted(
            (name for name in field.shown_methods(COSTS[0]) if field.runs(one, name)),
            key=lambda name: -field.mean(one, name, ACCURACY),
        )
    ]
    header = ("method", "accuracy, %", "questions", f"cost at {FEES[1]:g}, points", "promised - kept", "CPU s")
    line = next(iter(field.runs(one, DEFAULT).values()))
    size = (
        f"{len(field.runs(one, DEFAULT))} splits, {line['n_train']:,} rows to learn from, {line['n_test']:,} for the "
        f"test, {line['n_experts']} experts."
    )
    return f"## {one}\n\n{field.sets[one].note} {size}\n\n{table(header, rows)}"


def _points(value: float) -> str:
    return "" if np.isnan(value) else f"{100 * value:+.1f}" if value < 0 else f"{100 * value:.1f}"


def _interval(test: ResampledMean | None) -> str:
    return "" if test is None else f"{100 * test.mean:+.1f} [{100 * test.low:+.1f}, {100 * test.high:+.1f}]"
