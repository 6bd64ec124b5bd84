"""Galaxy-Zoo with ten experts around a stand-in human: as near to figure 1 as the galaxies that are to be had allow.

Limits: 2,000 pictures of 64 x 64 instead of 10,000 of 424 x 424; what the two classes mean is not documented; and the
people's votes are not in the data, so the "human" whom the experts copy is right on each galaxy alike with probability
0.765, that of the human label in the authors' runs. Real people err on hard galaxies: where the classifier errs, our
stand-in is more often right than they are, which flatters deferral.
"""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import interpolate

from defero.datasets import split_rows
from defero.training import Augmentation, LoopSettings
from defero_verma2023.arrays import IntArray
from defero_verma2023.pools.picture_sets import galaxyzoo
from defero_verma2023.pools.pool import Variant
from defero_verma2023.pools.stand_in import stand_in_human
from defero_verma2023.runs.trainer import Trainer
from defero_verma2023.training.picture_parts import PARTS, PictureParts, Stock, first_rows, on_device
from defero_verma2023.training.picture_training import QUICK, PictureRecipe, picture_trainer

SHARES = (0.6, 0.2, 0.2)
"""Training, validation and test."""
SIDE = 128
"""Pictures of 64 x 64 are enlarged to this: the net's weights were learned from large ones."""
N_PEOPLE = 10
FULL = PictureRecipe(
    "efficientnet-lite0",
    LoopSettings(
        epochs=12,
        batch_size=64,
        optimiser="adamw",
        learning_rate=1e-3,
        weight_decay=0.05,
        ema_decay=0.99,
        compile_part="trunk",
    ),
    Augmentation(pad=12, flip=True, cutout=0),
)
QUICK_DATA: dict[str, Any] = {"side": 32, "limit": 400}


def load(
    seed: int,
    *,
    protocol: Variant = "as_published",
    folder: str | PathLike[str] | None = None,
    keep: Path | None = None,
    side: int = SIDE,
    limit: int | None = None,
) -> PictureParts:
    """Read the galaxies, split them, and draw the stand-in's label of each.

    Parameters
    ----------
    seed : int
        Of the split and of the stand-in.
    protocol : "as_written" or "as_published"
        A stand-in of its own for each expert, or one for all of them.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    keep : Path, optional
        A folder for the one classifier's features, so that other processes need not train it again.
    side : int
        Pictures are enlarged to so many pixels a side.
    limit : int, optional
        Keep so many pictures of each part at most, to try it out.
    """
    loaded = galaxyzoo(folder=folder, source="part")
    labels = np.array(loaded.labels)
    chosen = split_rows(labels, SHARES, rng=np.random.default_rng(seed))
    people = _people(labels, protocol, seed=seed)
    return PictureParts(
        "galaxyzoo",
        on_device(_enlarged(loaded.images, side)),
        labels,
        loaded.n_classes,
        first_rows(dict(zip(PARTS, chosen, strict=True)), limit),
        seed,
        read={"human": lambda: people},
        stock=Stock(keep),
    )


def trainer(*, quick: bool) -> Trainer:
    """Return how the teams of this data set are trained; quick: a small net from scratch on few pictures."""
    small = QUICK_DATA if quick else {}
    return picture_trainer(
        lambda seed, protocol, keep: load(seed, protocol=protocol, keep=keep, **small), QUICK if quick else FULL
    )


def _people(labels: IntArray, protocol: Variant, *, seed: int) -> IntArray:
    rng = np.random.default_rng([seed, 4_000])
    if protocol == "as_published":
        return stand_in_human(labels, rng=rng)
    return np.stack([stand_in_human(labels, rng=rng) for _ in range(N_PEOPLE)], axis=1)


def _enlarged(images: np.ndarray, side: int) -> torch.Tensor:
    """Resize (n, h, w, 3) bytes to (n, side, side, 3)."""
    pictures = torch.from_numpy(np.array(images))
    if pictures.shape[1:3] == (side, side):
        return pictures
    pieces = [
        interpolate(pictures[start : start + 256].permute(0, 3, 1, 2).float(), size=(side, side), mode="bilinear")
        for start in range(0, len(pictures), 256)
    ]
    return torch.cat([piece.round().clamp(0, 255).to(torch.uint8).permute(0, 2, 3, 1) for piece in pieces]).contiguous()
