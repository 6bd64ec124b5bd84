"""From bytes to what a picture net reads."""

import torch
from torch import Tensor, nn


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
