"""Means over splits, gaps to the best of each set, and paired differences with intervals."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.field.method import Entry
from benchmarks.field.problem import FieldSet
from benchmarks.field.trial import FEES
from benchmarks.resampled import ResampledMean, nadeau_bengio
from benchmarks.tables.trial import Line
from defero.judge.intervals import holm

Lines = Mapping[tuple[str, str, int, str], Line]
DEFAULT = "default"
ACCURACY = "accuracy"
COSTS = tuple(f"cost_{fee}" for fee in FEES)
LEVEL = 0.05


@dataclass(frozen=True)
class Field:
    """All trials.

    Attributes
    ----------
    lines : {(set, method, split, tag): trial}
    sets : {name: FieldSet}
    methods : {name: Entry}
    """

    lines: Lines
    sets: Mapping[str, FieldSet]
    methods: Mapping[str, Entry]

    @cached_property
    def by_method(self) -> dict[tuple[str, str], dict[int, Line]]:
        """The trials by (set, method), and by split."""
        index: dict[tuple[str, str], dict[int, Line]] = {}
        for key in sorted(self.lines, key=lambda key: key[2]):
            index.setdefault(key[:2], {})[key[2]] = self.lines[key]
        return index

    def runs(self, one: str, method: str) -> dict[int, Line]:
        """Return the trials of a method on a set, by split."""
        return self.by_method.get((one, method), {})

    def shown_sets(self) -> list[str]:
        """Return the sets on which the default has run, in their order."""
        return [name for name in self.sets if self.runs(name, DEFAULT)]

    def shown_methods(self, measure: str) -> list[str]:
        """Return the methods that a measure compares: by accuracy those that ask one expert at most."""
        compared = [name for name, entry in self.methods.items() if measure != ACCURACY or entry.kind == "one question"]
        return [name for name in compared if any(self.runs(one, name) for one in self.sets)]

    def mean(self, one: str, method: str, figure: str, splits: Collection[int] | None = None) -> float:
        """Return the mean of a figure over the splits, by default all that were run; nan where there is none."""
        runs = self.runs(one, method)
        lines = [line for split, line in runs.items() if splits is None or split in splits]
        values = [line[figure] for line in lines if line.get(figure) is not None]
        return float(np.mean(values)) if values else float("nan")

    def worth(self, one: str, method: str, measure: str, splits: Collection[int] | None = None) -> float:
        """Return the mean of a measure, larger is better: the accuracy, or a cost with a minus sign."""
        mean = self.mean(one, method, measure, splits)
        return mean if measure == ACCURACY else -mean

    def best(self, one: str, measure: str) -> str:
        """Return the best method of a set by its mean, of those that ran on all splits of the default."""
        needed = self.runs(one, DEFAULT).keys()
        whole = [name for name in self.shown_methods(measure) if self.runs(one, name).keys() >= needed]
        worth = {name: self.worth(one, name, measure, needed) for name in whole}
        return max((name for name in worth if not np.isnan(worth[name])), key=worth.__getitem__)

    def gap(self, one: str, method: str, measure: str) -> float:
        """Return how far a method is from the best of a set on the splits of both; nan where it did not run."""
        best = self.best(one, measure)
        both = self.runs(one, best).keys() & self.runs(one, method).keys()
        return self.worth(one, best, measure, both) - self.worth(one, method, measure, both)

    def common_sets(self, measure: str) -> list[str]:
        """Return the sets over which a measure is averaged: by cost those where answers can be combined."""
        return [one for one in self.shown_sets() if measure == ACCURACY or self.sets[one].votes]

    def mean_gap(self, method: str, measure: str) -> float:
        """Return the mean gap over the common sets; nan where the method did not run on all of them."""
        gaps = [self.gap(one, method, measure) for one in self.common_sets(measure)]
        return float(np.mean(gaps)) if gaps else float("nan")

    def ranked(self, measure: str) -> list[str]:
        """Return the methods by their mean gap, the smallest first."""
        gaps = {name: self.mean_gap(name, measure) for name in self.shown_methods(measure)}
        return sorted((name for name in gaps if not np.isnan(gaps[name])), key=gaps.__getitem__)

    def difference(self, one: str, method: str, measure: str, *, base: str = DEFAULT) -> ResampledMean | None:
        """Return how much better `base` is than a method on a set, split by split; None below two common splits."""
        ours, theirs = self.runs(one, base), self.runs(one, method)
        both = sorted(ours.keys() & theirs.keys())
        sign = 1.0 if measure == ACCURACY else -1.0
        if len(both) < 2:
            return None
        line = ours[both[0]]
        # Splits of a data set share rows; those that are drawn anew do not.
        n_test = 1e-9 if self.sets[one].fresh else line["n_test"]
        values = [sign * (ours[seed][measure] - theirs[seed][measure]) for seed in both]
        return nadeau_bengio(values, n_train=line["n_train"], n_test=n_test)

    def over_sets(self, method: str, measure: str, *, base: str = DEFAULT) -> ResampledMean | None:
        """Return how much better `base` is than a method on average over sets, with Student's interval over sets."""
        sets = self.common_sets(measure)
        pairs = [(self.worth(one, base, measure), self.worth(one, method, measure)) for one in sets]
        values = [ours - theirs for ours, theirs in pairs if not np.isnan(theirs)]
        return nadeau_bengio(values, n_train=1, n_test=1e-9) if len(values) > 1 else None

    def significant(self, measure: str, *, base: str = DEFAULT) -> dict[tuple[str, str], tuple[ResampledMean, float]]:
        """Return the differences of all (set, method) with p below 0.05 after Holm over the whole table."""
        pairs = [(one, name) for one in self.shown_sets() for name in self.shown_methods(measure) if name != base]
        tests = {pair: self.difference(*pair, measure, base=base) for pair in pairs}
        known = {pair: test for pair, test in tests.items() if test is not None}
        if not known:
            return {}
        adjusted = holm([test.p_value for test in known.values()])
        return {
            pair: (test, float(p))
            for (pair, test), p in zip(known.items(), adjusted, strict=True)
            if p < LEVEL and test.mean != 0
        }

    def promise_gap(self, one: str, method: str) -> float:
        """Return promised minus kept of the chosen, over all test cases; nan where nothing is promised."""
        return self.mean(one, method, "promised") - self.mean(one, method, ACCURACY)

    def mean_over_sets(self, method: str, figure: str) -> float:
        """Return the mean of a figure over sets."""
        return _mean(self.mean(one, method, figure) for one in self.shown_sets())

    def promise_error(self, method: str) -> float:
        """Return the mean absolute value of promised minus kept over sets."""
        return _mean(abs(self.promise_gap(one, method)) for one in self.shown_sets())

    def fewer_splits(self, one: str, method: str) -> bool:
        """Did a method run on a set, and on fewer splits than the default?"""
        return 0 < len(self.runs(one, method)) < len(self.runs(one, DEFAULT))

    def splits(self) -> str:
        """Say how many splits the default has on the sets."""
        counts = sorted(len(self.runs(one, DEFAULT)) for one in self.shown_sets())
        same = counts[0] == counts[-1]
        return f"{counts[0]} splits" if same else f"{counts[0]} to {counts[-1]} splits, by set"


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")
