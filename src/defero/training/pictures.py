"""Pictures as bytes: crops, flips and cut-outs of a batch by one index expression, and what a net reads of them."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from defero.core.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """What is done to pictures in training.

    Attributes
    ----------
    pad : int
        Pictures are moved by up to so many pixels each way; what comes in at the border is the picture mirrored
        (reflected without repeating the border).
    flip : bool
        Half of them are mirrored, left to right.
    cutout : int
        Side of a square that is painted over in the mean colour, around a pixel drawn anywhere; 0 paints none.
    """

    pad: int = 4
    flip: bool = True
    cutout: int = 0

    def __post_init__(self) -> None:
        for name, size in (("pad", self.pad), ("cutout", self.cutout)):
            if size < 0:
                raise InputError(f"must be at least 0, got {size}.", argument=name)


class Crops(NamedTuple):
    """For n pictures of h x w: which pixel to take, and whether to paint it over; by row (n, h) and column (n, w)."""

    rows: Tensor
    columns: Tensor
    painted_rows: Tensor | None = None
    painted_columns: Tensor | None = None

    def part(self, where: slice) -> "Crops":
        """Return those of some pictures."""
        painted = (None if part is None else part[where] for part in self[2:])
        return Crops(self.rows[where], self.columns[where], *painted)


def draw_crops(
    n_pictures: int, *, height: int, width: int, augmentation: Augmentation, generator: torch.Generator
) -> Crops:
    """Draw the crops of n pictures on the generator's device, an epoch at once.

    >>> crops = draw_crops(5, height=8, width=8, augmentation=Augmentation(pad=2), generator=torch.Generator())
    >>> crops.rows.shape, int(crops.rows.min()) >= 0, int(crops.rows.max()) < 8
    (torch.Size([5, 8]), True, True)
    """
    pad = augmentation.pad
    if pad >= min(height, width):
        raise InputError(f"must be smaller than the pictures, {height} x {width}, got {pad}.", argument="pad")
    device = generator.device

    def drawn(below: int) -> Tensor:
        return torch.randint(below, (n_pictures, 1), generator=generator, device=device)

    down, right, mirrored = drawn(2 * pad + 1), drawn(2 * pad + 1), drawn(2) == 1
    across = torch.arange(width, device=device)
    if augmentation.flip:
        across = torch.where(mirrored, across.flip(0), across)
    rows = _reflected(torch.arange(height, device=device) + down - pad, height)
    columns = _reflected(across + right - pad, width)
    if not augmentation.cutout:
        return Crops(rows, columns)
    first_row, first_column = drawn(height) - augmentation.cutout // 2, drawn(width) - augmentation.cutout // 2
    return Crops(
        rows,
        columns,
        _within(torch.arange(height, device=device), first_row, augmentation.cutout),
        _within(torch.arange(width, device=device), first_column, augmentation.cutout),
    )


def cropped(pictures: Tensor, items: Tensor, crops: Crops, *, paint: Tensor) -> Tensor:
    """Take the crops of some items out of all pictures, (n, h, w, c) to (b, h, w, c).

    Parameters
    ----------
    pictures : (n, h, w, c) uint8
    items : (b,) long
    crops : Crops of b pictures
    paint : (c,) uint8
        The colour of cut-outs.
    """
    batch = pictures[items[:, None, None], crops.rows[:, :, None], crops.columns[:, None, :]]
    if crops.painted_rows is None or crops.painted_columns is None:
        return batch
    painted = crops.painted_rows[:, :, None, None] & crops.painted_columns[:, None, :, None]
    return torch.where(painted, paint, batch)


def _reflected(place: Tensor, size: int) -> Tensor:
    """Mirror places outside 0..size-1 back inside, without repeating the border."""
    place = place.abs()
    return torch.minimum(place, 2 * (size - 1) - place)


def _within(place: Tensor, first: Tensor, length: int) -> Tensor:
    return (place >= first) & (place < first + length)


class Normalised(nn.Module):
    """Turn (b, h, w, c) bytes into (b, c, h, w) numbers, channels last in memory, each colour centred and scaled.

    Parameters
    ----------
    mean, std : (c,)
        Of each colour, on the scale 0..255.

    Examples
    --------
    >>> Normalised(torch.tensor([1.0]), torch.tensor([2.0]))(torch.tensor([[[[5]]]], dtype=torch.uint8)).item()
    2.0
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean.float(), persistent=False)
        self.register_buffer("scale", 1 / std.float(), persistent=False)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return the numbers."""
        return ((pictures - self.mean) * self.scale).permute(0, 3, 1, 2)


def colours(pictures: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of each colour, (c,) each, of (n, h, w, c) bytes.

    >>> mean, std = colours(torch.tensor([[[[0], [4]]]], dtype=torch.uint8))
    >>> mean.item(), std.item()
    (2.0, 2.0)
    """
    n_colours = pictures.shape[-1]
    counts = torch.stack([pictures[..., c].reshape(-1).bincount(minlength=256) for c in range(n_colours)])
    share = counts.double() / counts.sum(dim=1, keepdim=True)
    level = torch.arange(256, dtype=torch.float64, device=pictures.device)
    mean = share @ level
    spread = (share @ level**2 - mean**2).clamp(min=0).sqrt()
    return mean.float(), torch.where(spread > 0, spread, 1.0).float()
