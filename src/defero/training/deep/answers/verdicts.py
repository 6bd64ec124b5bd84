"""Who was right, laid out so that a batch is one index on the device, however many experts there are."""

from dataclasses import dataclass

import torch
from torch import Tensor

from defero.core.errors import InputError
from defero.training.marks import CellMarks, ListedMarks


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Marks of n items in A columns.

    Attributes
    ----------
    correct : (n, A) bool
    observed : (n, A) bool or None
        None: all of them.
    expert_idx : (n, A) or None
        Whose column of the logits each mark is about; None: column a is expert a, and A = J.
    """

    correct: Tensor
    observed: Tensor | None = None
    expert_idx: Tensor | None = None

    def __len__(self) -> int:
        return len(self.correct)

    @classmethod
    def from_marks(cls, marks: CellMarks | ListedMarks) -> "Verdicts":
        """Take over the marks of the other loops; listed ones are padded to the most answers of one item.

        >>> listed = ListedMarks(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 1]), torch.tensor([True, False, True]))
        >>> Verdicts.from_marks(listed).expert_idx.tolist()
        [[2, 0], [0, 1]]
        """
        if isinstance(marks, CellMarks):
            return cls(marks.correct, None if bool(marks.observed.all()) else marks.observed)
        counts = marks.starts.diff()
        widest = int(counts.max()) if len(counts) else 0
        observed = torch.arange(widest, device=counts.device) < counts[:, None]
        experts = torch.zeros_like(observed, dtype=torch.long).masked_scatter_(observed, marks.expert_idx)
        correct = torch.zeros_like(observed).masked_scatter_(observed, marks.right)
        return cls(correct, observed, experts)

    @classmethod
    def from_codes(cls, answers: Tensor, labels: Tensor) -> "Verdicts":
        """Compare answers (n, J), class numbers with -1 for none, with the labels (n,).

        >>> Verdicts.from_codes(torch.tensor([[0, -1], [0, 1]]), torch.tensor([0, 1])).observed.tolist()
        [[True, False], [True, True]]
        """
        if answers.ndim != 2 or len(answers) != len(labels):
            raise InputError(f"answers must be (n, J) with n = {len(labels)} items, got {tuple(answers.shape)}.")
        observed = answers >= 0
        return cls(answers == labels[:, None], None if bool(observed.all()) else observed)

    def take(self, rows: Tensor) -> "Verdicts":
        """Return those on these items."""
        return Verdicts(
            self.correct[rows],
            None if self.observed is None else self.observed[rows],
            None if self.expert_idx is None else self.expert_idx[rows],
        )

    def to(self, device: torch.device) -> "Verdicts":
        """Copy to a device."""
        moved = [None if part is None else part.to(device) for part in (self.observed, self.expert_idx)]
        return Verdicts(self.correct.to(device), *moved)

    def as_cells(self, n_experts: int) -> CellMarks:
        """Return correct (n, J) and observed (n, J)."""
        observed = torch.ones_like(self.correct) if self.observed is None else self.observed
        if self.expert_idx is None:
            return CellMarks(self.correct, observed)
        # Empty places point at expert 0 as well: one column more takes them in.
        place = self.expert_idx.where(observed, n_experts)
        cells = torch.zeros(len(self), n_experts + 1, dtype=torch.bool, device=self.correct.device)
        return CellMarks(
            cells.scatter(1, place, self.correct)[:, :n_experts], cells.scatter(1, place, observed)[:, :n_experts]
        )
