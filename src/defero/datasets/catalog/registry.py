"""The named data sets: which there are, and how a name finds its entry and its loader."""

import importlib
import os
from difflib import get_close_matches
from typing import Any

from defero.core.errors import InputError
from defero.datasets.catalog.entries_crowds import CROWDS
from defero.datasets.catalog.entries_images import IMAGES
from defero.datasets.catalog.entries_models import MODELS
from defero.datasets.catalog.entry import Dataset

DATASETS: dict[str, Dataset] = {entry.name: entry for entry in (*IMAGES, *CROWDS, *MODELS)}


def dataset_names() -> tuple[str, ...]:
    """Return the names of all data sets.

    >>> "cifar10" in dataset_names()
    True
    """
    return tuple(DATASETS)


def find_dataset(name: str) -> Dataset:
    """Return the entry of a data set.

    >>> find_dataset("cifar10h").licence
    'CC BY-NC-SA 4.0'
    """
    if name in DATASETS:
        return DATASETS[name]
    close = get_close_matches(name.lower().replace("_", "-"), DATASETS, n=1, cutoff=0.5)
    guess = f"did you mean {close[0]}?" if close else f"there are {', '.join(DATASETS)}."
    raise InputError(f"there is no data set {name!r}; {guess}")


def load_dataset(name: str, *, folder: str | os.PathLike[str] | None = None) -> Any:
    """Load a data set that is in the data folder, as its own loader does with its defaults.

    Parameters
    ----------
    name : str
        As in `dataset_names()`.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.

    Returns
    -------
    ExpertTable, ImageSet, VoteSet, AgreementSet, CorrectnessTable, or a dict of tables
        Whatever the loader of this data set returns; `defero datasets info NAME` names it.
    """
    module, function = find_dataset(name).loader.split(":")
    return getattr(importlib.import_module(f"defero.datasets.loaders.{module}"), function)(folder=folder)
