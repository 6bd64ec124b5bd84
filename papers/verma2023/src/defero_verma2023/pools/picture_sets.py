"""HAM10000 and Galaxy-Zoo as data sets of defero: skin lesions with their patients, and galaxies."""

import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from defero import InputError
from defero.datasets import DataFile, Dataset, ImageSet, data_folder, how_to_get, located, read_picture

HAM10000_CLASSES = ("bkl", "df", "mel", "nv", "vasc", "akiec", "bcc")
"""Codes of the diagnoses, in the order of the labels."""
_COLUMNS = ["image_id", "lesion_id", "dx", "dx_type", "age", "sex", "localization"]
_VOTES = ["Class1.1", "Class1.2"]


def ham10000_metadata(*, folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """Load what is known of each picture, one row each, by the picture's name; no picture is read.

    Columns: image_id, lesion_id (the group to split by: a lesion has up to six pictures), dx, dx_type (how the
    diagnosis was found), age, sex, localization, and `label`, the class number 0..6 of the diagnosis in the order of
    `HAM10000_CLASSES`.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    files = sorted(path for path in root.glob("ham10000/HAM10000_metadata*") if path.is_file())
    if not files:
        raise InputError(how_to_get(root, HAM10000))
    table = pd.read_csv(files[0])
    missing = [name for name in _COLUMNS if name not in table]
    if missing:
        raise InputError(f"{files[0]} must have the columns {', '.join(_COLUMNS)}; {missing[0]} is missing.")
    table = table[_COLUMNS].sort_values("image_id", ignore_index=True)
    codes = {name: number for number, name in enumerate(HAM10000_CLASSES)}
    return table.assign(label=table["dx"].map(codes).astype(np.int64))


def ham10000(
    *,
    folder: str | PathLike[str] | None = None,
    size: tuple[int, int] = (200, 150),
    image_ids: Sequence[str] | None = None,
) -> ImageSet:
    """Load the pictures with their diagnoses; `groups` are the lesions, and belong on one side of a split each.

    Read from our tar of 200 x 150 pictures or from the source's folders of 600 x 450 ones; pictures of another size are
    resized. Needs Pillow.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    size : (width, height)
    image_ids : names of pictures, optional
        These alone, in the order of the metadata. Default: all.
    """
    root = data_folder(folder)
    table = ham10000_metadata(folder=root)
    if image_ids is not None:
        unknown = sorted(set(image_ids) - set(table["image_id"]))
        if unknown:
            raise InputError(f"must be names of HAM10000, got {unknown[0]!r}.", argument="image_ids")
        table = table[table["image_id"].isin(set(image_ids))]
    images = np.empty((len(table), size[1], size[0], 3), dtype=np.uint8)
    _read_pictures(root, {name: row for row, name in enumerate(table["image_id"])}, images.__setitem__, size=size)
    images.flags.writeable = False
    return ImageSet(
        images=images,
        labels=table["label"].to_numpy(),
        classes=HAM10000_CLASSES,
        split=np.full(len(table), "all"),
        ids=table["image_id"].to_numpy(str),
        groups=table["lesion_id"].to_numpy(str),
    )


def _read_pictures(
    root: Path, rows: dict[str, int], put: Callable[[int, np.ndarray], Any], *, size: tuple[int, int]
) -> None:
    """Decode each wanted picture, from the tar in its own order or from files, and put it into its row."""
    missing = set(rows)
    archive = root / "ham10000" / "ham10000_200x150_jpg.tar"
    if archive.is_file():
        with tarfile.open(archive) as opened:
            for member in opened:
                name, content = Path(member.name).stem, opened.extractfile(member) if member.isreg() else None
                if content is not None and name in missing:
                    put(rows[name], read_picture(content.read(), size=size))
                    missing.discard(name)
    else:
        for path in sorted(root.glob("ham10000/**/ISIC_*.jpg")):
            if path.stem in missing:
                put(rows[path.stem], read_picture(path, size=size))
                missing.discard(path.stem)
    if missing:
        raise InputError(f"{len(missing)} pictures are missing, {min(missing)}.jpg first; {how_to_get(root, HAM10000)}")


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
        source = "part" if located("galaxyzoo", root)[1] else "kaggle"
    if source == "part":
        return _part(root)
    if source != "kaggle":
        raise InputError(f"must be 'part' or 'kaggle', got {source!r}.", argument="source")
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


HAM10000 = Dataset(
    name="ham10000",
    title="HAM10000",
    what="10,015 pictures of skin lesions in 7 diagnoses, with age, sex and site",
    licence="CC BY-NC 4.0",
    citation="Tschandl, P., Rosendahl, C., Kittler, H. (2018). The HAM10000 dataset, a large collection of multi-source"
    " dermatoscopic images of common pigmented skin lesions. Scientific Data 5, 180161.",
    homepage="https://doi.org/10.7910/DVN/DBW86T",
    files=(
        DataFile(
            "ham10000/HAM10000_metadata.csv",
            "compact",
            "26ef37e1e57498d250a851c955dd99836faa6fd2380625647634ba43de55c37d",
        ),
        DataFile(
            "ham10000/ham10000_200x150_jpg.tar",
            "compact",
            "540054712d89cc1af1de1898619137faf35113038fb5b457a5f6f213833fe22c",
        ),
        DataFile("ham10000/HAM10000_metadata*"),
        DataFile("ham10000/**/ISIC_*.jpg"),
    ),
    load=ham10000,
    by_hand="HAM10000_metadata.csv and the unpacked folders of ISIC_*.jpg into ham10000/",
)
GALAXYZOO = Dataset(
    name="galaxyzoo",
    title="Galaxy Zoo: the galaxy challenge",
    what="galaxies: 2,000 of 64 x 64 with a 0/1 label, or Kaggle's 61,578 with the shares of votes",
    licence="Kaggle competition terms",
    citation="Willett, K. et al. (2013). Galaxy Zoo 2. Monthly Notices of the Royal Astronomical Society 435, 2835.",
    homepage="https://www.kaggle.com/c/galaxy-zoo-the-galaxy-challenge",
    files=(
        DataFile(
            "galaxyzoo_2000/galaxyzoo_2000_64.npz",
            "compact",
            "40e0f44d5d362bea6bbe3bf878afbcf4553198c5a721fba426870402612273f2",
        ),
        DataFile("galaxyzoo/training_solutions_rev1.csv"),
        DataFile("galaxyzoo/images_training_rev1*"),
    ),
    load=galaxyzoo,
    by_hand="training_solutions_rev1.csv and images_training_rev1.zip, or its folder, into galaxyzoo/",
)
