"""HAM10000 with its ten experts, trained for real: what figure 1 rests on.

Differences from the paper's runs, all on purpose: pictures of 160 x 120 instead of 224 x 224; pictures of one lesion
stay in one part, so no lesion of the test was seen in training; EfficientNet-Lite 0 with ImageNet's weights instead of
ResNet-34; pictures are moved and mirrored in training; the network expert is not told how the diagnosis was found
(dx_type), which gives away much of it, and its answers to the training pictures come from networks that did not see
them.
"""

from dataclasses import asdict, replace
from functools import lru_cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from defero.datasets import data_folder, split_groups
from defero.training import Augmentation, LoopSettings
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.pools.picture_sets import HAM10000_CLASSES, ham10000, ham10000_metadata
from defero_verma2023.runs.trainer import Trainer
from defero_verma2023.training.mixer_expert import MixerCases, MixerRecipe, answers_of_mixer
from defero_verma2023.training.picture_parts import PARTS, PictureParts, Stock, first_rows, on_device
from defero_verma2023.training.picture_training import QUICK, PictureRecipe, picture_trainer

SHARES = (0.6375, 0.2125, 0.15)
"""Training, validation and test, as the paper's runs had it."""
SIZE = (160, 120)
"""Width and height of the pictures."""
FULL = PictureRecipe(
    "efficientnet-lite0",
    LoopSettings(
        epochs=8,
        batch_size=128,
        optimiser="adamw",
        learning_rate=1.5e-3,
        weight_decay=0.05,
        ema_decay=0.99,
        compile_part="trunk",
    ),
    Augmentation(pad=12, flip=True, cutout=32),
)
MIXER = MixerRecipe()
N_MIXER_FOLDS = 3
QUICK_DATA: dict[str, Any] = {
    "size": (40, 30),
    "mixer": MixerRecipe(patch=10, width=32, depth=2, dropout=0.1, epochs=10, batch_size=64),
    "limit": 400,
}


def load(
    seed: int,
    *,
    folder: str | PathLike[str] | None = None,
    keep: Path | None = None,
    size: tuple[int, int] = SIZE,
    mixer: MixerRecipe = MIXER,
    limit: int | None = None,
) -> PictureParts:
    """Read the pictures of patients whose age is known, and split them by lesion.

    Parameters
    ----------
    seed : int
        Of the split, and of the network expert.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    keep : Path, optional
        A folder for the network expert's answers and for the one classifier's features, so that other processes need
        not train them again.
    size : (width, height)
    mixer : MixerRecipe
        Of the network expert.
    limit : int, optional
        Keep so many pictures of each part at most, to try it out.
    """
    root = str(data_folder(folder))
    labels, lesions, patients = _known_patients(root)
    chosen = split_groups(lesions, labels, SHARES, rng=np.random.default_rng(seed))
    rows = first_rows(dict(zip(PARTS, chosen, strict=True)), limit)
    if limit is not None:
        used = np.sort(np.concatenate([rows[part] for part in PARTS]))
        labels, lesions, patients = labels[used], lesions[used], patients[used]
        rows = {part: np.searchsorted(used, own) for part, own in rows.items()}
        pictures = _pictures(root, size, tuple(used.tolist()))
    else:
        pictures = _pictures(root, size, None)
    stock = Stock(keep)
    parts = PictureParts("ham10000", pictures, labels, len(HAM10000_CLASSES), rows, seed, lesions, stock=stock)

    def recorded() -> IntArray:
        facts = asdict(mixer) | {"size": size, "seed": seed, "n": len(labels), "folds": N_MIXER_FOLDS}
        return stock.take(f"ham10000-network-{seed}", facts, lambda: _network_expert(parts, patients, mixer))["answers"]

    return replace(parts, read={"recorded": recorded})


def trainer(*, quick: bool) -> Trainer:
    """Return how the teams of this data set are trained; quick: a small net from scratch on few pictures."""
    small = QUICK_DATA if quick else {}
    return picture_trainer(lambda seed, protocol, keep: load(seed, keep=keep, **small), QUICK if quick else FULL)


def _network_expert(parts: PictureParts, patients: FloatArray, recipe: MixerRecipe) -> dict[str, np.ndarray]:
    cases = MixerCases(parts.pictures, patients, parts.labels, parts.n_classes)
    folds = parts.folds("train", N_MIXER_FOLDS, rng=np.random.default_rng([parts.seed, 3_000]))
    mixer_answers = answers_of_mixer(cases, parts.rows["train"], folds, recipe=recipe, seed=parts.seed)
    return {"answers": mixer_answers.answers, "seconds": np.array(mixer_answers.seconds)}


def _known_patients(root: str) -> tuple[IntArray, np.ndarray, FloatArray]:
    """Return labels, lesions, and age and sex of the pictures whose patient's age is known."""
    table = ham10000_metadata(folder=root)
    table = table[table["age"].notna()]
    sex = table["sex"].map({"female": -1.0, "male": 1.0}).fillna(0.0)
    patients = np.stack([table["age"].to_numpy(dtype=np.float64), sex.to_numpy(dtype=np.float64)], axis=1)
    return table["label"].to_numpy(copy=True), table["lesion_id"].to_numpy(str), patients


@lru_cache(maxsize=1)
def _pictures(root: str, size: tuple[int, int], used: tuple[int, ...] | None) -> Tensor:
    """Decode the pictures whose patient's age is known, or some of them; once in a process."""
    table = ham10000_metadata(folder=root)
    names = table["image_id"][table["age"].notna()].to_numpy(str)
    if used is not None:
        names = names[list(used)]
    return on_device(torch.from_numpy(np.array(ham10000(folder=root, size=size, image_ids=names.tolist()).images)))
