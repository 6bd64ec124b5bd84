"""The cost of fit against rows and against experts, with the fitted power laws, as a picture."""

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.ratios.growth import FEW_EXPERTS, FEW_ROWS, exponents

COLOURS = {"linear": "#1f5fa8", "trees": "#b3541e"}
MARKS = {"linear": "o", "trees": "s"}


def draw_growth(points: list[dict[str, Any]], path: Path) -> None:
    """Draw the measured points of `growth`, and a line for each learner and direction, as an SVG file."""
    matplotlib.use("svg")
    from matplotlib import pyplot

    with matplotlib.rc_context({"svg.hashsalt": "defero", "svg.fonttype": "none", "font.size": 10}):
        figure, axes = pyplot.subplots(1, 2, figsize=(8.4, 3.6), sharey=True, layout="constrained")
        slopes = exponents(points)
        for axis, along, fixed in zip(
            axes, ("rows", "experts"), (f"{FEW_EXPERTS} experts", f"{FEW_ROWS:,} rows"), strict=True
        ):
            for net, colour in COLOURS.items():
                mine = [point for point in points if (point["net"], point["along"]) == (net, along)]
                if len(mine) < 2:
                    continue
                sizes, seconds = (np.array([point[what] for point in mine], dtype=float) for what in (along, "cpu_s"))
                slope, level = np.polyfit(np.log(sizes), np.log(seconds), 1)
                name = f"{net}: size to the power {slopes[f'fit, {net}, by {along}']['exponent']:.2f}"
                axis.plot(sizes, seconds, MARKS[net], color=colour, label=name)
                axis.plot(sizes, np.exp(level + slope * np.log(sizes)), "-", color=colour, linewidth=1)
            axis.set(xscale="log", yscale="log", xlabel=f"{along} ({fixed})")
            axis.legend(frameon=False)
        axes[0].set_ylabel("CPU seconds of one fit")
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
