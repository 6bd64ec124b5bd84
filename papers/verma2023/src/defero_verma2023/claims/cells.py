"""From records to the numbers that claims are about: a value for each setting and seed, and means with intervals."""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from defero_verma2023.arrays import FloatArray
from defero_verma2023.claims.verdict import LEVEL, Estimate
from defero_verma2023.figures.curves import value_of
from defero_verma2023.methods import BEST_EXPERT, ONE_CLASSIFIER
from defero_verma2023.runs.record import RunRecord

Cells = dict[tuple[float, int], float]
"""(setting, seed) -> value."""
PERCENT = 100.0
ENOUGH_SETTINGS = 3
"""Of one seed, settings from which their scatter is worth an interval."""


def cells(records: Iterable[RunRecord], method: str, metric: str, *, run: str = "") -> Cells:
    """Return a measure of a method wherever it is known.

    One classifier is the same at every setting, and the best expert the same for every method.

    Parameters
    ----------
    records : iterable of RunRecord
        Of one experiment and net.
    method, metric : str
    run : str
        Of published numbers, those of the authors' run with "naive" or "regularized" sets alone.
    """
    every = tuple(records)
    cell_values: Cells = {}
    for record in every:
        if method in (record.method, BEST_EXPERT):
            by_run = run and any(":" in name for name in record.measures)  # each run of theirs has a split of its own
            value = value_of(record.measures, f"{run}:{metric}" if by_run else metric)
            if not math.isnan(value):
                cell_values.setdefault((record.setting, record.seed), value)
    if method == ONE_CLASSIFIER:
        settings = {record.setting for record in every if record.method != ONE_CLASSIFIER}
        return {(setting, seed): value for (_, seed), value in cell_values.items() for setting in settings}
    return cell_values


def pair(change: Callable[[float, float], float], first: Cells, second: Cells) -> Cells:
    """Return change(first, second) wherever both are known: the same setting and seed, so the same experts' answers.

    >>> pair(max, {(1.0, 0): 0.5, (2.0, 0): 0.1}, {(1.0, 0): 0.75})
    {(1.0, 0): 0.75}
    """
    return {place: change(value, second[place]) for place, value in first.items() if place in second}


def minus(first: Cells, second: Cells) -> Cells:
    """Return the difference wherever both are known."""
    return pair(lambda one, other: one - other, first, second)


@dataclass(frozen=True, eq=False)
class Block:
    """Values (n settings, n seeds) without a gap."""

    settings: tuple[float, ...]
    seeds: tuple[int, ...]
    values: FloatArray

    @property
    def by_setting(self) -> FloatArray:
        """Means over seeds, (n settings,)."""
        means: FloatArray = self.values.mean(axis=1)
        return means

    def at(self, setting: float) -> FloatArray:
        """Values of one setting, (n seeds,)."""
        row: FloatArray = self.values[self.settings.index(setting)]
        return row


def block(
    cell_values: Cells,
    *,
    settings: Collection[float] | None = None,
    needed: Collection[float] = (),
    least: int = 1,
) -> Block | None:
    """Return the largest block without a gap among some settings; None where there is none.

    Seeds that have the most settings come first, so that runs which are still missing cost as few others as possible.
    A seed without a setting that is needed is left out. Blocks of at least so many settings come before larger ones of
    fewer: many seeds at two settings do not stand for a whole figure.

    >>> there = block({(1.0, 0): 0.1, (2.0, 0): 0.2, (1.0, 1): 0.3})
    >>> there.settings, there.seeds
    ((1.0, 2.0), (0,))
    """
    chosen = {place: value for place, value in cell_values.items() if settings is None or place[0] in settings}
    by_seed: dict[int, set[float]] = {}
    for setting, seed in sorted(chosen):
        by_seed.setdefault(seed, set()).add(setting)
    able = (seed for seed, places in by_seed.items() if set(needed) <= places)
    ranked = sorted(able, key=lambda seed: (-len(by_seed[seed]), seed))
    choices = [
        (tuple(sorted(ranked[:n])), tuple(sorted(set.intersection(*(by_seed[seed] for seed in ranked[:n])))))
        for n in range(1, len(ranked) + 1)
    ]
    if not choices:
        return None
    seeds, common = max(choices, key=lambda choice: (len(choice[1]) >= least, len(choice[0]) * len(choice[1])))
    values = np.array([[chosen[setting, seed] for seed in seeds] for setting in common])
    return Block(common, seeds, values)


def mean_over_settings(grid: Block, *, scale: float) -> Estimate:
    """Return the mean over settings with its interval over seeds; of one seed, over settings if there are three."""
    if len(grid.seeds) == 1 and len(grid.settings) >= ENOUGH_SETTINGS:
        return _estimate(grid.values[:, 0] * scale, n_seeds=1, n_settings=len(grid.settings))
    return _estimate(grid.values.mean(axis=0) * scale, n_seeds=len(grid.seeds), n_settings=len(grid.settings))


def over_seeds(values: FloatArray, *, scale: float, n_settings: int) -> Estimate:
    """Return the mean over seeds, (n seeds,), with its interval; without one for a single seed."""
    return _estimate(values * scale, n_seeds=len(values), n_settings=n_settings)


def setting_estimates(grid: Block, *, scale: float, level: float = LEVEL) -> tuple[Estimate, ...]:
    """Return the mean of each setting with its interval over seeds."""
    return tuple(_estimate(row * scale, n_seeds=len(row), n_settings=1, level=level) for row in grid.values)


def wider_level(n_settings: int) -> float:
    """Return the level at which one of several settings may be picked out (Bonferroni).

    At 0.95 each, one of nine settings would seem to be beyond a bound by chance one time in five.

    >>> round(wider_level(5), 6)
    0.99
    """
    return 1 - (1 - LEVEL) / n_settings


def at_its_most(grid: Block, *, scale: float) -> Estimate:
    """Return the mean of the setting where it is largest; its interval is widened, as these values choose it."""
    estimates = setting_estimates(grid, scale=scale, level=wider_level(len(grid.settings)))
    return estimates[int(grid.by_setting.argmax())]


def _estimate(values: FloatArray, *, n_seeds: int, n_settings: int, level: float = LEVEL) -> Estimate:
    """Return Student's interval of the mean."""
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, math.nan, math.nan, n_seeds, n_settings, level=level)
    deviation = float(values.std(ddof=1))
    half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * deviation / math.sqrt(len(values))
    over_seeds = deviation if n_seeds > 1 else math.nan
    return Estimate(mean, mean - half, mean + half, n_seeds, n_settings, over_seeds, level)


def change_along(grid: Block) -> FloatArray:
    """Return by how much each seed's values change from the first to the last setting, along the least squares line.

    >>> change_along(Block((0.0, 1.0, 2.0), (0,), np.array([[1.0], [2.0], [3.0]])))
    array([2.])
    """
    places = np.asarray(grid.settings) - np.mean(grid.settings)
    slopes: FloatArray = places @ grid.values / (places @ places)
    return slopes * (grid.settings[-1] - grid.settings[0])


def steps_down(grid: Block) -> tuple[int, int]:
    """Return how many steps from a setting to the next fall on average, and how many of them beyond their interval."""
    steps = np.diff(grid.values, axis=0)
    estimates = [_estimate(step, n_seeds=len(step), n_settings=2) for step in steps]
    return sum(one.mean < 0 for one in estimates), sum(one.high < 0 for one in estimates)


def listed(values: Sequence[float] | FloatArray, *, digits: int = 1) -> str:
    """Write numbers with commas between.

    >>> listed([1.0, 2.25], digits=2)
    '1.00, 2.25'
    """
    return ", ".join(f"{value:.{digits}f}" for value in values)
