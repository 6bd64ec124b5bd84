"""Larger sets stay on the disk: workers read and resize, the device crops, the next batches are always under way."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.training.deep.answer_source import AnswerSource
from defero.training.deep.feeds.feed import ALONE, Batch, Feed, Piece, batch_slices, check_shares, run_of, share_of
from defero.training.deep.feeds.pictures import Augmentation, Normalised, cropped, draw_crops
from defero.training.deep.run.seeds import derived_seed

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
        self.files = files
        self.labels = labels
        self.answers = answers
        self.seed, self.workers = seed, workers
        self.augmentation = augmentation
        self.normalise = normalise
        self.prepare: nn.Module = Normalised(*normalise)

    def batches(
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Piece = ALONE
    ) -> Iterator[Batch]:
        """Yield an epoch's batches; the crops of a batch are drawn from (seed, epoch, number of the batch)."""
        check_shares(batch_size, world=piece.world)
        order = torch.randperm(len(self), generator=torch.Generator().manual_seed(derived_seed(self.seed, epoch)))
        verdicts = self.answers.at(epoch)
        n_steps = self.steps(batch_size, drop_last=drop_last)
        wholes = list(batch_slices(order, batch_size=batch_size, n_steps=n_steps, start=start))
        shares = [order[share_of(whole, piece)] for whole in wholes]
        for step, (whole, rows, pictures) in enumerate(
            zip(wholes, shares, self._read(shares), strict=True), start=start
        ):
            on_device = rows.to(self.labels.device, non_blocking=True)
            first = share_of(whole, piece).start - whole.start
            inputs = self._augmented(pictures, (epoch, step), whole.stop - whole.start, first)
            yield Batch(inputs, self.labels[on_device], verdicts.take(on_device), whole.stop - whole.start)

    def in_order(self, batch_size: int, *, piece: Piece = ALONE) -> Iterator[Tensor]:
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
            _Read(self.files),
            batch_sampler=[rows.tolist() for rows in batches],
            num_workers=min(self.workers, len(batches)),
            collate_fn=_stacked,
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


class _Read(Dataset["Tensor | str"]):
    """Reads one picture as (h, w, 3) bytes; what is wrong with a file comes back as a sentence."""

    def __init__(self, files: PictureFiles) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, item: int) -> "Tensor | str":
        try:
            return torch.from_numpy(self.files.read(item))
        except InputError as error:
            return str(error)


def _stacked(parts: "list[Tensor | str]") -> "Tensor | str":
    pictures: list[Tensor] = []
    for part in parts:
        if isinstance(part, str):
            return part
        pictures.append(part)
    return torch.stack(pictures)
