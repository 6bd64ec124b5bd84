"""What people say of CIFAR-10's pictures: three labels each (CIFAR-10N) and about 51 votes each (CIFAR-10H)."""

from os import PathLike

import numpy as np

from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.datasets.catalog import described
from defero.datasets.files import require
from defero.datasets.loaders.cifar10 import CLASSES, cifar10_labels
from defero.datasets.storage.cache import data_folder
from defero.datasets.storage.restricted_pickle import read_object_npy
from defero.datasets.values import VoteSet

_PREFIX = "probs_"


def cifar10n(*, folder: str | PathLike[str] | None = None) -> ExpertTable:
    """Load CIFAR-10N: the training pictures' labels and three human answers to each, 50,000 x 3.

    Many people stand behind each of the three columns, and who they were carries no signal: take the columns for three
    exchangeable annotators. Rows are those of `cifar10(part="train")`, which has the pictures; there are no features.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    if require(root, CIFAR10N) == "compact":
        with np.load(root / "cifar10n" / "cifar10n.npz") as arrays:
            truth, answers = arrays["clean"], arrays["labels"]
    else:
        stored = read_object_npy(root / "cifar10n" / "CIFAR-10_human.npy")
        names = ["clean_label", *(f"random_label{number}" for number in (1, 2, 3))]
        if not isinstance(stored, dict) or any(name not in stored for name in names):
            raise InputError(f"CIFAR-10_human.npy must hold {', '.join(names)}.")
        truth, answers = stored[names[0]], np.column_stack([stored[name] for name in names[1:]])
    experts = [f"annotator_{number}" for number in (1, 2, 3)]
    return ExpertTable(np.asarray(truth, dtype=np.int64), np.asarray(answers, dtype=np.int64), expert_names=experts)


def cifar10h(*, folder: str | PathLike[str] | None = None) -> VoteSet:
    """Load CIFAR-10H: how many people chose each class, for the 10,000 test pictures.

    Our form also has the outputs of 11 networks on the same pictures, stored in half precision (`network_proba`). The
    source's form has neither these nor the labels, which then come from CIFAR-10 itself.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    root = data_folder(folder)
    if require(root, CIFAR10H) == "source":
        counts = np.load(root / "cifar10h" / "cifar10h-counts.npy", allow_pickle=False)
        return VoteSet(cifar10_labels(folder=root, part="test"), counts.astype(np.int64), CLASSES)
    with np.load(root / "cifar10h" / "cifar10h.npz") as arrays:
        networks = {
            name.removeprefix(_PREFIX): arrays[name].astype(np.float64)
            for name in arrays.files
            if name.startswith(_PREFIX)
        }
        labels, counts = arrays["y_test"].astype(np.int64), arrays["counts"].astype(np.int64)
    return VoteSet(labels, counts, CLASSES, network_proba=networks)


def cifar10h_networks(*, folder: str | PathLike[str] | None = None) -> ExpertTable:
    """Load the networks of CIFAR-10H as experts: their most probable class for each of the 10,000 test pictures."""
    votes = cifar10h(folder=folder)
    if not votes.network_proba:
        raise InputError("the networks' outputs are in our form of CIFAR-10H alone (cifar10h/cifar10h.npz).")
    answers = np.column_stack([proba.argmax(axis=1) for proba in votes.network_proba.values()])
    return ExpertTable(votes.labels, answers, expert_names=list(votes.network_proba))


CIFAR10N = described("cifar10n", cifar10n)

CIFAR10H = described("cifar10h", cifar10h)
