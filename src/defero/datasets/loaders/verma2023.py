"""The stored outputs of the paper that started this: where they are, and that they are whole."""

from os import PathLike
from pathlib import Path

from defero.datasets.catalog.entries_models import VERMA2023
from defero.datasets.catalog.presence import check_files
from defero.datasets.storage.cache import data_folder


def verma2023_outputs(*, folder: str | PathLike[str] | None = None) -> Path:
    """Return the folder of the stored outputs, after a check of all its files.

    `defero.papers.verma2023.stored_outputs` reads them.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    check_files(root, VERMA2023)
    return root / "verma2023_outputs"
