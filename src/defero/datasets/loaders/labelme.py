"""LabelMe scenes as VGG features, answered by people on Mechanical Turk."""

from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.options import one_of
from defero.core.table import ExpertTable
from defero.datasets.catalog import described
from defero.datasets.files import member_path, require
from defero.datasets.storage.cache import data_folder

_PARTS = {"train": 1000, "valid": 500, "test": 1188}


def labelme_crowd(
    *, folder: str | PathLike[str] | None = None, part: Literal["train", "valid", "test"] = "train"
) -> ExpertTable:
    """Load scenes of 8 classes with the answers of 59 people.

    Only the 1,000 pictures of the training part were answered, by 2.5 people each. Features are 512 numbers of a
    VGG network in our form, and whatever the source prepared, flattened, in its own.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    part : "train", "valid" or "test"
        Of 1,000, 500 and 1,188 pictures.
    """
    root = data_folder(folder)
    one_of("part", part, _PARTS)
    home = root / "labelme_crowd"
    if require(root, LABELME) == "compact":
        with np.load(home / "labelme.npz") as arrays:
            features, labels, answers = arrays[f"x_{part}"], arrays[f"y_{part}"], arrays["answers"]
    else:
        features, labels = _prepared(home, f"data_{part}_vgg16"), _prepared(home, f"labels_{part}")
        answers = _prepared(home, "answers")
        answers = answers[:, (answers >= 0).any(axis=0)]  # 18 of the 77 columns answered nothing
        features = features.reshape(len(features), -1)
    n_experts = answers.shape[1]
    return ExpertTable(
        labels.astype(np.int64),
        answers.astype(np.int64) if part == "train" else np.full((len(labels), n_experts), -1),
        features=features,
        classes=np.arange(8),
        expert_names=[f"annotator_{j}" for j in range(n_experts)],
    )


def _prepared(home: Path, name: str) -> NDArray[Any]:
    return np.load(str(member_path(home, f"LabelMe/prepared/{name}.npy")), allow_pickle=False)


LABELME = described("labelme-crowd", labelme_crowd)
