"""Answers: what answers as class numbers can be asked, whether they are kept cell by cell or one by one."""

from typing import NamedTuple, Protocol, Self

from defero.core.checks import BoolArray, IntArray
from defero.core.lookup import Codes


class Given(NamedTuple):
    """The m answers that were given, one by one, sorted by item and then by expert: item, expert, class number."""

    item_idx: IntArray
    expert_idx: IntArray
    codes: Codes


class Answers(Protocol):
    """Answers of J experts to n items: `DenseAnswers` or `SparseAnswers`."""

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n, J)."""

    def cells(self) -> Codes:
        """Return the class numbers (n, J), -1 where missing, in the smallest type that holds them."""

    def dense(self) -> IntArray:
        """Return the same in eight bytes each."""

    def observed(self) -> BoolArray:
        """Return who answered what, (n, J)."""

    def correct(self, label_idx: IntArray) -> BoolArray:
        """Return who was right on what, (n, J)."""

    def given(self) -> Given:
        """Return the answers one by one: m of each, and nothing for the cells without an answer."""

    def per_expert(self) -> IntArray:
        """Return how many answers each expert gave, (J,)."""

    def per_item(self) -> IntArray:
        """Return how many answers each item has, (n,)."""

    def right_per_expert(self, label_idx: IntArray) -> IntArray:
        """Return how many of each expert's answers are right, (J,)."""

    def take(self, rows: IntArray) -> Self:
        """Return the answers to these items, in this order."""
