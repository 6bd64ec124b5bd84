"""What a loop is fed with: batches in a drawn order that can be drawn again, from the device or from files."""

import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.training.answer_source import AnswerSource, check_sum, derived_seed
from defero.training.pictures import Augmentation, Normalised, colours, cropped, draw_crops
from defero.training.verdicts import Verdicts


class Rank(NamedTuple):
    """Which of several processes this one is."""

    rank: int = 0
    world: int = 1


ALONE = Rank()


class BatchShare(NamedTuple):
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

    def __init__(
        self,
        labels: Tensor,
        answers: AnswerSource,
        *,
        seed: int,
        augmentation: Augmentation | None,
        normalise: tuple[Tensor, Tensor] | None,
    ) -> None:
        self.labels, self.answers, self.seed = labels, answers, seed
        self.augmentation, self.normalise = augmentation, normalise
        self.prepare: nn.Module = nn.Identity() if normalise is None else Normalised(*normalise)

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
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Rank = ALONE
    ) -> Iterator[BatchShare]:
        """Yield an epoch's batches from number `start` on; the same for one epoch at every call."""

    @abstractmethod
    def in_order(self, batch_size: int, *, piece: Rank = ALONE) -> Iterator[Tensor]:
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

    def shares(
        self, batch_size: int, *, drop_last: bool, start: int = 0, piece: Rank = ALONE
    ) -> Iterator[tuple[slice, slice]]:
        """Yield where each batch lies in an epoch's order, and where this process's share of it."""
        if batch_size < piece.world:
            raise InputError(
                f"must be at least {piece.world}, an item for each process, got {batch_size}.", argument="batch_size"
            )
        for step in range(start, self.steps(batch_size, drop_last=drop_last)):
            whole = slice(step * batch_size, min((step + 1) * batch_size, len(self)))
            yield whole, share_of(whole, piece)


def run_of(n_items: int, *, piece: Rank) -> Tensor:
    """Return one process's run of the items in order, filled up with the last one to equal length.

    >>> run_of(5, piece=Rank(1, 2)).tolist()
    [3, 4, 4]
    """
    length = -(-n_items // piece.world)
    return torch.arange(piece.rank * length, (piece.rank + 1) * length).clamp(max=n_items - 1)


def share_of(whole: slice, piece: Rank) -> slice:
    """Return where one process's share of a batch lies: as equal as can be, together the whole, in order.

    >>> share_of(slice(10, 15), Rank(0, 2)), share_of(slice(10, 15), Rank(1, 2))
    (slice(10, 13, None), slice(13, 15, None))
    """
    least, more = divmod(whole.stop - whole.start, piece.world)
    first = whole.start + piece.rank * least + min(piece.rank, more)
    return slice(first, first + least + (piece.rank < more))


class DeviceFeed(Feed):
    """Items as one tensor on the device, in an order drawn anew for every epoch.

    Parameters
    ----------
    inputs : (n, ...) tensor
        Rows of numbers, or pictures (n, h, w, c) as bytes.
    labels : (n,) class numbers
    answers : AnswerSource
    seed : int
        Order and crops of epoch e come from (seed, e) alone.
    augmentation : Augmentation, optional
        For pictures in training.
    normalise : (mean, std), optional
        Of each colour on the scale 0..255; those of these pictures by default. A held-out feed takes those of the
        training pictures: `normalise=train.normalise`.

    Examples
    --------
    >>> from defero.training import FixedAnswers, Verdicts
    >>> labels = torch.arange(6) % 2
    >>> answers = FixedAnswers(Verdicts(torch.ones(6, 1, dtype=torch.bool)))
    >>> feed = DeviceFeed(torch.zeros(6, 4), labels, answers, seed=0)
    >>> feed.place(torch.device("cpu"))
    >>> [len(batch.labels) for batch in feed.batches(0, batch_size=4, drop_last=False)]
    [4, 2]
    """

    def __init__(
        self,
        inputs: Tensor,
        labels: Tensor,
        answers: AnswerSource,
        *,
        seed: int,
        augmentation: Augmentation | None = None,
        normalise: tuple[Tensor, Tensor] | None = None,
    ) -> None:
        if len(inputs) != len(labels) or not len(labels):
            raise InputError(
                f"must have one row per label, at least one, got {len(inputs)} for {len(labels)} labels.",
                argument="inputs",
            )
        pictures = inputs.dtype == torch.uint8
        if pictures and inputs.ndim != 4:
            raise InputError(
                f": pictures must be bytes (n, height, width, colours), got shape {tuple(inputs.shape)}.",
                argument="inputs",
            )
        if augmentation is not None and not pictures:
            raise InputError(f"is for pictures of dtype uint8, got inputs of {inputs.dtype}.", argument="augmentation")
        colour = (normalise or colours(inputs)) if pictures else None
        super().__init__(labels, answers, seed=seed, augmentation=augmentation, normalise=colour)
        self.inputs = inputs

    def place(self, device: torch.device) -> None:
        """Move everything to the device."""
        super().place(device)
        self.inputs = self.inputs.to(device)

    def batches(
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Rank = ALONE
    ) -> Iterator[BatchShare]:
        """Yield an epoch's batches; all its random numbers are drawn at once, before the first of them."""
        shares = self.shares(batch_size, drop_last=drop_last, start=start, piece=piece)
        device = self.labels.device
        generator = torch.Generator(device).manual_seed(derived_seed(self.seed, epoch))
        order = torch.randperm(len(self), generator=generator, device=device)
        verdicts = self.answers.at(epoch)
        crops = None
        if self.augmentation is not None:
            height, width = self.inputs.shape[1:3]
            crops = draw_crops(
                len(self), height=height, width=width, augmentation=self.augmentation, generator=generator
            )
        for whole, where in shares:
            rows = order[where]
            if crops is None:
                inputs = self.inputs[rows]
            else:
                inputs = cropped(self.inputs, rows, crops.part(where), paint=self._paint)
            yield BatchShare(inputs, self.labels[rows], verdicts.take(rows), whole.stop - whole.start)

    def in_order(self, batch_size: int, *, piece: Rank = ALONE) -> Iterator[Tensor]:
        """Yield the inputs in order, as they are."""
        for rows in run_of(len(self), piece=piece).to(self.labels.device).split(batch_size):
            yield self.inputs[rows]

    def check_sums(self) -> dict[str, int]:
        """Return those of items, labels and answers."""
        return {"the items": check_sum(self.inputs), **super().check_sums()}


USUAL_COLOURS = torch.tensor([123.675, 116.28, 103.53]), torch.tensor([58.395, 57.12, 57.375])
"""Mean and spread of ImageNet's colours, which nets that were trained on it expect."""


class DiskFeed(Feed):
    """Pictures in files.

    Parameters
    ----------
    files : PictureFiles
    labels : (n,) class numbers
    answers : AnswerSource
    seed : int
    workers : int
        Processes that read; 0 reads in this one.
    augmentation : Augmentation, optional
    normalise : (mean, std)
        Of each colour on the scale 0..255; ImageNet's by default.
    """

    def __init__(
        self,
        files: PictureFiles,
        labels: Tensor,
        answers: AnswerSource,
        *,
        seed: int,
        workers: int = 4,
        augmentation: Augmentation | None = None,
        normalise: tuple[Tensor, Tensor] = USUAL_COLOURS,
    ) -> None:
        if len(files) != len(labels) or not len(labels):
            raise InputError(
                f"must be one per label, at least one, got {len(files)} for {len(labels)} labels.", argument="files"
            )
        super().__init__(labels, answers, seed=seed, augmentation=augmentation, normalise=normalise)
        self.files, self.workers = files, workers

    def batches(
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Rank = ALONE
    ) -> Iterator[BatchShare]:
        """Yield an epoch's batches; the crops of a batch are drawn from (seed, epoch, number of the batch)."""
        shares = list(self.shares(batch_size, drop_last=drop_last, start=start, piece=piece))
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(derived_seed(self.seed, epoch)))
        verdicts = self.answers.at(epoch)
        read = self._read([order[where] for _, where in shares])
        for step, ((whole, where), pictures) in enumerate(zip(shares, read, strict=True), start=start):
            on_device = order[where].to(self.labels.device, non_blocking=True)
            inputs = self._augmented(pictures, (epoch, step), whole.stop - whole.start, where.start - whole.start)
            yield BatchShare(inputs, self.labels[on_device], verdicts.take(on_device), whole.stop - whole.start)

    def in_order(self, batch_size: int, *, piece: Rank = ALONE) -> Iterator[Tensor]:
        """Yield the pictures in order, as they are."""
        yield from self._read(list(run_of(len(self), piece=piece).split(batch_size)))

    def check_sums(self) -> dict[str, int]:
        """Return those of the files' names, the labels and the answers; the files themselves are not read for it."""
        names = [Path(path).name for path in self.files.paths]
        return {"the pictures": zlib.crc32(repr((self.files.size, names)).encode()), **super().check_sums()}

    def _read(self, batches: list[Tensor]) -> Iterator[Tensor]:
        """Read batches of rows, ahead of their use, and send them to the device."""
        device = self.labels.device
        loader: Any = DataLoader(
            _PictureReader(self.files),
            batch_size=None,
            sampler=[rows.numpy() for rows in batches],
            num_workers=min(self.workers, len(batches)),
            pin_memory=device.type == "cuda",
            prefetch_factor=4 if self.workers else None,
        )
        for pictures in loader:
            if isinstance(pictures, str):
                raise InputError(pictures)
            yield pictures.to(device, non_blocking=True)

    def _augmented(self, pictures: Tensor, place: tuple[int, int], n_together: int, first: int) -> Tensor:
        if self.augmentation is None:
            return pictures
        height, width = self.files.size
        generator = torch.Generator(pictures.device).manual_seed(derived_seed(self.seed, *place))
        # Drawn for the whole batch, of which this process has a part: one process or many, the crops are the same.
        crops = draw_crops(
            n_together, height=height, width=width, augmentation=self.augmentation, generator=generator
        ).part(slice(first, first + len(pictures)))
        return cropped(pictures, torch.arange(len(pictures), device=pictures.device), crops, paint=self._paint)


class _PictureReader(Dataset["Tensor | str"]):
    """Reads batches of pictures, (b, h, w, 3) bytes; what is wrong with a file comes back as a sentence."""

    def __init__(self, files: PictureFiles) -> None:
        self.files = files

    def __getitem__(self, rows: Any) -> "Tensor | str":
        try:
            return torch.from_numpy(self.files[rows])
        except InputError as error:
            return str(error)
