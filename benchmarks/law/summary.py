"""Means over splits, and tests between ways of asking, from the lines of trials."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.law.consensus import ERRORS, questions_at
from benchmarks.law.sets import LawSet
from benchmarks.law.trial import FEES, N_HEARD, WAYS
from benchmarks.resampled import ResampledMean, nadeau_bengio
from benchmarks.tables.trial import Line
from defero.judge.intervals import holm

IN_TURN = "in turn"


@dataclass(frozen=True)
class Trials:
    """The trials of one system.

    Attributes
    ----------
    lines : sequence of trials
    sets : {name: LawSet}
    """

    lines: Sequence[Line]
    sets: Mapping[str, LawSet]

    def of(self, name: str) -> list[Line]:
        """Return the trials of a set, by split."""
        return sorted((line for line in self.lines if line["set"] == name), key=lambda line: int(line["split"]))

    def shared_with(self, other: "Trials") -> "Trials":
        """Return the trials of splits that another system has run too."""
        there = {(line["set"], line["split"]) for line in other.lines}
        return Trials([line for line in self.lines if (line["set"], line["split"]) in there], self.sets)

    @cached_property
    def names(self) -> list[str]:
        """The sets that have been run, in their order."""
        there = {line["set"] for line in self.lines}
        return [name for name in self.sets if name in there]

    def after(self, name: str, n_heard: int) -> list[Mapping[str, float]]:
        """Return what was said after so many answers, split by split; nothing where too few items have them."""
        return [said for line in self.of(name) if (said := line["honesty"][str(n_heard)]) is not None]

    def mean_after(self, name: str, n_heard: int, figure: str) -> float | None:
        """Return the mean of a figure; None where there is none. "gap" is promised minus kept."""
        said = self.after(name, n_heard)
        if not said:
            return None
        values = [one["promised"] - one["accuracy"] if figure == "gap" else one[figure] for one in said]
        return float(np.mean(values))

    def mean_gap(self, n_heard: int, names: Iterable[str]) -> float:
        """Return the mean over sets of the absolute gap."""
        gaps = [self.mean_after(name, n_heard, "gap") for name in names]
        return float(np.mean([abs(gap) for gap in gaps if gap is not None]))

    def cost(self, name: str, fee: float, way: str, figure: str = "cost") -> float:
        """Return the mean of a figure of a way of asking."""
        return float(np.mean([line["cost"][str(fee)][way][figure] for line in self.of(name)]))

    def best(self, name: str, fee: float) -> str:
        """Return the cheapest way."""
        return min(WAYS, key=lambda way: self.cost(name, fee, way))

    def regret(self, name: str, fee: float) -> float:
        """Return how much dearer asking in turn is than the cheapest way."""
        return self.cost(name, fee, IN_TURN) - self.cost(name, fee, self.best(name, fee))

    def losses(self) -> dict[tuple[str, float, str], tuple[ResampledMean, float]]:
        """Return, for each set, fee and other way, by how much asking in turn is dearer, and p after Holm."""
        tests = {}
        for name in self.names:
            for fee in FEES:
                for way in WAYS:
                    if way != IN_TURN and (test := self._dearer(name, fee, way)) is not None:
                        tests[name, fee, way] = test
        adjusted = holm([test.p_value for test in tests.values()])
        return {key: (test, float(p)) for (key, test), p in zip(tests.items(), adjusted, strict=True)}

    def _dearer(self, name: str, fee: float, way: str) -> ResampledMean | None:
        lines = self.of(name)
        if len(lines) < 2:
            return None
        costs = [line["cost"][str(fee)] for line in lines]
        values = [cost[IN_TURN]["cost"] - cost[way]["cost"] for cost in costs]
        n_test = 1e-9 if self.sets[name].simulated else lines[0]["n_judge"]  # simulated splits share no cases
        return nadeau_bengio(values, n_train=lines[0]["n_learn"], n_test=n_test, alternative="greater")

    def question(self, name: str, figure: str) -> float:
        """Return what the next question was to take from the errors ("promised"), or took ("kept")."""
        return float(np.mean([line["questions"][figure] for line in self.of(name)]))


def curve_figures(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the mean area of some shuffles, its standard error, and the questions at given errors."""
    areas = np.array([line["area"] for line in lines])
    mean_curve = np.array([[line["questions"], line["errors"]] for line in lines]).mean(axis=0).T
    return {
        "area": float(areas.mean()),
        "error": float(areas.std(ddof=1) / np.sqrt(len(areas))) if len(areas) > 1 else float("nan"),
        "questions": [questions_at(mean_curve, errors) for errors in ERRORS],
    }


def heads() -> list[str]:
    """Return the names of the columns by how many answers were heard."""
    return ["all" if n == 0 else str(n) for n in N_HEARD]
