"""Correlation of the mistakes of every two experts, beyond what hard cases explain."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.core.trials.trial import Trial
from defero.metrics import SharedErrors, shared_errors
from defero.plotting import style
from defero.plotting.style import Display, check_cases, check_experts

MOST_EXPERTS, SHOWN = 30, 20
"""With more experts than the first number, only the most similar are drawn, as many as the second."""
MOST_NUMBERS = 12
"""With more experts the cells have no numbers."""

# At most half the strength, so that text stays readable on light and dark pages.
_STRONGEST = 0.55
_FRAME: dict[str, Any] = {"fill": False, "edgecolor": style.MODEL, "linewidth": 1.6}


@dataclass(eq=False)
class SharedErrorsDisplay(Display):
    """Heat map of the correlation of every two experts' mistakes, beyond what hard cases explain.

    Near-copies are side by side. Pairs beyond chance have a frame, so the picture can be read without colours.

    Attributes
    ----------
    errors : SharedErrors of J experts
    shown : expert indices
        Experts that are drawn, in their order.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ann, bob, truth = rng.integers(2, size=(3, 200))
    >>> display = SharedErrorsDisplay.from_predictions(np.stack([ann, bob, ann], axis=1), truth)
    >>> display.errors.groups, display.shown
    (((0, 2),), (0, 2, 1))
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    errors: SharedErrors
    shown: tuple[int, ...]

    @classmethod
    def from_trial(cls, trial: Trial, *, ax: Axes | None = None) -> "SharedErrorsDisplay":
        """Draw a trial; all recorded answers count."""
        proba = None if trial.scores.link == "weight" else trial.scores.expert_proba
        return cls.from_predictions(trial.answer_idx, trial.label_idx, proba, expert_names=trial.expert_names, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        answers: ArrayLike,
        labels: ArrayLike,
        expert_proba: ArrayLike | None = None,
        *,
        expert_names: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> "SharedErrorsDisplay":
        """Draw from arrays: see `defero.metrics.shared_errors`."""
        check_cases(len(np.asarray(labels)))
        return cls.from_errors(shared_errors(answers, labels, expert_proba, expert_names=expert_names), ax=ax)

    @classmethod
    def from_errors(cls, errors: SharedErrors, *, ax: Axes | None = None) -> "SharedErrorsDisplay":
        """Draw the result of `shared_errors`."""
        check_experts(len(errors.names))
        if len(errors.names) == 1:
            raise InputError("this picture needs at least two experts, got one.")
        return cls(errors, _shown(errors)).plot(ax)

    def plot(self, ax: Axes | None = None) -> "SharedErrorsDisplay":
        """Draw the heat map, on `ax` or on a new figure that grows with the experts."""
        count = len(self.shown)
        side = (0.36 if count <= MOST_NUMBERS else 0.22) * max(count, 4)
        names = [self.errors.names[j] for j in self.shown]
        with style.drawing():
            ax = self._take(ax, size=(1.9 + side, 2.1 + side))
            self._draw_cells(ax)
            if count <= MOST_NUMBERS:
                self._write_numbers(ax)
            style.dress(ax, grid="", frame=False)
            ax.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), aspect="equal")
            style.write_names(ax.yaxis, names)
            style.write_names(ax.xaxis, names)
            ax.tick_params(axis="x", labelrotation=90)
            self._draw_legend(ax)
        return self

    @property
    def correlation(self) -> FloatArray:
        """Correlations of the experts that are drawn, in their order."""
        return self.errors.correlation[np.ix_(self.shown, self.shown)]

    def _draw_cells(self, ax: Axes) -> None:
        value = self.correlation
        place = {j: at for at, j in enumerate(self.shown)}
        experts = range(len(value))
        outlines = [_cell(row, column) for row in experts for column in experts if row != column]
        ax.add_collection(
            PatchCollection(outlines, facecolor="none", edgecolor=style.GRID, linewidth=0.6), autolim=False
        )
        diagonal = PatchCollection([_cell(j, j) for j in experts], facecolor=style.GRID, linewidth=0)
        ax.add_collection(diagonal, autolim=False)
        for (row, column), share in np.ndenumerate(value):
            if share > 0:
                cell = _cell(row, column)
                cell.set(linewidth=0, facecolor=style.TEAM, alpha=_STRONGEST * float(share))
                ax.add_patch(cell)
        unknown = np.isnan(value) & ~np.eye(len(value), dtype=np.bool_)
        hatched = [_cell(row, column) for row, column in np.argwhere(unknown)]
        if hatched:
            ax.add_collection(PatchCollection(hatched, **style.UNKNOWN), autolim=False)
        for pair in self.errors.pairs:
            if pair.first in place and pair.second in place:
                ends = place[pair.first], place[pair.second]
                for column, row in (ends, ends[::-1]):
                    ax.add_patch(Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, **_FRAME))

    def _write_numbers(self, ax: Axes) -> None:
        for (row, column), share in np.ndenumerate(self.correlation):
            if not np.isnan(share):
                number = f"{round(float(share), 2) + 0.0:.2f}".replace("-", "\u2212")
                ax.text(column, row, number, ha="center", va="center", fontsize=style.SMALL, color=style.INK)

    def _draw_legend(self, ax: Axes) -> None:
        handles = [
            Patch(facecolor=style.TEAM, linewidth=0, alpha=_STRONGEST * share, label=label)
            for share, label in ((0.5, "0.5"), (1.0, "1: copies"))
        ]
        if self.errors.pairs:
            handles.append(Patch(**_FRAME, label="same mistakes, beyond chance"))
        off = ~np.eye(len(self.shown), dtype=np.bool_)
        if np.isnan(self.correlation[off]).any():
            handles.append(Patch(**style.UNKNOWN, label="too few shared answers"))
        style.legend_above(ax, handles=handles)


def _cell(row: int, column: int) -> Rectangle:
    return Rectangle((column - 0.47, row - 0.47), 0.94, 0.94)


def _shown(errors: SharedErrors) -> tuple[int, ...]:
    """Return the experts to draw: near-copies side by side, then the others in their order.

    Of many experts, pairs beyond chance come first, then those with the most significant correlation.
    """
    count = len(errors.names)
    grouped = [j for group in errors.groups for j in group]
    paired = [j for pair in errors.pairs for j in (pair.first, pair.second)]
    if count <= MOST_EXPERTS:
        return tuple(dict.fromkeys([*grouped, *range(count)]))
    weight = np.nan_to_num(errors.correlation, nan=-1.0) * np.sqrt(errors.n_shared)
    others = np.argsort(-weight.max(axis=1), kind="stable").tolist()
    drawn = list(dict.fromkeys([*grouped, *paired, *others]))[:SHOWN]
    first = [j for j in drawn if j in {*grouped, *paired}]
    return tuple(dict.fromkeys([*first, *sorted(drawn)]))
