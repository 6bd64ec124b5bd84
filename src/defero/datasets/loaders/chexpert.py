"""Chest films read by radiologists and by networks."""

from os import PathLike

import numpy as np
import pandas as pd

from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.datasets.catalog import DataFile, Dataset, register_dataset
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


_SOURCE = (
    "https://raw.githubusercontent.com/rajpurkarlab/cheXpert-test-set-labels/a930205df292983a4bc9362ea80847e3e41f6857"
)

# Folder in the repository -> file -> the source's own sha256. On disk a name keeps its folders, joined by "__".
_FILES = {
    "example_models/decisions/standard": {
        "drnet_decisions.csv": "ccb318c84c13c80403bfff30e3c766b7e609c08fdff7790eca69e05686f7358e",
        "ngango2_decisions.csv": "103f760d9764cfd413e32bc8996d4885f0670a97600b732bb26adc849a30966c",
        "ngango3_decisions.csv": "f2021d2e6037de42579b445369833c99a0a648d9234d800f1d7055a054acbbdc",
        "sensexdr_decisions.csv": "6066276a918ef4e51e2fe3af53339c761c4533628054025f65d3a359004d0910",
        "uestc_decisions.csv": "1403adb44a69ebf362a7e6a5b34c49a5e56daca63069d80b5938dc7afd96cde4",
    },
    "decisions/standard": {
        "ihil_decisions.csv": "21727c399ad87c1ccbef7f1a3d95789a92d490c56a20bbb3efafb3dd1c572901",
        "jfaboy_decisions.csv": "3424839b48e449448287285ae19eea2a743ad9e85cb4a5bfa20ef30496e8e171",
        "yww211_decisions.csv": "f79493b3c908fec8f7b216ff33ee6c0f031f46cfa90b59e687e0579d1fb26ccc",
    },
    "predictions/standard": {
        "desmond_predictions.csv": "62e46bfefe05b8fe3a7c44f5c090a858d9790adf819a26583a666fea69473ba2",
        "jfaboy_predictions.csv": "0d81be5c2d2fdbdbaf1db763657f2c2d4d9ad5629f682c100818794a4fd85425",
    },
    "example_models/predictions/standard": {
        "drnet_predictions.csv": "23e41262846ddef569182e1be90ed43a33694df772c3c97061545ee6af6e666d",
        "hieupham_predictions.csv": "2a4bcc8e29aabd358b74b3205bf4ba3608ab69ac9a865f270d3025f38a096c9f",
        "ihil_predictions.csv": "f9e308f444711e8ae7cc13bb3911c965bacffc0bb5c2148644917d7f3aace2ce",
        "ngango2_predictions.csv": "b728649449c8e60a9d120bd415cf4b6c8579600667fe90ec72a2f352f8d5cf1d",
        "ngango3_predictions.csv": "ad35c236742b81d4301203b4167771de76bf34a793251566ac33aa033a52e522",
        "sensexdr_predictions.csv": "ad07189095c6f758ca93bc1648ad6030638a6c631e3f7bd479606c76cb38a658",
        "uestc_predictions.csv": "3998f8948c602dbdfe9d4f17bc37336120f501b0167845487a516c23bd217e7b",
        "yww211_predictions.csv": "18645ac8ab3e58d2f22ba1109f8a0fff99fbc0c5208dd7a38a0cb68c6123e38f",
    },
    "": {
        "groundtruth.csv": "307325997d3260cf2a08b7d6314bb5707391fa255cf83cd9427f6d49b15867c0",
    },
    "radiologists/benchmark_radiologists": {
        "bc4.csv": "e38937132ea0b2f179ad39c72023966b9a93f5d0621537b85f10be3e45076c17",
        "bc6.csv": "d16737506085753bc2e074bf6aaedada60cfb94f1a43f4fc54064607e2ad9dce",
        "bc8.csv": "90bd6f9454d4904d248c214d57a62f613b7d481e7d9f0381f5032232a316a7b9",
    },
    "radiologists/groundtruth": {
        "bc1_gt.csv": "a1087d2c9018484d608f912dd655e11c71ea0cffc25534b34da90aba4c3ed142",
        "bc2_gt.csv": "8cc9f67bb376e327dd9623f0417bdd638b421b5ec1eacf7a905f7bba33c3b5ef",
        "bc3_gt.csv": "eea7cfcca39732332b5d6214a903d3629c29a116c580204f334d51ac124f20d5",
        "bc5_gt.csv": "bceae48c80e8d5a35abceb860c2ae734059874b5ac24c0a3c0d208d745b01eeb",
        "bc7_gt.csv": "21b33ceec9951e9b0b3faf113552d1be26aac1ab485863f808025d8c6db27dec",
    },
}


def _name_on_disk(folder: str, name: str) -> str:
    """Return the name on disk of a file of the repository.

    >>> _name_on_disk("radiologists/benchmark_radiologists", "bc4.csv")
    'radiologists__benchmark_radiologists__bc4.csv'
    """
    networks = "example_models" if folder.startswith(("decisions", "predictions")) else ""
    return "/".join(part for part in (networks, folder, name) if part).replace("/", "__")


CHEXPERT = Dataset(
    name="chexpert-readers",
    title="CheXpert test set labels",
    what="500 chest films read for 14 findings by 3 radiologists, and for 5 of them by networks; 5 more are the truth",
    licence="none stated by the repository",
    citation="Irvin, J. et al. (2019). CheXpert. AAAI. Rajpurkar, P. et al. (2021). CheXternal. CHIL.",
    homepage="https://github.com/rajpurkarlab/cheXpert-test-set-labels",
    files=tuple(
        DataFile(
            f"chexpert_test_readers/{_name_on_disk(folder, name)}",
            sha256=sha256,
            url="/".join(part for part in (_SOURCE, folder, name) if part),
        )
        for folder, files in _FILES.items()
        for name, sha256 in files.items()
    ),
    load=chexpert_tables,
    by_hand="the csv files, their folders joined by __ as in radiologists__groundtruth__bc1_gt.csv, into "
    "chexpert_test_readers/",
)
register_dataset(CHEXPERT)
