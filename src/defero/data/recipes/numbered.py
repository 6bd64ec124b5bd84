"""NumberedColumns: an array seen as a table, so that a recipe can fill its gaps."""

from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, float_matrix


class NumberedColumns:
    """An (n, d) array as a frame: its columns are called "column 0", "column 1", ...

    Examples
    --------
    >>> table = NumberedColumns([[1.0, float("nan")], [2.0, 5.0]])
    >>> table.columns, table["column 1"].tolist(), len(table)
    (('column 0', 'column 1'), [nan, 5.0], 2)
    """

    def __init__(self, X: ArrayLike) -> None:
        self.matrix: FloatArray = float_matrix("X", X, gaps=True)
        self.columns = tuple(f"column {place}" for place in range(self.matrix.shape[1]))

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, name: str) -> FloatArray:
        return self.matrix[:, self.columns.index(name)]
