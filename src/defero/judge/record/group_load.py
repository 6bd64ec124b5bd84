"""Load, accuracy and recall of the cases with one value of a column."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from defero.core.checks.arrays import IntArray
from defero.judge.intervals import Share


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

    def to_dict(self, expert_names: Sequence[str], classes: Sequence[object]) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "value": self.value,
            "cases": self.n_cases,
            "team": self.team.to_dict(),
            "model": self.model.to_dict(),
            "recall": {str(label): one.to_dict() for label, one in zip(classes, self.recall, strict=True)},
            "load": {
                "model": self.n_cases - int(self.load.sum()),
                **dict(zip(expert_names, self.load.tolist(), strict=True)),
            },
            "alone": {name: one.to_dict() for name, one in zip(expert_names, self.alone, strict=True)},
        }


@dataclass(frozen=True)
class GroupTable:
    """The groups of one column."""

    column: str
    rows: tuple[GroupRow, ...]

    def to_dict(self, expert_names: Sequence[str], classes: Sequence[object]) -> dict[str, Any]:
        """Return plain values for JSON; `load` and `alone` are by the experts' names, `recall` by class."""
        return {"column": self.column, "rows": [row.to_dict(expert_names, classes) for row in self.rows]}
