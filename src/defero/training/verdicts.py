"""What a training learns from: who was right on what, as tensors, beside features and labels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from defero.core.answers import Answers
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet

CELLS_AT_ONCE = 1 << 22
"""Cells (item, expert) that may be laid out at a time, whatever share of them was answered."""
FILLED = 8
"""Beyond that, cell by cell where at least one cell in so many was answered: memory grows with the answers."""
LOGITS_AT_ONCE = 1 << 20
"""Logits made at a time where answers are listed: few of them are looked at, and so many are quick to make."""


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Who was right on n items, in A columns; few answers to a large table are listed one by one instead.

    Attributes
    ----------
    correct : (n, A) bool, or (m,) where listed
    observed : (n, A) bool or None
        None: all of them.
    expert_idx : (n, A) or (m,) int, or None
        Whose column of the logits each verdict is about; None: column a is expert a, and A = J.
    starts : (n + 1,) int or None
        Where listed, the verdicts on item i are those from starts[i] up to starts[i + 1].

    Examples
    --------
    >>> answers = Answers.from_triplets([0, 1, 1], [2, 0, 1], [0, 0, 1], n_items=2, n_experts=3)
    >>> verdicts = Verdicts.from_answers(answers, answers.codes[:2])
    >>> verdicts.correct.tolist(), verdicts.observed.tolist()
    ([[False, False, True], [True, False, False]], [[False, False, True], [True, True, False]])
    """

    correct: Tensor
    observed: Tensor | None = None
    expert_idx: Tensor | None = None
    starts: Tensor | None = None

    def __len__(self) -> int:
        return len(self.correct) if self.starts is None else len(self.starts) - 1

    @property
    def at_once(self) -> int:
        """How many logits of experts may be made at a time."""
        return CELLS_AT_ONCE if self.starts is None else LOGITS_AT_ONCE

    @classmethod
    def from_answers(cls, answers: Answers, label_idx: IntArray) -> "Verdicts":
        """Compare answers with the labels (n,), in the form that suits how many there are."""
        n_items, n_experts = answers.shape
        n_answers = int(answers.per_item().sum())
        if n_items * n_experts > max(CELLS_AT_ONCE, FILLED * n_answers):
            item_idx, expert_idx, codes = answers.triplets()
            starts = _starts(torch.from_numpy(answers.per_item()))
            right = torch.from_numpy(codes == label_idx[item_idx])
            return cls(right, expert_idx=torch.from_numpy(expert_idx), starts=starts)
        all_of_them = n_answers == n_items * n_experts
        correct = torch.from_numpy(answers.correct(label_idx))
        return cls(correct, None if all_of_them else torch.from_numpy(answers.observed()))

    @classmethod
    def from_codes(cls, answers: Tensor, labels: Tensor) -> "Verdicts":
        """Compare answers (n, J), class numbers with -1 for none, with the labels (n,).

        >>> Verdicts.from_codes(torch.tensor([[0, -1], [0, 1]]), torch.tensor([0, 1])).observed.tolist()
        [[True, False], [True, True]]
        """
        if answers.ndim != 2 or len(answers) != len(labels):
            raise InputError(
                f"must be (n, J) with n = {len(labels)} items, got {tuple(answers.shape)}.", argument="answers"
            )
        observed = answers >= 0
        return cls(answers == labels[:, None], None if bool(observed.all()) else observed)

    def take(self, rows: Tensor | slice) -> "Verdicts":
        """Return those on these items."""
        if self.starts is None:
            observed, expert_idx = (None if part is None else part[rows] for part in (self.observed, self.expert_idx))
            return Verdicts(self.correct[rows], observed, expert_idx)
        assert self.expert_idx is not None
        firsts, counts = self.starts[:-1][rows], self.starts.diff()[rows]
        starts = _starts(counts)
        chosen = torch.arange(int(starts[-1]), device=starts.device)
        chosen += (firsts - starts[:-1]).repeat_interleave(counts)
        return Verdicts(self.correct[chosen], expert_idx=self.expert_idx[chosen], starts=starts)

    def without_experts(self) -> "Verdicts":
        """Return no verdicts on the same items."""
        if self.starts is None or self.expert_idx is None:
            return Verdicts(self.correct[:, :0])
        return Verdicts(self.correct[:0], expert_idx=self.expert_idx[:0], starts=torch.zeros_like(self.starts))

    def to(self, device: torch.device) -> "Verdicts":
        """Copy to a device."""
        parts = (self.correct, self.observed, self.expert_idx, self.starts)
        correct, *others = (None if part is None else part.to(device) for part in parts)
        assert correct is not None
        return Verdicts(correct, *others)

    def padded(self) -> "Verdicts":
        """Return listed verdicts in A columns, the most answers to one item; others as they are.

        Where an item has fewer answers, the rest of its row is not observed.
        """
        if self.starts is None or self.expert_idx is None:
            return self
        counts = self.starts.diff()
        widest = int(counts.max()) if len(counts) else 0
        observed = torch.arange(widest, device=counts.device) < counts[:, None]
        # Row by row the mask is true as often as there are answers, in their order.
        experts = torch.zeros_like(observed, dtype=torch.long).masked_scatter_(observed, self.expert_idx)
        correct = torch.zeros_like(observed).masked_scatter_(observed, self.correct)
        return Verdicts(correct, observed, experts)

    def meet(self, expert_logits: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Return the logits of who answered, right or not, and observed or not (None: all): (n, A) each."""
        rows = self.padded()
        if rows.expert_idx is None:
            return expert_logits[:, : rows.correct.shape[1]], rows.correct, rows.observed
        return expert_logits.gather(1, rows.expert_idx), rows.correct, rows.observed

    def cells(self, n_experts: int) -> tuple[Tensor, Tensor]:
        """Return correct (n, J) and observed (n, J)."""
        rows = self.padded()
        observed = torch.ones_like(rows.correct) if rows.observed is None else rows.observed
        if rows.expert_idx is None:
            return rows.correct, observed
        # Empty places point at expert 0 as well: one column more takes them in.
        place = rows.expert_idx.where(observed, n_experts)
        empty = torch.zeros(len(self), n_experts + 1, dtype=torch.bool, device=rows.correct.device)
        return empty.scatter(1, place, rows.correct)[:, :n_experts], empty.scatter(1, place, observed)[:, :n_experts]


def _starts(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


@dataclass(frozen=True)
class Examples:
    """n items as tensors: features (n, d), labels (n,), weight (n,), and the verdicts on J experts."""

    features: Tensor
    labels: Tensor
    weight: Tensor
    verdicts: Verdicts
    n_experts: int

    @classmethod
    def from_arrays(
        cls,
        features: FloatArray,
        labels: IntArray,
        weight: FloatArray,
        *,
        answers: Answers,
        dtype: torch.dtype,
        device: torch.device,
    ) -> "Examples":
        """Copy arrays to a device, and compare the answers with the labels."""

        def send(array: np.ndarray[tuple[int, ...], np.dtype[np.generic]], kind: torch.dtype) -> Tensor:
            return torch.tensor(np.ascontiguousarray(array), dtype=kind, device=device)

        verdicts = Verdicts.from_answers(answers, labels).to(device)
        return cls(send(features, dtype), send(labels, torch.long), send(weight, dtype), verdicts, answers.n_experts)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: Tensor | slice) -> "Examples":
        """Return these rows."""
        verdicts = self.verdicts.take(rows)
        return Examples(self.features[rows], self.labels[rows], self.weight[rows], verdicts, self.n_experts)

    def without_experts(self) -> "Examples":
        """Return the same items with J = 0."""
        return replace(self, verdicts=self.verdicts.without_experts())

    def pieces(self) -> Iterator["Examples"]:
        """Yield the rows in order, so many at a time that a network's logits for the experts stay few."""
        step = max(1, self.verdicts.at_once // max(1, self.n_experts))
        if len(self) <= step:
            yield self
            return
        for start in range(0, len(self), step):
            yield self.take(slice(start, start + step))


def weighted_loss(
    net: DenseNet, loss: DeferralLoss, examples: Examples, *, total_weight: Tensor | float | None = None
) -> Tensor:
    """Return the weighted mean of the surrogate over the examples, for as many experts as these have verdicts on.

    `total_weight` is what the weighted sum is divided by: of a piece of the data, the weight of all; of a batch, the
    mean weight of the data times its rows, so that a batch of light items counts less than others.
    """
    logits = net(examples.features)
    expert_logits, correct, observed = examples.verdicts.meet(logits.experts)
    values = loss(logits.classes, expert_logits, examples.labels, correct, observed=observed, model_logit=logits.model)
    return (values * examples.weight).sum() / (examples.weight.sum() if total_weight is None else total_weight)


def mean_loss(net: DenseNet, loss: DeferralLoss, examples: Examples) -> float:
    """Return the same as a number, piece by piece and without gradients."""
    total = examples.weight.sum()
    with torch.no_grad():
        return sum(weighted_loss(net, loss, piece, total_weight=total).item() for piece in examples.pieces())
