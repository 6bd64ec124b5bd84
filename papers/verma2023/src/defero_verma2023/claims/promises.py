"""What conformal sets of experts promise, and where the sets as the authors ran them keep it."""

from collections.abc import Iterator
from dataclasses import dataclass

from defero_verma2023.claims.bounds import Bounds
from defero_verma2023.claims.cells import Cells, block, cells, setting_estimates
from defero_verma2023.claims.judge import Evidence
from defero_verma2023.claims.sets import ALPHA, SLACK
from defero_verma2023.claims.verdict import CONFIRMED, CONTRADICTED, Direction, Estimate
from defero_verma2023.methods import TWO_LOSSES

NAIVE = "naive: an item with a right expert left out, in a tenth of the items at most"
REGULARIZED = "regularized: a tenth of the right experts left out at most, on average"
KEPT = Bounds(high=ALPHA + SLACK)


@dataclass(frozen=True)
class PromiseRow:
    """One kind of sets in one experiment.

    Attributes
    ----------
    promise, loss : str
    settings : tuple of float
    missed : tuple of Estimate
        The share that the promise is about, at each setting; alpha was asked.
    """

    promise: str
    loss: str
    settings: tuple[float, ...]
    missed: tuple[Estimate, ...]

    def where(self, direction: Direction) -> tuple[float, ...]:
        """Return the settings in which the promise is kept (confirmed), broken (contradicted) or open."""
        pairs = zip(self.settings, self.missed, strict=True)
        return tuple(setting for setting, share in pairs if KEPT.direction(share) == direction)

    @property
    def is_broken(self) -> bool:
        """Is it broken in some setting?"""
        return bool(self.where(CONTRADICTED))

    @property
    def is_kept(self) -> bool:
        """Is it kept in every setting?"""
        return len(self.where(CONFIRMED)) == len(self.settings)


def promise_rows(evidence: Evidence, *, settings: tuple[float, ...]) -> Iterator[PromiseRow]:
    """Yield both promises for both losses, where there are runs of ours.

    Kept: the interval of the share ends below alpha and the slack that ten splits need. Broken: it begins above.
    """
    for promise in (NAIVE, REGULARIZED):
        for method, label in TWO_LOSSES.items():
            grid = block(_missed(evidence, method, promise), settings=settings)
            if grid is not None:
                yield PromiseRow(promise, label, grid.settings, setting_estimates(grid, scale=1.0))


def _missed(evidence: Evidence, method: str, promise: str) -> Cells:
    if promise == REGULARIZED:
        return cells(evidence.ours, method, "sets.regularized_as_run.missed_share")
    return {place: 1 - share for place, share in cells(evidence.ours, method, "sets.naive_as_run.all_correct").items()}
