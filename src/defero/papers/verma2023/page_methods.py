"""Every method side by side on the same items and answers: a table of the reproduction's page."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from defero.papers.verma2023.claim_cells import Cells, cells
from defero.papers.verma2023.experiments import EXPERIMENTS
from defero.papers.verma2023.figures import first_x
from defero.papers.verma2023.methods import BEST_EXPERT, LABELS, METHODS
from defero.papers.verma2023.run_record import RunRecord, as_published, by_net

HEADER = (
    "experiment",
    "settings; seeds",
    "method",
    "net",
    "accuracy, %",
    "calibrated",
    "ECE, %",
    "calibrated",
    "experts in the set",
    "panel, %",
)
IN_WORDS = """\
Means over the settings and seeds that all methods of an experiment and net have in common, so that all meet the same
items and the same answers, +- the standard error over seeds. "Calibrated": the column before it, after calibration on
held-out items. "Experts in the set": sets that leave out a tenth of the right experts at most (missed-share), which are
measured on CIFAR-10 alone. "Panel": the Bayes vote of such a set on the items that are not left to the model."""
_MEASURES = (
    ("system_accuracy", 100.0),
    ("calibrated.system_accuracy", 100.0),
    ("ece", 100.0),
    ("calibrated.ece", 100.0),
    ("sets.missed_share.size", 1.0),
    ("votes.missed_share_bayes.system_accuracy", 100.0),
)


def method_rows(ours: Mapping[str, Sequence[RunRecord]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each experiment, net and method, and one for the best expert."""
    for name in EXPERIMENTS:
        for records in by_net(as_published(ours.get(name, ()))).values():
            methods = [method for method in METHODS if any(record.method == method for record in records)]
            common = _in_common(records, methods)
            where = _where(common, first=first_x(name))
            for method in methods if common else ():
                nets = dict.fromkeys(record.net for record in records if record.method == method)
                shown = [_mean(cells(records, method, metric), common, scale=scale) for metric, scale in _MEASURES]
                yield (name, where, LABELS.get(method, method), " or ".join(nets), *shown)
            if common:
                best = _mean(cells(records, BEST_EXPERT, "best_expert"), common, scale=100.0)
                yield (name, where, BEST_EXPERT, "", best, *[""] * (len(_MEASURES) - 1))


def _in_common(records: Iterable[RunRecord], methods: Iterable[str]) -> list[tuple[float, int]]:
    """Return the settings and seeds at which every method was run."""
    every = tuple(records)
    places = [set(cells(every, method, "system_accuracy")) for method in methods]
    return sorted(set.intersection(*places)) if places else []


def _where(places: Sequence[tuple[float, int]], *, first: float) -> str:
    """Say which settings and how many seeds there are.

    >>> _where([(0.0, 0), (4.0, 0), (4.0, 1)], first=1.0), _where([(0.2, 0), (0.4, 0), (0.8, 0)], first=0.0)
    ('1, 5; 2 seeds', '0.2 to 0.8 (3 settings); 1 seed')
    """
    settings = [f"{setting + first:g}" for setting in sorted({setting for setting, _ in places})]
    n_seeds = len({seed for _, seed in places})
    span = ", ".join(settings) if len(settings) < 3 else f"{settings[0]} to {settings[-1]} ({len(settings)} settings)"
    return f"{span}; {n_seeds} seed{'s' if n_seeds > 1 else ''}"


def _mean(found: Cells, places: Sequence[tuple[float, int]], *, scale: float) -> str:
    """Return the mean over settings and seeds, with the standard error of the seeds' means where there are several.

    >>> _mean({(1.0, 0): 0.5, (1.0, 1): 0.7}, [(1.0, 0), (1.0, 1)], scale=100.0)
    '60.00 +- 10.00'
    """
    by_seed: dict[int, list[float]] = {}
    for setting, seed in places:
        if (setting, seed) in found:
            by_seed.setdefault(seed, []).append(scale * found[setting, seed])
    means = [float(np.mean(values)) for values in by_seed.values()]
    if not means:
        return ""
    error = float(np.std(means, ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return f"{np.mean(means):.2f}" + ("" if math.isnan(error) else f" +- {error:.2f}")
