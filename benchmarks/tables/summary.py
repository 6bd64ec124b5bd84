"""Means over splits, and paired differences with intervals."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.resampled import ResampledMean, nadeau_bengio
from benchmarks.tables.outcome import System
from benchmarks.tables.setting import Setting
from benchmarks.tables.trial import PLAIN, Line
from defero.judge.intervals import holm

Trials = Mapping[tuple[str, str, int, str], Line]
DEFAULT, MODEL = "default", "model alone"
WAYS = {
    "one expert": ("accuracy", "promised", "questions"),
    "in turn": ("turn_accuracy", "turn_promised", "turn_questions"),
}


@dataclass(frozen=True)
class Table:
    """The trials of one tag, with those of the plain systems.

    Attributes
    ----------
    trials : {(set, system, split, tag): trial}
    settings : {name: Setting}
    systems : {name: System}
    tag : str
    """

    trials: Trials
    settings: Mapping[str, Setting]
    systems: Mapping[str, System]
    tag: str

    def lines(self, setting: str, system: str) -> dict[int, Line]:
        """Return the trials of a system on a set by split."""
        tag = self.tag if self.systems[system].ours else PLAIN
        seeds = sorted(key[2] for key in self.trials if key[:2] == (setting, system) and key[3] == tag)
        return {seed: self.trials[setting, system, seed, tag] for seed in seeds}

    def with_tag(self, tag: str) -> "Table":
        """Return the same table for another tag."""
        return Table(self.trials, self.settings, self.systems, tag)

    def sets(self) -> list[str]:
        """Return the sets on which the default has run, in the table's order."""
        return [name for name in self.settings if self.lines(name, DEFAULT)]

    def mean(self, setting: str, system: str, figure: str, *, splits: Iterable[int] | None = None) -> float:
        """Return the mean of a figure; nan where there is none."""
        lines = self.lines(setting, system)
        chosen = lines if splits is None else [seed for seed in splits if seed in lines]
        values = [lines[seed][figure] for seed in chosen if lines[seed].get(figure) is not None]
        return float(np.mean(values)) if values else float("nan")

    def interval(self, setting: str, values: list[float], *, less: bool = False) -> ResampledMean | None:
        """Return the mean of one value for each split, with an interval; None for fewer than two."""
        if len(values) < 2:
            return None
        line = next(iter(self.lines(setting, DEFAULT).values()))
        # Splits of a data set share rows; simulated cases that are drawn anew do not.
        n_test = 1e-9 if self.settings[setting].fresh else line["n_test"]
        return nadeau_bengio(
            values, n_train=line["n_train"], n_test=n_test, alternative="less" if less else "two-sided"
        )

    def difference(self, setting: str, system: str) -> ResampledMean | None:
        """Return the default's accuracy minus a system's, split by split; the p value is for being below."""
        ours, other = self.lines(setting, DEFAULT), self.lines(setting, system)
        key = "true_value" if self.settings[setting].kind == "true gain" else "accuracy"
        both = sorted(ours.keys() & other.keys())
        return self.interval(setting, [ours[seed][key] - other[seed][key] for seed in both], less=True)

    def best_plain(self, setting: str) -> str | None:
        """Return the plain system of the highest mean on the splits of the default."""
        splits = self.lines(setting, DEFAULT)
        means = {
            name: self.mean(setting, name, "accuracy", splits=splits)
            for name, system in self.systems.items()
            if system.plain and self.lines(setting, name)
        }
        return max(means, key=means.__getitem__) if means else None

    def gap(self, setting: str, way: str, *, system: str = DEFAULT) -> ResampledMean | None:
        """Return promised minus kept of a way of asking, with its interval."""
        kept, promised, _ = WAYS[way]
        lines = [line for line in self.lines(setting, system).values() if line.get(promised) is not None]
        return self.interval(setting, [line[promised] - line[kept] for line in lines])


def below_after_holm(tests: Mapping[tuple[str, str], ResampledMean], *, level: float = 0.05) -> list[tuple[str, str]]:
    """Return which of the (set, system) the default is significantly below, with Holm's correction over all."""
    adjusted = holm([test.p_value for test in tests.values()])
    return [pair for pair, p_value in zip(tests, adjusted, strict=True) if p_value < level]
