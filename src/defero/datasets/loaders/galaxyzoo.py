"""Galaxies: a small part of the Kaggle challenge, or its own files where the user has them."""

import zipfile
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.datasets.catalog import described
from defero.datasets.files import how_to_get, read_picture, require
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import ImageSet

_VOTES = ["Class1.1", "Class1.2"]


def galaxyzoo(
    *,
    folder: str | PathLike[str] | None = None,
    source: Literal["part", "kaggle"] | None = None,
    size: tuple[int, int] = (64, 64),
    n_images: int | None = None,
) -> ImageSet:
    """Load galaxies.

    `source="part"` gives 2,000 pictures of 64 x 64 with a binary label, half of each; what the two values mean is not
    documented, and the shares of votes are not in it. `source="kaggle"` reads the challenge's own files: the label is
    the larger of the first two answers to its first question (0 smooth, 1 features or disk; 0 where equal), and `votes`
    are their shares, which need not sum to 1; this needs Pillow.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    source : "part" or "kaggle", optional
        Default: what is in the folder, the part where both are.
    size : (width, height)
        For Kaggle's pictures, which are 424 x 424.
    n_images : int, optional
        The first so many in the order of their names, for Kaggle's pictures. Default: all 61,578.
    """
    root = data_folder(folder)
    if source is None:
        source = "part" if require(root, GALAXYZOO) == "compact" else "kaggle"
    if source == "part":
        return _part(root)
    one_of("source", source, ("part", "kaggle"))
    solutions = root / "galaxyzoo" / "training_solutions_rev1.csv"
    if not solutions.is_file():
        raise InputError(how_to_get(root, GALAXYZOO))
    table = pd.read_csv(solutions, usecols=["GalaxyID", *_VOTES])
    table = table.assign(name=table["GalaxyID"].astype(str)).sort_values("name", ignore_index=True).iloc[:n_images]
    images = np.stack([read_picture(content, size=size) for content in _kaggle_pictures(root, table["name"].tolist())])
    votes = table[_VOTES].to_numpy(dtype=np.float64)
    return ImageSet(
        images=images,
        labels=votes.argmax(axis=1).astype(np.int64),
        classes=("smooth", "features or disk"),
        split=np.full(len(table), "training"),
        ids=table["name"].to_numpy(str),
        votes=votes,
    )


def _part(root: Path) -> ImageSet:
    path = root / "galaxyzoo_2000" / "galaxyzoo_2000_64.npz"
    if not path.is_file():
        raise InputError(
            f"{path} is missing; with Kaggle's own files in {root / 'galaxyzoo'} pass source='kaggle', "
            f"else {how_to_get(root, GALAXYZOO)}"
        )
    with np.load(path) as arrays:
        return ImageSet(
            images=arrays["x"],
            labels=arrays["y"].astype(np.int64),
            classes=("0", "1"),
            split=arrays["split"],
            ids=arrays["galaxy_id"].astype(str),
        )


def _kaggle_pictures(root: Path, names: list[str]) -> Iterator[bytes]:
    """Give the pictures of these galaxies, from the zip or from its folder."""
    home = root / "galaxyzoo"
    archive = home / "images_training_rev1.zip"
    if (home / "images_training_rev1").is_dir():
        for name in names:
            path = home / "images_training_rev1" / f"{name}.jpg"
            if not path.is_file():
                raise InputError(f"{path} is missing, although training_solutions_rev1.csv names it.")
            yield path.read_bytes()
    elif archive.is_file():
        with zipfile.ZipFile(archive) as opened:
            places = {Path(place).stem: place for place in opened.namelist() if place.endswith(".jpg")}
            for name in names:
                if name not in places:
                    raise InputError(f"{archive} must hold {name}.jpg, which training_solutions_rev1.csv names.")
                yield opened.read(places[name])
    else:
        raise InputError(how_to_get(root, GALAXYZOO))


GALAXYZOO = described("galaxyzoo", galaxyzoo)
