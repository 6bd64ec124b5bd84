"""Keys that stand in several rows of a table that is read piece by piece."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


class RepeatedKeys:
    """Count rows whose key stood in an earlier row; eight bytes are kept of each, whatever the keys are."""

    def __init__(self) -> None:
        self._marks: list[Any] = []

    def add(self, keys: "pd.Series[Any]") -> None:
        """Take the keys of the next rows; blank ones are nobody's."""
        from pandas.util import hash_pandas_object

        told = keys.dropna().astype(str)
        self._marks.append(hash_pandas_object(told, index=False, categorize=False).to_numpy())

    def sentence(self, key: str | None) -> list[str]:
        """Say how many there are; nothing where every key stands once."""
        import numpy as np

        if not self._marks:
            return []
        marks = np.concatenate(self._marks)
        count = len(marks) - len(np.unique(marks))
        rows = "1 row has" if count == 1 else f"{count} rows have"
        return [f"column {key}: {rows} a key that an earlier row has too; each row has a decision."] if count else []
