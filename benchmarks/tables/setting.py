"""Setting: a data set of the table by name."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.tables.split import Split


@dataclass(frozen=True)
class Setting:
    """A data set with its experts.

    Attributes
    ----------
    name : str
    draw : seed -> Split
    note : str
        Where the cases come from and who the experts are.
    kind : str
        "table", "few answers", "people add nothing" or "true gain": which lines of the verdict it is judged by.
    fresh : bool
        Every seed draws new cases, so that splits share none and are independent.
    quick : bool
        In `--quick`.
    """

    name: str
    draw: Callable[[int], Split]
    note: str
    kind: str = "table"
    fresh: bool = False
    quick: bool = False
