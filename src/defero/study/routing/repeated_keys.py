"""Rows of a file whose key stood in an earlier row: eight bytes are kept of each key, in memory or in a file."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.util import hash_pandas_object

Marks = NDArray[np.uint64]
AT_ONCE = 1 << 21


def key_marks(keys: "pd.Series[Any]") -> Marks:
    """Return a number for each key, (n,) or fewer: blank ones are nobody's."""
    texts = keys.dropna().astype(str)
    return hash_pandas_object(texts, index=False, categorize=False).to_numpy().astype(np.uint64, copy=False)


class RepeatedKeys:
    """Counts them in memory.

    >>> repeated = RepeatedKeys()
    >>> repeated.add(key_marks(pd.Series(["a", "b"]))), repeated.add(key_marks(pd.Series(["a", None])))
    (None, None)
    >>> repeated.count()
    1
    """

    def __init__(self) -> None:
        self._marks: list[Marks] = []

    def add(self, marks: Marks) -> None:
        """Take the marks of the next rows."""
        self._marks.append(marks)

    def count(self) -> int:
        """Return how many rows have a key that an earlier row has too."""
        marks = np.concatenate([np.zeros(0, dtype=np.uint64), *self._marks])
        return len(marks) - len(np.unique(marks))


def n_repeated_in(path: Path, *, at_once: int = AT_ONCE) -> int:
    """Count them in a file of marks, in memory for about `at_once` of them."""
    parts = max(1, math.ceil(path.stat().st_size / 8 / at_once))
    count = 0
    for part in range(parts):  # equal marks are in the same part
        own = RepeatedKeys()
        with path.open("rb") as file:
            while content := file.read(8 << 20):
                marks = np.frombuffer(content, dtype=np.uint64)
                own.add(marks[marks % np.uint64(parts) == part])
        count += own.count()
    return count


def repeated_sentence(key: str | None, count: int) -> list[str]:
    """Say how many there are; nothing where every key stands once."""
    rows = "1 row has" if count == 1 else f"{count} rows have"
    return [f"column {key}: {rows} a key that an earlier row has too; each row has a decision."] if count else []
