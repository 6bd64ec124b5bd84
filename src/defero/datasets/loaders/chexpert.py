"""Chest films read by radiologists and by networks."""

from os import PathLike

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.datasets.catalog import described
from defero.datasets.files import require
from defero.datasets.storage.cache import data_folder

FINDINGS = (
    "No Finding",
    "Enlarged Cardiomediastinum",
    "Cardiomegaly",
    "Lung Opacity",
    "Lung Lesion",
    "Edema",
    "Consolidation",
    "Pneumonia",
    "Atelectasis",
    "Pneumothorax",
    "Pleural Effusion",
    "Pleural Other",
    "Fracture",
    "Support Devices",
)
READ_BY_NETWORKS = ("Cardiomegaly", "Edema", "Consolidation", "Atelectasis", "Pleural Effusion")
_READERS = ("bc4", "bc6", "bc8")
_DECIDING = ("drnet", "ihil", "jfaboy", "ngango2", "ngango3", "sensexdr", "uestc", "yww211")
_PREDICTING = ("desmond", "drnet", "hieupham", "ihil", "jfaboy", "ngango2", "ngango3", "sensexdr", "uestc", "yww211")


def chexpert_readers(finding: str, *, folder: str | PathLike[str] | None = None) -> ExpertTable:
    """Load 500 chest films with who sees one finding in them, 0 or 1.

    The truth is the majority of five radiologists who are not among the experts. Experts are three other radiologists
    and, for five of the 14 findings, the decisions of eight networks. The films themselves are not in the data:
    features are the probabilities of ten networks where there are any, else None.

    Parameters
    ----------
    finding : str
        One of `FINDINGS`.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    one_of("finding", finding, FINDINGS)
    return _table(finding, _read_all(folder))


def chexpert_tables(*, folder: str | PathLike[str] | None = None) -> dict[str, ExpertTable]:
    """Load one table for each of the 14 findings."""
    files = _read_all(folder)
    return {finding: _table(finding, files) for finding in FINDINGS}


def _table(finding: str, files: dict[str, pd.DataFrame]) -> ExpertTable:
    answers = {name: files[f"radiologists/{name}"][finding] for name in _READERS}
    features = None
    if finding in READ_BY_NETWORKS:
        answers |= {name: files[f"decisions/{name}"][finding] for name in _DECIDING}
        features = pd.DataFrame({name: files[f"predictions/{name}"][finding] for name in _PREDICTING})
    return ExpertTable(
        files["truth"][finding].to_numpy(dtype=np.int64),
        pd.DataFrame(answers).astype(np.int64),
        features=features,
        classes=[0, 1],
    )


def _read_all(folder: str | PathLike[str] | None) -> dict[str, pd.DataFrame]:
    """Read the truth, the readers and the networks, all in the truth's order of studies."""
    root = data_folder(folder)
    require(root, CHEXPERT)
    home = root / "chexpert_test_readers"
    paths = {"truth": home / "groundtruth.csv"}
    paths |= {f"radiologists/{name}": home / f"radiologists__benchmark_radiologists__{name}.csv" for name in _READERS}
    for kind, names in (("decisions", _DECIDING), ("predictions", _PREDICTING)):
        paths |= {f"{kind}/{name}": home / f"example_models__{kind}__standard__{name}_{kind}.csv" for name in names}
    files = {key: pd.read_csv(path).set_index("Study") for key, path in paths.items()}
    studies = files["truth"].index
    for key, table in files.items():
        if not table.index.is_unique or set(table.index) != set(studies):
            raise InputError(f"{paths[key]} must have one row for each of the {len(studies)} studies.")
    return {key: table.reindex(studies) for key, table in files.items()}


CHEXPERT = described("chexpert-readers", chexpert_tables)
