"""Our best system beside the best published one, figure by figure: a table of the reproduction's page."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from defero_verma2023.claims.best_systems import PERCENT, BestSystems, System, system_name
from defero_verma2023.page.protocol import DIFFERENCES

HEADER = (
    "figure",
    "best published",
    "theirs, the classifier alone",
    "ours, one decides",
    "ours, panel",
    "ours, the classifier alone",
    "at or above the published one",
)


def best_row(found: BestSystems) -> tuple[str, ...]:
    """Return a figure's row."""
    if found.published is None:
        return (found.figure.name, "no accuracy is drawn", *[""] * (len(HEADER) - 2))
    point = found.published
    note = f"; {point.note}" if point.note else ""
    name = system_name(point.method, point.metric)
    published = f"{point.mean:.2f} % ({name}; {found.figure.x_label}: {point.x:g}{note})"
    theirs = "" if math.isnan(found.their_classifier) else f"{found.their_classifier:.2f}"
    settings = f"; in {found.n_reached} of {found.n_settings} settings" if found.n_settings else ""
    ours = (_system(found.alone), _system(found.panel), _classifier(found))
    return (found.figure.name, published, theirs, *ours, f"{_reached(found)}{settings}")


def _reached(found: BestSystems) -> str:
    """Say whether ours is at or above the published one, and whether its interval is."""
    if found.published is None or found.ours is None:
        return "not run there yet"
    accuracy = found.ours.accuracy
    if accuracy.mean < found.published.mean:
        return "no"
    if accuracy.low >= found.published.mean:
        return "yes"
    return "yes, one seed" if accuracy.n_seeds == 1 else "yes on average; the interval reaches below it"


def _system(found: System | None) -> str:
    if found is None:
        return ""
    accuracy = replace(found.accuracy, high=min(found.accuracy.high, PERCENT))  # Student's interval knows no bound
    return f"{accuracy.words(sign='')} ({found.name})"


def _classifier(found: BestSystems) -> str:
    if found.ours is None:
        return ""
    if found.classifier is None:
        return "not run yet"
    return f"{found.classifier.accuracy.words(sign='')} ({found.classifier.net})"


def obstacles(best: Iterable[BestSystems]) -> Iterator[str]:
    """Yield what stands in the way of a figure whose best published system is not reached."""
    for one in best:
        if one.obstacle:
            data = one.figure.experiment.data_set
            yield f"{one.figure.name}: what stands in the way. {one.obstacle} {' '.join(DIFFERENCES[data])}"
