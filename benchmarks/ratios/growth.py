"""How the time of fit grows with rows and with experts: a power law through the measured points."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.ratios.operations import cases
from benchmarks.ratios.timing import seconds
from defero import DeferralClassifier

ROWS, EXPERTS = (10_000, 30_000, 100_000, 300_000, 1_000_000), (4, 16, 64, 256)
FEW_EXPERTS, FEW_ROWS = 4, 10_000
MOST_EXPONENT = 1.1
Point = dict[str, Any]


def points() -> Iterator[Point]:
    """Yield what is to be measured, the cheap ones first."""
    for net in ("linear", "trees"):
        for n_experts in EXPERTS:
            yield {"net": net, "along": "experts", "rows": FEW_ROWS, "experts": n_experts}
        for n_rows in ROWS:
            yield {"net": net, "along": "rows", "rows": n_rows, "experts": FEW_EXPERTS}


def measure_point(point: Point) -> float:
    """Return the CPU seconds of one fit."""
    features, labels, answers = cases(point["rows"], point["experts"])
    net = DeferralClassifier(point["net"], random_state=0)
    net.fit(*cases(200, point["experts"]))  # what is loaded at the first fit is not part of the growth
    return seconds(lambda: net.fit(features, labels, answers))


def exponents(measured: list[Point]) -> dict[str, Any]:
    """Return the slope of log seconds over log size, by least squares, for each learner and direction."""
    slopes = {}
    for net in ("linear", "trees"):
        for along in ("rows", "experts"):
            mine = [point for point in measured if (point["net"], point["along"]) == (net, along)]
            if len(mine) < 2:
                continue
            sizes, times = ([point[what] for point in mine] for what in (along, "cpu_s"))
            slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
            slopes[f"fit, {net}, by {along}"] = {
                "exponent": round(slope, 2),
                "limit": MOST_EXPONENT,
                "within": slope <= MOST_EXPONENT,
                "from": min(sizes),
                "to": max(sizes),
            }
    return slopes
