"""Sizes of regularized sets, published, as run and exact: a table of the reproduction's page."""

from collections.abc import Iterator

from defero.papers.verma2023.claim_cells import Cells, block, cells, listed
from defero.papers.verma2023.claims import Kept
from defero.papers.verma2023.claims_sets import means_at
from defero.papers.verma2023.figures import first_x
from defero.papers.verma2023.methods import TWO_LOSSES
from defero.papers.verma2023.run_record import as_published

HEADER = (
    "experiment",
    "loss",
    "oracles, or overlap",
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
expert instead of all of them makes small sets that keep their word. Why, step by step: [conformal sets]({conformal})
and [errata]({errata}), sections 3 to 5 and 11."""
_MEASURES = (
    ("regularized_as_run.size", 1),
    ("regularized_as_run.missed_share", 2),
    ("missed_share.size", 1),
    ("missed_share.missed_share", 2),
    ("any_correct.size", 1),
)
_EXPERIMENTS = ("oracles", "noisy-oracles", "overlap")


def set_rows(kept: Kept) -> Iterator[tuple[str, ...]]:
    """Yield a row for each experiment and loss: means over seeds, setting by setting."""
    for experiment in _EXPERIMENTS:
        records = as_published(kept.ours.get(experiment, ()))
        for method in TWO_LOSSES:
            sizes = block(cells(records, method, "sets.regularized_as_run.size"))
            if sizes is None:
                yield (experiment, method, "not run yet", *[""] * (len(HEADER) - 3))
                continue
            theirs = cells(kept.published.get(experiment, ()), method, "sets.regularized_as_run.size")
            shown = [
                listed(means_at(cells(records, method, f"sets.{name}"), sizes), digits=digits)
                for name, digits in _MEASURES
            ]
            settings = ", ".join(f"{setting + first_x(experiment):g}" for setting in sizes.settings)
            yield (experiment, method, settings, _published(theirs, sizes.settings), *shown)


def _published(theirs: Cells, settings: tuple[float, ...]) -> str:
    return ", ".join(f"{theirs[setting, 0]:.1f}" if (setting, 0) in theirs else "-" for setting in settings)
