"""Every method side by side on the same items and answers: a table of the reproduction's page."""

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from defero.papers.verma2023.claim_cells import Cells, cells
from defero.papers.verma2023.experiments import EXPERIMENTS
from defero.papers.verma2023.figures import FIGURES, first_x
from defero.papers.verma2023.methods import BEST_EXPERT, LABELS, METHODS
from defero.papers.verma2023.run_record import RunRecord, as_published, by_net

Places = Collection[tuple[float, int]]
"""Settings and seeds."""
HEADER = (
    "experiment",
    "settings; seeds",
    "method",
    "net",
    "accuracy, %",
    "coverage, %",
    "ECE, %",
    "calibrated: accuracy",
    "calibrated: coverage",
    "calibrated: ECE",
    "experts in the set",
    "panel, %",
)
IN_WORDS = (
    "Means over the settings and seeds that all methods of an experiment and net have in common, so that all meet the "
    "same items and the same answers; +- is the standard error over seeds, much of it from answers that all methods "
    "share, so that differences scatter less. Coverage: the share of items that the model decides. Calibrated: each "
    "probability corrected on held-out items. That makes them honest one by one; who decides may change with it, for "
    "the worse too (softmax, overlap).",
    "Sets and panels, measured on CIFAR-10 alone, are on the items that each method defers, and those differ: sizes "
    "are not like for like. Thresholds and votes are fitted on four fifths of the test items and judged on the last, "
    'over ten splits, as in the paper. "Experts in the set": sets that leave out a tenth of the right experts at most '
    '(missed-share). "Panel": the system accuracy where the Bayes vote of such a set answers what is deferred. A run '
    "that defers too little for sets is left out of these two columns for all methods.",
)
_MEASURES = (
    ("system_accuracy", 100.0),
    ("coverage", 100.0),
    ("ece", 100.0),
    ("calibrated.system_accuracy", 100.0),
    ("calibrated.coverage", 100.0),
    ("calibrated.ece", 100.0),
    ("sets.missed_share.size", 1.0),
    ("votes.missed_share_bayes.system_accuracy", 100.0),
)


def method_rows(ours: Mapping[str, Sequence[RunRecord]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each experiment, net and method, and one for the best expert."""
    for name in EXPERIMENTS:
        for records in by_net(as_published(ours.get(name, ()))).values():
            yield from _rows_of(name, records)


def _rows_of(name: str, records: Sequence[RunRecord]) -> Iterator[tuple[str, ...]]:
    methods = [method for method in METHODS if any(record.method == method for record in records)]
    common = _in_common([cells(records, method, "system_accuracy") for method in methods])
    if not common:
        return
    begin = (f"{name} ({', '.join(_figures(name))})", _where(common, first=first_x(name)))
    columns = []
    for metric, scale in _MEASURES:
        found = [cells(records, method, metric) for method in methods]
        places = common & _in_common([one for one in found if one])
        columns.append([_in_words(one, places, scale=scale) for one in found])
    for method, *shown in zip(methods, *columns, strict=True):
        nets = dict.fromkeys(record.net for record in records if record.method == method)
        yield (*begin, LABELS.get(method, method), " or ".join(nets), *shown)
    best = _in_words(cells(records, BEST_EXPERT, "best_expert"), common, scale=100.0)
    yield (*begin, BEST_EXPERT, "", best, *[""] * (len(_MEASURES) - 1))


def _figures(experiment: str) -> Iterator[str]:
    return (figure.name for figure in FIGURES.values() if figure.experiment_name == experiment)


def _in_common(found: Sequence[Cells]) -> set[tuple[float, int]]:
    """Return the settings and seeds that are in all of them."""
    return set.intersection(*(set(one) for one in found)) if found else set()


def _where(places: Places, *, first: float) -> str:
    """Say which settings and how many seeds there are.

    >>> _where([(0.0, 0), (4.0, 0), (4.0, 1)], first=1.0), _where([(0.2, 0), (0.4, 0), (0.8, 0)], first=0.0)
    ('1, 5; 2 seeds', '0.2 to 0.8 (3 settings); 1 seed')
    """
    settings = [f"{setting + first:g}" for setting in sorted({setting for setting, _ in places})]
    n_seeds = len({seed for _, seed in places})
    span = ", ".join(settings) if len(settings) < 3 else f"{settings[0]} to {settings[-1]} ({len(settings)} settings)"
    return f"{span}; {n_seeds} seed{'s' if n_seeds > 1 else ''}"


def _in_words(found: Cells, places: Places, *, scale: float) -> str:
    """Write the mean over settings and seeds, with the standard error of the seeds' means where there are several.

    >>> _in_words({(1.0, 0): 0.5, (1.0, 1): 0.7}, [(1.0, 0), (1.0, 1)], scale=100.0)
    '60.00 +- 10.00'
    """
    there = [(seed, scale * found[setting, seed]) for setting, seed in sorted(places) if (setting, seed) in found]
    means = [np.mean([value for one, value in there if one == seed]) for seed in sorted({seed for seed, _ in there})]
    if not means:
        return ""
    error = f" +- {np.std(means, ddof=1) / len(means) ** 0.5:.2f}" if len(means) > 1 else ""
    return f"{np.mean(means):.2f}{error}"
