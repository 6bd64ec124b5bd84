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


def best_row(best: BestSystems) -> tuple[str, ...]:
    """Return a figure's row."""
    if best.published is None:
        return (best.figure.name, "no accuracy is drawn", *[""] * (len(HEADER) - 2))
    point = best.published
    note = f"; {point.note}" if point.note else ""
    name = system_name(point.method, point.metric)
    published = f"{point.mean:.2f} % ({name}; {best.figure.x_label}: {point.x:g}{note})"
    theirs = "" if math.isnan(best.their_classifier) else f"{best.their_classifier:.2f}"
    settings = f"; in {best.n_reached} of {best.n_settings} settings" if best.n_settings else ""
    ours = (_system(best.alone), _system(best.panel), _classifier(best))
    return (best.figure.name, published, theirs, *ours, f"{_reached(best)}{settings}")


def _reached(best: BestSystems) -> str:
    """Say whether ours is at or above the published one, and whether its interval is."""
    if best.published is None or best.ours is None:
        return "not run there yet"
    accuracy = best.ours.accuracy
    if accuracy.mean < best.published.mean:
        return "no"
    if accuracy.low >= best.published.mean:
        return "yes"
    return "yes, one seed" if accuracy.n_seeds == 1 else "yes on average; the interval reaches below it"


def _system(system: System | None) -> str:
    if system is None:
        return ""
    accuracy = replace(system.accuracy, high=min(system.accuracy.high, PERCENT))  # Student's interval knows no bound
    return f"{accuracy.words(sign='')} ({system.name})"


def _classifier(best: BestSystems) -> str:
    if best.ours is None:
        return ""
    if best.classifier is None:
        return "not run yet"
    return f"{best.classifier.accuracy.words(sign='')} ({best.classifier.net})"


def obstacles(best: Iterable[BestSystems]) -> Iterator[str]:
    """Yield what stands in the way of a figure whose best published system is not reached."""
    for one in best:
        if one.obstacle:
            data = one.figure.experiment.data_set
            yield f"{one.figure.name}: what stands in the way. {one.obstacle} {' '.join(DIFFERENCES[data])}"
