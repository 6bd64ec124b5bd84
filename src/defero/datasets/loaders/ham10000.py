"""HAM10000: skin lesions, seven diagnoses, and what is known of each patient."""

import tarfile
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from defero.core.errors import InputError
from defero.datasets.catalog import described
from defero.datasets.files import how_to_get, matches, read_picture
from defero.datasets.storage.cache import data_folder
from defero.datasets.values import ImageSet, Pictures

HAM10000_CLASSES = ("bkl", "df", "mel", "nv", "vasc", "akiec", "bcc")
"""Codes of the diagnoses, in the order of the labels."""

_COLUMNS = ["image_id", "lesion_id", "dx", "dx_type", "age", "sex", "localization"]


def ham10000_metadata(*, folder: str | PathLike[str] | None = None) -> pd.DataFrame:
    """Load what is known of each picture, one row each, by the picture's name; no picture is read.

    Columns: image_id, lesion_id (the group to split by: a lesion has up to six pictures), dx, dx_type (how the
    diagnosis was found), age, sex, localization, and `label`, the class number 0..6 of the diagnosis in the order of
    `defero.datasets.HAM10000_CLASSES`.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    files = [path for path in matches(root, "ham10000/HAM10000_metadata*") if path.is_file()]
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
    root: Path, rows: dict[str, int], put: Callable[[int, Pictures], None], *, size: tuple[int, int]
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
        for path in matches(root, "ham10000/**/ISIC_*.jpg"):
            if path.stem in missing:
                put(rows[path.stem], read_picture(path, size=size))
                missing.discard(path.stem)
    if missing:
        raise InputError(f"{len(missing)} pictures are missing, {min(missing)}.jpg first; {how_to_get(root, HAM10000)}")


HAM10000 = described("ham10000", ham10000)
