"""CIFAR-10 in three parts, the same for every seed."""

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from defero.datasets import cifar10
from defero_verma2023.arrays import IntArray
from defero_verma2023.training.picture_parts import Stock, stock_folder

N_VALIDATION = 5_000


@dataclass(frozen=True, eq=False)
class Cifar10Parts:
    """Pictures (n, 32, 32, 3) as bytes and labels (n,) of the three parts, and what is kept of one classifier."""

    pictures: dict[str, Tensor]
    labels: dict[str, IntArray]
    stock: Stock = field(default_factory=Stock)


def load_parts(*, limit: int | None = None) -> Cifar10Parts:
    """Read CIFAR-10 from the data folder: 45,000 training pictures, 5,000 for validation, the 10,000 of the test.

    One classifier is kept in the folder that the variable DEFERO_STOCK names, where there is one.

    Parameters
    ----------
    limit : int, optional
        Keep so many training pictures, and as many validation and test pictures at most.
    """
    loaded = cifar10()
    train, test = (np.flatnonzero(loaded.split == part) for part in ("train", "test"))
    train = np.random.default_rng(0).permutation(train)
    rows = {"train": train[:-N_VALIDATION][:limit], "validation": train[-N_VALIDATION:][:limit], "test": test[:limit]}
    return Cifar10Parts(
        {part: torch.from_numpy(loaded.images[chosen]) for part, chosen in rows.items()},
        {part: loaded.labels[chosen] for part, chosen in rows.items()},
        Stock(stock_folder()),
    )


@lru_cache(maxsize=1)
def shared_parts(limit: int | None, *, halve: bool) -> Cifar10Parts:
    """Return the parts, read once in a process, and with them what is kept of one classifier."""
    parts = load_parts(limit=limit)
    return replace(parts, pictures={part: halved(own) for part, own in parts.pictures.items()}) if halve else parts


def halved(pictures: Tensor) -> Tensor:
    """Return pictures (n, h, w, c) of half the height and width, each pixel the mean of four.

    >>> halved(torch.tensor([[[[0], [2]], [[4], [8]]]], dtype=torch.uint8)).tolist()
    [[[[4]]]]
    """
    n_items, height, width, colours = pictures.shape
    fours = pictures.view(n_items, height // 2, 2, width // 2, 2, colours)
    return fours.float().mean(dim=(2, 4)).round().to(torch.uint8)
