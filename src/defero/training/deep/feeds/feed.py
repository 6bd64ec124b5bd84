"""What a loop is fed with: batches in a drawn order that can be drawn again, and all items in order."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.training.deep.answer_source import AnswerSource
from defero.training.deep.feeds.pictures import Augmentation
from defero.training.deep.run.seeds import check_sum
from defero.training.verdicts import Verdicts


class Piece(NamedTuple):
    """Which of several processes this one is."""

    rank: int = 0
    world: int = 1


ALONE = Piece()


class Batch(NamedTuple):
    """One process's share of a batch, and how many items all shares together have."""

    inputs: Tensor
    labels: Tensor
    verdicts: Verdicts
    n_together: int


class Feed(ABC):
    """n labelled items with experts' answers.

    Attributes
    ----------
    prepare : nn.Module
        Turns the inputs of a batch into what the net reads; compiled together with it.
    labels : (n,) long
    answers : AnswerSource
    augmentation : Augmentation or None
        What is done to pictures in training.
    normalise : (mean, std) of each colour, or None
        None where the items are no pictures.
    """

    prepare: nn.Module
    labels: Tensor
    answers: AnswerSource
    augmentation: Augmentation | None
    normalise: tuple[Tensor, Tensor] | None

    def __len__(self) -> int:
        return len(self.labels)

    def place(self, device: torch.device) -> None:
        """Make ready on a device."""
        self.labels = self.labels.to(device)
        self.prepare.to(device)
        self.answers.place(self.labels)
        if self.normalise is not None:
            self._paint = self.normalise[0].round().to(device=device, dtype=torch.uint8)

    @abstractmethod
    def batches(
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Piece = ALONE
    ) -> Iterator[Batch]:
        """Yield an epoch's batches from number `start` on; the same for one epoch at every call."""

    @abstractmethod
    def in_order(self, batch_size: int, *, piece: Piece = ALONE) -> Iterator[Tensor]:
        """Yield the inputs of this process's run of items, unchanged and in order.

        The last runs are filled up with the last item, so that all are equally long.
        """

    def verdicts(self) -> Verdicts:
        """Return the verdicts on all items, as the first epoch has them, for an evaluation."""
        return self.answers.at(0)

    def check_sums(self) -> dict[str, int]:
        """Return a number for each thing that it feeds, by name: two feeds with equal ones feed the same."""
        return {"the labels": check_sum(self.labels), "the answers": self.answers.check_sum()}

    def steps(self, batch_size: int, *, drop_last: bool) -> int:
        """Return how many batches an epoch has.

        A feed with fewer items than a batch still has one, of all of them.
        """
        full, rest = divmod(len(self), batch_size)
        return max(1, full if drop_last or not rest else full + 1)

    def close(self) -> None:
        """Stop what the answers run beside the loop."""
        self.answers.close()


def batch_slices(order: Tensor, *, batch_size: int, n_steps: int, start: int) -> Iterator[slice]:
    """Yield where each batch lies in an order of items.

    >>> list(batch_slices(torch.arange(5), batch_size=2, n_steps=3, start=1))
    [slice(2, 4, None), slice(4, 5, None)]
    """
    for step in range(start, n_steps):
        yield slice(step * batch_size, min((step + 1) * batch_size, len(order)))


def run_of(n_items: int, *, piece: Piece) -> Tensor:
    """Return one process's run of the items in order, filled up with the last one to equal length.

    >>> run_of(5, piece=Piece(1, 2)).tolist()
    [3, 4, 4]
    """
    length = -(-n_items // piece.world)
    return torch.arange(piece.rank * length, (piece.rank + 1) * length).clamp(max=n_items - 1)


def check_shares(batch_size: int, *, world: int) -> None:
    """Refuse a batch that leaves a process without an item."""
    if batch_size < world:
        raise InputError(
            f"must be at least {world}, an item for each process, got {batch_size}.", argument="batch_size"
        )


def share_of(whole: slice, piece: Piece) -> slice:
    """Return where one process's share of a batch lies: as equal as can be, together the whole, in order.

    >>> share_of(slice(10, 15), Piece(0, 2)), share_of(slice(10, 15), Piece(1, 2))
    (slice(10, 13, None), slice(13, 15, None))
    """
    least, more = divmod(whole.stop - whole.start, piece.world)
    first = whole.start + piece.rank * least + min(piece.rank, more)
    return slice(first, first + least + (piece.rank < more))
