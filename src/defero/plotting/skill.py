"""Accuracy of each expert on each class."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection, QuadMesh
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from defero.core.checks.arrays import names
from defero.core.errors import InputError
from defero.core.trial import Trial
from defero.judge import SkillByClass, skill_by_class
from defero.plotting import style
from defero.plotting.style import Display, check_cases, check_experts

MOST_NUMBERS = 120
"""With more cells there are no numbers."""

# Weights of red, green and blue in relative luminance; at 0.18 dark and light text have the same contrast.
_BRIGHTNESS = np.array([0.2126, 0.7152, 0.0722])


@dataclass(eq=False)
class SkillDisplay(Display):
    """Heat map of each expert's accuracy on the cases of each true class.

    Attributes
    ----------
    skill : SkillByClass of J experts and K classes
    expert_names : J names
    classes : K names

    Examples
    --------
    >>> display = SkillDisplay.from_predictions([[True, False], [True, True]], [0, 1], classes=["cat", "dog"])
    >>> display.skill.accuracy.tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> from matplotlib import pyplot as plt
    >>> plt.close(display.figure_)
    """

    skill: SkillByClass
    expert_names: tuple[str, ...]
    classes: tuple[str, ...]

    @classmethod
    def from_trial(cls, trial: Trial, *, ax: Axes | None = None) -> "SkillDisplay":
        """Draw a trial; all recorded answers count."""
        return cls.from_predictions(
            trial.expert_correct,
            trial.label_idx,
            classes=trial.classes,
            observed=trial.observed,
            expert_names=trial.expert_names,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        correct: ArrayLike,
        label_idx: ArrayLike,
        *,
        classes: ArrayLike,
        observed: ArrayLike | None = None,
        expert_names: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> "SkillDisplay":
        """Draw from arrays.

        Parameters
        ----------
        correct : (n, J) bool
            Whether expert j is right on case i.
        label_idx : (n,)
            Indices of the true classes.
        classes : K names
        observed : (n, J) bool, optional
            Whether they answered; everywhere by default.
        expert_names : J names, optional
        ax : Axes, optional
            Axes to draw on; a new figure by default.
        """
        if np.ndim(correct) != 2:
            raise InputError(
                f"must have shape (n, J), one column per expert, got {np.shape(correct)}.", argument="correct"
            )
        n_items, n_experts = np.shape(correct)
        check_cases(n_items)
        check_experts(n_experts)
        class_names = tuple(str(name) for name in np.asarray(classes).tolist())
        skill = skill_by_class(correct, label_idx, len(class_names), observed=observed)
        return cls(skill, names("expert_names", expert_names, count=n_experts), class_names).plot(ax)

    def plot(self, ax: Axes | None = None) -> "SkillDisplay":
        """Draw the heat map, on `ax` or on a new figure that grows with the experts and the classes."""
        n_experts, n_classes = self.skill.accuracy.shape
        with_numbers = self.skill.accuracy.size <= MOST_NUMBERS
        size = (2.6 + max((0.42 if with_numbers else 0.3) * n_classes, 1.6), 1.7 + max(0.22 * n_experts, 1.0))
        with style.drawing():
            ax = self._take(ax, size=size)
            mesh = self._draw_cells(ax)
            if with_numbers:
                self._write_numbers(ax, mesh)
            style.dress(ax, x="true class", grid="", frame=False)
            ax.set(xlim=(-0.5, n_classes - 0.5), ylim=(n_experts - 0.5, -0.5))
            style.write_names(ax.yaxis, self.expert_names)
            style.write_names(ax.xaxis, self.classes)
            long = max(len(style.short(name)) for name in self.classes) > (4 if with_numbers else 2)
            ax.tick_params(axis="x", labelrotation=90 if long else 0)
            self._draw_scale(ax, mesh)
        return self

    def _draw_cells(self, ax: Axes) -> QuadMesh:
        accuracy = self.skill.accuracy
        n_experts, n_classes = accuracy.shape
        answered = accuracy[self.skill.count > 0]
        lowest = np.floor(10 * answered.min()) / 10 if answered.size else 0.0
        columns, rows = np.arange(n_classes + 1) - 0.5, np.arange(n_experts + 1) - 0.5
        mesh = ax.pcolormesh(
            columns,
            rows,
            np.ma.masked_invalid(accuracy),
            cmap=style.HEAT,
            vmin=min(lowest, 0.9),
            vmax=1.0,
            edgecolors=style.PAPER,
            linewidth=0.6,
        )
        unknown = [Rectangle((k - 0.5, j - 0.5), 1, 1) for j, k in np.argwhere(self.skill.count == 0)]
        if unknown:
            ax.add_collection(PatchCollection(unknown, **style.UNKNOWN), autolim=False)
            style.legend_above(ax, handles=[Patch(**style.UNKNOWN, label="no answers")])
        return mesh

    def _write_numbers(self, ax: Axes, mesh: QuadMesh) -> None:
        for (j, k), share in np.ndenumerate(self.skill.accuracy):
            if np.isnan(share):
                continue
            dark = np.array(mesh.to_rgba(np.asarray(share))[:3]) ** 2.2 @ _BRIGHTNESS < 0.18
            ax.text(
                k,
                j,
                f"{100 * share:.0f}",
                ha="center",
                va="center",
                fontsize=style.SMALL,
                color=style.ON_DARK_CELL if dark else style.ON_LIGHT_CELL,
            )

    def _draw_scale(self, ax: Axes, mesh: QuadMesh) -> None:
        bar = self.figure_.colorbar(mesh, cax=ax.inset_axes((1.03, 0, 0.05, 1)))
        style.dress(bar.ax, grid="")
        bar.ax.set_ylabel("accuracy", color=style.INK)
        style.in_percent(bar.ax.yaxis, most_ticks=7)
        bar.outline.set_visible(False)
