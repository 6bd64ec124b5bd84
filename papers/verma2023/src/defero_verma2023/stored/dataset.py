"""The authors' stored outputs as a data set of defero: where they are, and that they are whole."""

from os import PathLike
from pathlib import Path

from defero.datasets import DataFile, Dataset, check_files, data_folder


def verma2023_outputs(*, folder: str | PathLike[str] | None = None) -> Path:
    """Return the folder of the stored outputs, after a check of all its files.

    `defero_verma2023.stored.outputs` reads them.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    check_files(root, VERMA2023)
    return root / "verma2023_outputs"


VERMA2023 = Dataset(
    name="verma2023-outputs",
    title="Stored outputs of learning to defer to multiple experts",
    what="285 runs of the paper's authors: network outputs, experts' answers, labels; for checking only",
    licence="none: for checking only, not to be passed on",
    citation="Verma, R., Barrejón, D., Nalisnick, E. (2023). Learning to defer to multiple experts: consistent "
    "surrogate losses, confidence calibration, and conformal ensembles. AISTATS.",
    homepage="https://github.com/rajevv/Multi_L2D",
    files=(
        DataFile(
            "verma2023_outputs/index.json",
            "compact",
            "25b90a146abb28950549cda891bb0c1397e2ed3f1570fa2dbf79174d6e39f5a2",
        ),
        DataFile(
            "verma2023_outputs/conformal_targets.csv",
            "compact",
            "3ffe972e94a3ae21fc260250baebcce52944326145cfb00df123f26a881dc913",
        ),
        DataFile(
            "verma2023_outputs/published_figures.csv",
            "compact",
            "b5679cd1b9e919e8fbf48c9a867c21048d358d296dd7568aa6c293f143689ee0",
        ),
    ),
    load=verma2023_outputs,
    by_hand="index.json and the npz files that it names into verma2023_outputs/",
    labels="none",
    tree="verma2023_outputs",
    tree_sha256="103517fe7540513fe25bc84fd211621ffd0c255b31df2fcdd19d37afa55f0e65",
)
