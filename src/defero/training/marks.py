"""Who was right on what, as tensors: cell by cell where many answered, one by one where few did."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

AT_ONCE = 1 << 22
"""Cells (item, expert) that may be laid out at a time, whatever share of them was answered."""
FILLED = 8
"""Beyond that, cell by cell where at least one cell in so many was answered: memory grows with the answers."""
LOGITS_AT_ONCE = 1 << 20
"""Logits made at a time where answers are listed: few of them are looked at, and so many are quick to make."""


@dataclass(frozen=True, eq=False)
class CellMarks:
    """correct (n, J) and observed (n, J)."""

    correct: Tensor
    observed: Tensor

    at_once: ClassVar[int] = AT_ONCE

    def take(self, rows: Tensor | slice) -> "CellMarks":
        """Return those to these items."""
        return CellMarks(self.correct[rows], self.observed[rows])

    def none(self) -> "CellMarks":
        """Return no marks of the same items."""
        return CellMarks(self.correct[:, :0], self.observed[:, :0])

    def meet(self, expert_logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of the experts, right or not, and observed or not: (n, J) each."""
        return expert_logits[:, : self.correct.shape[1]], self.correct, self.observed


@dataclass(frozen=True, eq=False)
class ListedMarks:
    """m answers sorted by item.

    Attributes
    ----------
    starts : (n + 1,)
        The answers to item i are those from starts[i] up to starts[i + 1].
    expert_idx, right : (m,)

    Examples
    --------
    >>> marks = ListedMarks(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 1]), torch.tensor([True, False, True]))
    >>> logits, correct, observed = marks.meet(torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]))
    >>> logits[observed].tolist(), correct[observed].tolist()
    ([2.0, 3.0, 4.0], [True, False, True])
    """

    starts: Tensor
    expert_idx: Tensor
    right: Tensor

    at_once: ClassVar[int] = LOGITS_AT_ONCE

    def take(self, rows: Tensor | slice) -> "ListedMarks":
        """Return those to these items."""
        firsts, counts = self.starts[:-1][rows], self.starts.diff()[rows]
        starts = _starts(counts)
        kept = torch.arange(int(starts[-1]), device=starts.device)
        kept += (firsts - starts[:-1]).repeat_interleave(counts)
        return ListedMarks(starts, self.expert_idx[kept], self.right[kept])

    def none(self) -> "ListedMarks":
        """Return no marks of the same items."""
        return ListedMarks(torch.zeros_like(self.starts), self.expert_idx[:0], self.right[:0])

    def meet(self, expert_logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the logits of those who answered, right or not, and observed or not: (n, A) each.

        What nobody answered never touches a loss, so A is the most answers to one item; where an item has fewer, the
        rest of its row is not observed.
        """
        counts = self.starts.diff()
        widest = int(counts.max()) if len(counts) else 0
        observed = torch.arange(widest, device=counts.device) < counts[:, None]
        # Row by row a mask is true as often as there are answers, in their order.
        experts = torch.zeros_like(observed, dtype=torch.long).masked_scatter_(observed, self.expert_idx)
        correct = torch.zeros_like(observed).masked_scatter_(observed, self.right)
        return expert_logits.gather(1, experts), correct, observed


def marks_of(
    item_idx: Tensor, expert_idx: Tensor, right: Tensor, *, n_items: int, n_experts: int
) -> CellMarks | ListedMarks:
    """Return m answers, sorted by item, as marks of n items in the form that suits how many there are.

    >>> type(marks_of(torch.tensor([1]), torch.tensor([0]), torch.tensor([True]), n_items=2, n_experts=3)).__name__
    'CellMarks'
    """
    n_cells = n_items * n_experts
    if n_cells > max(AT_ONCE, FILLED * len(right)):
        return ListedMarks(_starts(item_idx.bincount(minlength=n_items)), expert_idx, right)
    correct = torch.zeros(n_items, n_experts, dtype=torch.bool, device=right.device)
    observed = correct.clone()
    correct[item_idx, expert_idx] = right
    observed[item_idx, expert_idx] = True
    return CellMarks(correct, observed)


def _starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])
