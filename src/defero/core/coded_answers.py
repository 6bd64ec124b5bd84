"""CodedAnswers: sparse answers that know which classes their numbers count, and whose they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from defero.core.checks import frozen, names
from defero.core.lookup import Values, class_numbers
from defero.core.sparse_answers import SparseAnswers


@dataclass(frozen=True, eq=False)
class CodedAnswers:
    """The answers of a sparse table, and of each of its parts: a part need not show every class.

    Estimators and routers take them as they take a data frame: the experts by their names, the answers by what
    they say. Rows are chosen as those of an array.

    Attributes
    ----------
    said : SparseAnswers
        m class numbers.
    classes : (K,)
        What the numbers stand for.
    experts : J names

    Examples
    --------
    >>> said = SparseAnswers(np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([2, 0, 2]), n_experts=2)
    >>> answers = CodedAnswers(said, np.array(["a", "b", "c"]), ("ann", "bob"))
    >>> answers[[1]].shape
    (1, 2)
    >>> answers.among(np.array(["a", "c"])).dense().tolist()
    [[-1, 1], [0, 1]]
    """

    said: SparseAnswers
    classes: Values
    experts: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", frozen(self.classes))
        object.__setattr__(self, "experts", names("experts", self.experts, count=self.said.n_experts))

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, J)."""
        return self.said.shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> "CodedAnswers":
        """Return the answers to these items: numbers, a mask or a slice."""
        if isinstance(rows, tuple):  # scikit-learn writes answers[rows, ...]
            rows, *rest = rows
            if any(one is not Ellipsis for one in rest):
                raise IndexError("answers are chosen by item alone.")
        chosen = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        return CodedAnswers(self.said.take(np.atleast_1d(chosen)), self.classes, self.experts)

    def item_of(self, answer: int) -> int:
        """Return which item an answer, one of the m, is to."""
        return int(np.searchsorted(self.said.starts, answer, side="right")) - 1

    def among(self, classes: Values) -> SparseAnswers:
        """Return the numbers that the answers have among other classes; `NO_CLASS` for what is none of them."""
        if np.array_equal(self.classes, classes):
            return self.said
        number = class_numbers(self.classes, classes)
        return SparseAnswers(
            self.said.starts, self.said.expert_idx, number[self.said.codes], n_experts=self.said.n_experts
        )
