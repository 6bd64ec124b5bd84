"""Sizes of regularized sets, published, as run and exact: a table of the reproduction's page."""

import math
from collections.abc import Iterator, Sequence

from defero_verma2023.claims.catalogue import AllRecords
from defero_verma2023.claims.cells import Cells, cells, listed
from defero_verma2023.figures.catalogue import first_x
from defero_verma2023.methods import TWO_LOSSES
from defero_verma2023.runs.record import as_published

HEADER = (
    "experiment",
    "loss",
    "oracles, or overlap",
    "seeds",
    "published size",
    "as run: size",
    "as run: left out",
    "exact: size",
    "exact: left out",
    "one right expert: size",
)
IN_WORDS = """\
The regularized sets promise to leave out at most a tenth of the right experts, on average. As run, the search for the
threshold stops at the edge of its grid where sets would have to be large, and the promise is lost: small sets, and many
right experts left out. Ours find the threshold exactly, so they are as large as the promise needs. Asking for one right
expert instead of all of them keeps its word with sets that are no larger: far smaller where the network can tell who is
likeliest to be right, as with overlap, and as large where it is equally sure of all oracles, as OvA is. Why, step by
step: [conformal sets]({conformal}) and [errata]({errata}), sections 3 to 5 and 11."""
_MEASURES = (
    ("regularized_as_run.size", 1),
    ("regularized_as_run.missed_share", 2),
    ("missed_share.size", 1),
    ("missed_share.missed_share", 2),
    ("any_correct.size", 1),
)
_EXPERIMENTS = ("oracles", "noisy-oracles", "overlap")


def set_rows(all_records: AllRecords) -> Iterator[tuple[str, ...]]:
    """Yield a row for each experiment and loss: means over the seeds that there are, setting by setting."""
    for experiment in _EXPERIMENTS:
        records = as_published(all_records.ours.get(experiment, ()))
        for method in TWO_LOSSES:
            places = cells(records, method, "sets.regularized_as_run.size")
            settings = sorted({setting for setting, _ in places})
            if not settings:
                yield (experiment, method, "not run yet", *[""] * (len(HEADER) - 3))
                continue
            theirs = cells(all_records.published.get(experiment, ()), method, "sets.regularized_as_run.size")
            rows = [
                listed(_means(cells(records, method, f"sets.{name}"), settings), digits=digits)
                for name, digits in _MEASURES
            ]
            x = ", ".join(f"{setting + first_x(experiment):g}" for setting in settings)
            yield (experiment, method, x, _seeds(places, settings), _published(theirs, settings), *rows)


def _means(cell_values: Cells, settings: Sequence[float]) -> list[float]:
    """Return the mean over seeds at each setting; nan where there is none."""
    by_setting = [[value for (place, _), value in cell_values.items() if place == setting] for setting in settings]
    return [math.fsum(values) / len(values) if values else math.nan for values in by_setting]


def _seeds(cell_values: Cells, settings: Sequence[float]) -> str:
    """Write how many seeds each setting has, once where all have as many.

    >>> _seeds({(0.0, 0): 1.0, (0.0, 1): 1.0, (1.0, 0): 2.0}, [0.0, 1.0]), _seeds({(0.0, 0): 1.0}, [0.0])
    ('2, 1', '1')
    """
    counts = [sum(place == setting for place, _ in cell_values) for setting in settings]
    return str(counts[0]) if len(set(counts)) == 1 else ", ".join(map(str, counts))


def _published(theirs: Cells, settings: Sequence[float]) -> str:
    return ", ".join(f"{theirs[setting, 0]:.1f}" if (setting, 0) in theirs else "-" for setting in settings)
