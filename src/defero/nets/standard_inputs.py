"""From items as a user has them to what a net reads."""

import numpy as np
import torch
from torch import Tensor, nn

from defero.core.checks import FloatArray


class StandardInputs(nn.Module):
    """Centre and scale; pictures (n, h, w, c) become (n, c, h, w), in memory as they were.

    Parameters
    ----------
    center, scale : (d,) for vectors, (c,) for pictures
        Of shape (1,) they are the same for all numbers of an item.
    pictures : bool

    Examples
    --------
    >>> inputs = StandardInputs(np.array([1.0]), np.array([2.0]), pictures=True)
    >>> inputs(torch.full((1, 4, 5, 1), 5, dtype=torch.uint8)).shape
    torch.Size([1, 1, 4, 5])
    """

    center: Tensor
    scale: Tensor

    def __init__(self, center: FloatArray, scale: FloatArray, *, pictures: bool) -> None:
        super().__init__()
        self.pictures = pictures
        self.register_buffer("center", torch.from_numpy(np.asarray(center, dtype=np.float32)), persistent=False)
        self.register_buffer("scale", torch.from_numpy(np.asarray(scale, dtype=np.float32)), persistent=False)

    def forward(self, items: Tensor) -> Tensor:
        """Return (n, ...) numbers of single precision."""
        standard = (items.float() - self.center) / self.scale
        return standard.permute(0, 3, 1, 2) if self.pictures else standard
