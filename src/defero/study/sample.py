"""A random sample of a table's rows that does not depend on the pieces in which it is read, nor on their order."""

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from defero.core.checks.arrays import FloatArray


@dataclass(eq=False)
class Sample:
    """The rows with the smallest marks of a table, whatever the order in which its pieces come.

    >>> sample = Sample(2)
    >>> for start, marks in ((2, [0.3, 0.9]), (0, [0.5, 0.1])):
    ...     sample.add(start, pd.DataFrame({"row": [start, start + 1]}), np.array(marks))
    >>> [frame["row"].tolist() for frame in sample.frames()]
    [[1], [2]]
    """

    most: int
    _pieces: list[tuple[int, pd.DataFrame, FloatArray]] = field(default_factory=list)
    limit: float = np.inf

    def __len__(self) -> int:
        return sum(len(marks) for _, _, marks in self._pieces)

    def add(self, start: int, frame: pd.DataFrame, marks: FloatArray) -> None:
        """Take rows whose place in the table begins at `start`, each with its mark."""
        low = marks <= self.limit
        self._pieces.append((start, frame[low], marks[low]))
        if len(self) > 2 * self.most:
            self._thin()

    def frames(self) -> list[pd.DataFrame]:
        """Return the rows in the order of the table."""
        if len(self) > self.most:
            self._thin()
        return [frame for _, frame, _ in sorted(self._pieces, key=lambda piece: piece[0])]

    def _thin(self) -> None:
        marks = np.concatenate([own for _, _, own in self._pieces])
        self.limit = limit = float(np.partition(marks, self.most - 1)[self.most - 1])
        self._pieces = [(start, frame[own <= limit], own[own <= limit]) for start, frame, own in self._pieces]


def marks_of(piece: pd.DataFrame, random_state: int) -> FloatArray:
    """Return a random number for each row (n,) that depends on its index in the table alone.

    >>> frame = pd.DataFrame(index=range(10))
    >>> bool((marks_of(frame, 0)[7:] == marks_of(frame.iloc[7:], 0)).all())
    True
    """
    index = piece.index.to_numpy()
    bits = np.random.PCG64(random_state)
    bits.advance(int(index[0]))  # a number takes one step of the generator
    return np.random.Generator(bits).random(int(index[-1]) - int(index[0]) + 1)[index - index[0]]
