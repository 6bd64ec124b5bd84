"""Load, accuracy and recall of the cases with one value of a column."""

from dataclasses import dataclass

from defero.core.checks.arrays import IntArray
from defero.metrics.statistics.intervals import Share


@dataclass(frozen=True, eq=False)
class GroupRow:
    """The cases with one value of a column.

    Attributes
    ----------
    value : str
    team, model : Share
        Right, on recorded answers.
    recall : K Shares
        The share of each class's cases that the team labels so.
    load : (J,)
        How many of the cases each expert would get if everybody could be asked.
    alone : J Shares
        Right, of each expert's recorded answers to these cases.
    """

    value: str
    team: Share
    model: Share
    recall: tuple[Share, ...]
    load: IntArray
    alone: tuple[Share, ...]

    @property
    def n_cases(self) -> int:
        """How many cases there are."""
        return self.team.total


@dataclass(frozen=True)
class GroupTable:
    """The groups of one column."""

    column: str
    rows: tuple[GroupRow, ...]
