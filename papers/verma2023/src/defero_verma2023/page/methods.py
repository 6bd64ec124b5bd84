"""Every method side by side on the same items and answers: a table of the reproduction's page."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from defero_verma2023.claims.cells import Cells, cells
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.figures.catalogue import FIGURES, first_x
from defero_verma2023.methods import BEST_EXPERT, LABELS, METHODS
from defero_verma2023.runs.record import RunRecord, as_published, by_net

Places = Collection[tuple[float, int]]
"""Settings and seeds."""
Best = Callable[[Iterable[float]], float] | None
"""Which of a column's values is the best; none where more is neither better nor worse."""
HEADER = (
    "experiment",
    "settings; seeds",
    "method",
    "net",
    "accuracy, %",
    "the model alone, %",
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
    "same items and the same answers. Where some methods have more seeds than that, they come first, in a block of "
    "their own. +- is the standard error over seeds, much of it from answers that all methods share, so that "
    "differences scatter less. Bold: the best of its block, by however little; in blocks of one seed nothing says how "
    "much is chance. On CIFAR-10 that one is seed 0, by whose test figures the length of tuning was chosen, and there "
    "the mixture, decoupled and asymmetric start from a classifier that is 0.2 points below the others' (see the "
    "differences at the end).",
    "The model alone: its accuracy on all items, as if nobody were asked. Coverage: the share of items that it "
    "decides. Calibrated: each probability corrected on held-out items. That makes them honest one by one; who decides "
    "may change with it, for the worse too (softmax, overlap). Where the model and an expert are about equally sure, "
    "many items may change hands while accuracy moves by less than half a point (OvA, oracles and overlap): coverage "
    "says little there.",
    "Sets and panels, measured on CIFAR-10 alone, are on the items that each method defers, and those differ: sizes "
    "are not like for like. Thresholds and votes are fitted on four fifths of the test items and judged on the last, "
    'over ten splits, as in the paper. "Experts in the set": sets that leave out a tenth of the right experts at most '
    '(missed-share). "Panel": the system accuracy where the Bayes vote of such a set answers what is deferred. A run '
    "that defers too little for sets is left out of these two columns for all methods, and where a whole setting is, "
    "the cell says over how many they are.",
)
_MEASURES: tuple[tuple[str, float, Best], ...] = (
    ("system_accuracy", 100.0, max),
    ("class_accuracy", 100.0, max),
    ("coverage", 100.0, None),
    ("ece", 100.0, min),
    ("calibrated.system_accuracy", 100.0, max),
    ("calibrated.coverage", 100.0, None),
    ("calibrated.ece", 100.0, min),
    ("sets.missed_share.size", 1.0, None),
    ("votes.missed_share_bayes.system_accuracy", 100.0, max),
)


def method_rows(ours: Mapping[str, Sequence[RunRecord]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each experiment, net and method, and one for the best expert."""
    for name in EXPERIMENTS:
        for records in by_net(as_published(ours.get(name, ()))).values():
            yield from _rows_of(name, records)


def _rows_of(name: str, records: Sequence[RunRecord]) -> Iterator[tuple[str, ...]]:
    accuracies = {method: cells(records, method, "system_accuracy") for method in METHODS}
    for methods, places in _blocks({method: own_cells for method, own_cells in accuracies.items() if own_cells}):
        begin = (f"{name} ({', '.join(_figures(name))})", _where(places, first=first_x(name)))
        columns = []
        for metric, scale, best in _MEASURES:
            several = [cells(records, method, metric) for method in methods]
            shared = places & _in_common([one for one in several if one])
            column = _column([_over_seeds(one, shared, scale=scale) for one in several], best=best)
            columns.append([f"{cell}{_fewer(shared, places)}" if cell else "" for cell in column])
        for method, *column in zip(methods, *columns, strict=True):
            nets = dict.fromkeys(record.net for record in records if record.method == method)
            yield (*begin, LABELS.get(method, method), " or ".join(nets), *column)
        (expert,) = _column([_over_seeds(cells(records, BEST_EXPERT, "best_expert"), places, scale=100.0)], best=None)
        yield (*begin, BEST_EXPERT, "", expert, *[""] * (len(_MEASURES) - 1))


def _blocks(accuracies: Mapping[str, Cells]) -> Iterator[tuple[list[str], set[tuple[float, int]]]]:
    """Yield the methods that have more runs than all have in common, at the same settings, and then all methods.

    The former only if there are several, and if they share more than all do.

    >>> one, two = {(1.0, 0): 0.5}, {(1.0, 0): 0.5, (1.0, 1): 0.5, (2.0, 1): 0.5}
    >>> [(methods, sorted(places)) for methods, places in _blocks({"a": two, "b": one, "c": two})]
    [(['a', 'c'], [(1.0, 0), (1.0, 1)]), (['a', 'b', 'c'], [(1.0, 0)])]
    """
    every = _in_common(list(accuracies.values()))
    settings = {setting for setting, _ in every}
    of_settings = {method: {place for place in one if place[0] in settings} for method, one in accuracies.items()}
    longer = [method for method, places in of_settings.items() if len(places) > len(every)]
    shared = _in_common([of_settings[method] for method in longer])
    if len(longer) > 1 and len(shared) > len(every):
        yield longer, shared
    if every:
        yield list(accuracies), every


def _figures(experiment: str) -> Iterator[str]:
    return (figure.name for figure in FIGURES.values() if figure.experiment_name == experiment)


def _in_common(several: Sequence[Iterable[tuple[float, int]]]) -> set[tuple[float, int]]:
    """Return the settings and seeds that are in all of them."""
    return set.intersection(*(set(one) for one in several)) if several else set()


def _where(places: Places, *, first: float) -> str:
    """Say which settings and how many seeds there are.

    >>> _where([(0.0, 0), (4.0, 0), (4.0, 1)], first=1.0), _where([(0.2, 0), (0.4, 0), (0.8, 0)], first=0.0)
    ('1, 5; 2 seeds', '0.2 to 0.8 (3 settings); 1 seed')
    """
    settings = [f"{setting + first:g}" for setting in sorted({setting for setting, _ in places})]
    n_seeds = len({seed for _, seed in places})
    span = ", ".join(settings) if len(settings) < 3 else f"{settings[0]} to {settings[-1]} ({len(settings)} settings)"
    return f"{span}; {n_seeds} seed{'s' if n_seeds > 1 else ''}"


def _fewer(shared: Places, places: Places) -> str:
    """Say over how many settings a cell is, where these are not all.

    >>> _fewer([(1.0, 0), (1.0, 1)], [(1.0, 0), (1.0, 1), (2.0, 0)]), _fewer([(1.0, 0)], [(1.0, 0), (1.0, 1)])
    (' (1 setting)', '')
    """
    n_shared, n_all = (len({setting for setting, _ in some}) for some in (shared, places))
    return "" if n_shared == n_all else f" ({n_shared} setting{'s' if n_shared > 1 else ''})"


def _over_seeds(cell_values: Cells, places: Places, *, scale: float) -> list[float]:
    """Return each seed's mean over the settings.

    >>> _over_seeds({(1.0, 0): 0.5, (2.0, 0): 1.0, (1.0, 1): 0.5}, [(1.0, 0), (2.0, 0), (1.0, 1)], scale=100.0)
    [75.0, 50.0]
    """
    rows = [
        (seed, scale * cell_values[setting, seed]) for setting, seed in sorted(places) if (setting, seed) in cell_values
    ]
    seeds = sorted({seed for seed, _ in rows})
    return [float(np.mean([value for one, value in rows if one == seed])) for seed in seeds]


def _column(several: Sequence[Sequence[float]], *, best: Best) -> list[str]:
    """Write the mean over seeds, its standard error where there are several, and the best of several in bold.

    >>> _column([[50.0, 70.0], [], [59.0]], best=max)
    ['**60.00 +- 10.00**', '', '59.00']
    """
    rounded = [round(float(np.mean(means)), 2) for means in several if means]
    top = best(rounded) if best and len(rounded) > 1 else None
    column = []
    for means in several:
        mean = round(float(np.mean(means)), 2) if means else math.nan
        error = f" +- {np.std(means, ddof=1) / len(means) ** 0.5:.2f}" if len(means) > 1 else ""
        text = f"{mean:.2f}{error}" if means else ""
        column.append(f"**{text}**" if mean == top else text)
    return column
