"""Small sets live on the device: pictures as bytes, or rows of numbers. A batch is an index, and nothing waits."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.training.deep.answer_source import AnswerSource
from defero.training.deep.feeds.feed import ALONE, Batch, Feed, Piece, batch_slices, check_shares, run_of, share_of
from defero.training.deep.feeds.pictures import Augmentation, Normalised, colours, cropped, draw_crops
from defero.training.deep.run.seeds import check_sum, derived_seed


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
        self.inputs = inputs
        self.labels = labels
        self.answers = answers
        self.seed = seed
        self.augmentation = augmentation
        self.normalise = (normalise or colours(inputs)) if pictures else None
        self.prepare: nn.Module = nn.Identity() if self.normalise is None else Normalised(*self.normalise)

    def place(self, device: torch.device) -> None:
        """Move everything to the device."""
        super().place(device)
        self.inputs = self.inputs.to(device)

    def batches(
        self, epoch: int, *, batch_size: int, drop_last: bool, start: int = 0, piece: Piece = ALONE
    ) -> Iterator[Batch]:
        """Yield an epoch's batches; all its random numbers are drawn at once, before the first of them."""
        check_shares(batch_size, world=piece.world)
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
        n_steps = self.steps(batch_size, drop_last=drop_last)
        for whole in batch_slices(order, batch_size=batch_size, n_steps=n_steps, start=start):
            where = share_of(whole, piece)
            rows = order[where]
            if crops is None:
                inputs = self.inputs[rows]
            else:
                inputs = cropped(self.inputs, rows, crops.part(where), paint=self._paint)
            yield Batch(inputs, self.labels[rows], verdicts.take(rows), whole.stop - whole.start)

    def in_order(self, batch_size: int, *, piece: Piece = ALONE) -> Iterator[Tensor]:
        """Yield the inputs in order, as they are."""
        for rows in run_of(len(self), piece=piece).to(self.labels.device).split(batch_size):
            yield self.inputs[rows]

    def check_sums(self) -> dict[str, int]:
        """Return those of items, labels and answers."""
        return {"the items": check_sum(self.inputs), **super().check_sums()}
