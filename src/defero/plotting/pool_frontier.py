"""PoolFrontierDisplay: quality against cost of a pool at every trade-off, beside its members alone."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from defero.plotting import style
from defero.pools.curve import PoolCurve


@dataclass(eq=False)
class PoolFrontierDisplay:
    """The frontier of a pool.

    Attributes
    ----------
    ax : Axes
    """

    ax: Axes

    @classmethod
    def from_curve(
        cls,
        curve: PoolCurve,
        *,
        ax: Axes,
        chosen: tuple[float, float] | None = None,
        oracle: float | None = None,
        random: tuple[float, float] | None = None,
    ) -> "PoolFrontierDisplay":
        """Draw the curve, the zero router's hull, the members, and where the pool is, at random and with all known.

        Parameters
        ----------
        curve : PoolCurve
        ax : Axes
        chosen, random : (cost, quality), optional
        oracle : float, optional
            The quality of one who knows all scores.
        """
        hull = curve.hull
        ax.plot(
            curve.member_cost[hull],
            curve.member_quality[hull],
            color=style.MUTED,
            linestyle="--",
            linewidth=1.2,
            label="zero router",
        )
        ax.plot(curve.cost, curve.quality, color=style.TEAM, linewidth=2, label="pool")
        known = np.flatnonzero(np.isfinite(curve.member_cost))
        ax.scatter(
            curve.member_cost[known], curve.member_quality[known], s=18, color=style.EXPERT, label="members", zorder=3
        )
        if random is not None and np.isfinite(random[0]):
            ax.scatter(*random, marker="x", s=28, color=style.MUTED, label="random", zorder=3)
        if chosen is not None and np.isfinite(chosen[0]):
            ax.scatter(*chosen, marker="D", s=34, color=style.TEAM, label="this trade-off", zorder=4)
        if oracle is not None:
            ax.axhline(oracle, color=style.INK, linestyle=":", linewidth=1, label="oracle")
        ax.set_xlabel("mean price of an item")
        ax.set_ylabel("mean score")
        ax.grid(color=style.GRID, linewidth=0.6)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        ax.legend(frameon=False, fontsize=7, loc="best")
        return cls(ax)
