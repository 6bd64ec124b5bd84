"""CIFAR-10, from our mosaics or from its own batches, which give the same arrays; and what people say of its pictures.

Three labels each are CIFAR-10N, about 51 votes each CIFAR-10H.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from defero.core.checks.arrays import IntArray, one_of
from defero.core.errors import InputError
from defero.core.table import ExpertTable
from defero.datasets.catalog import DATASETS
from defero.datasets.files import how_to_get, located, member_path, read_picture
from defero.datasets.folder import Folder, data_folder
from defero.datasets.restricted_pickle import read_object_npy, read_pickle
from defero.datasets.values import ImageSet, Pictures, VoteSet

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
Part = Literal["train", "test", "all"]
_PIECES = {"train": tuple(f"train{number}" for number in range(1, 6)), "test": ("test",)}
_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE
_PREFIX = "probs_"


def cifar10(*, folder: Folder = None, part: Part = "all") -> ImageSet:
    """Load CIFAR-10, the training pictures before those of the test.

    Two forms are read: our mosaics (which need Pillow), and the source's Python batches (by a reader that runs nothing
    that is in them).

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    part : "train", "test" or "all"
    """
    one_of("part", part, ("train", "test", "all"))
    root = data_folder(folder)
    parts = ("train", "test") if part == "all" else (part,)
    read = {name: [read_piece(root, piece) for piece in _PIECES[name]] for name in parts}
    sizes = [sum(len(labels) for _, labels in read[name]) for name in parts]
    images = np.concatenate([piece for name in parts for piece, _ in read[name]])
    images.flags.writeable = False  # or the value would copy them to be safe
    return ImageSet(
        images=images,
        labels=np.concatenate([labels for name in parts for _, labels in read[name]]),
        classes=CLASSES,
        split=np.repeat(np.asarray(parts), sizes),
        ids=np.asarray([f"{name}-{row}" for name, size in zip(parts, sizes, strict=True) for row in range(size)]),
    )


def read_piece(root: Path, piece: str) -> tuple[Pictures, IntArray]:
    """Read one fifth of the training pictures ("train1" to "train5") or the "test": images and labels."""
    home = root / "cifar10"
    batch = f"data_batch_{piece.removeprefix('train')}" if piece != "test" else "test_batch"
    if (home / f"{piece}.webp").is_file() and (home / "cifar10_labels.npz").is_file():
        return tiles(read_picture(home / f"{piece}.webp"), side=_SIDE), _mosaic_labels(home, piece)
    path = member_path(home, batch)
    if path is None:
        raise InputError(how_to_get(root, DATASETS.find("cifar10")))
    return read_python_batch(path)


def cifar10_labels(*, folder: Folder = None, part: Literal["train", "test"]) -> IntArray:
    """Load CIFAR-10's labels alone, (n,)."""
    root = data_folder(folder)
    stored = root / "cifar10" / "cifar10_labels.npz"
    if stored.is_file():
        with np.load(stored) as arrays:
            return arrays[f"y_{part}"].astype(np.int64)
    return np.concatenate([read_piece(root, piece)[1] for piece in _PIECES[part]])


def read_python_batch(path: Path) -> tuple[Pictures, IntArray]:
    """Read a batch in the source's Python form: a pickled dictionary with `data` (n, 3072) and `labels`."""
    batch = read_pickle(path.read_bytes(), name=str(path))
    if not isinstance(batch, dict):
        raise InputError(f"{path} must be a batch of CIFAR-10, a dictionary with data and labels.")
    data, labels = (batch.get(key.encode(), batch.get(key)) for key in ("data", "labels"))
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.shape[1:] != (_PIXELS,):
        raise InputError(f"{path} must hold data of n x {_PIXELS} bytes.")
    if labels is None or len(labels) != len(data):
        raise InputError(f"{path} must hold one label per picture, {len(data)}.")
    return _upright(data), np.asarray(labels, dtype=np.int64)


def tiles(mosaic: Pictures, *, side: int) -> Pictures:
    """Cut a mosaic into its square tiles, row by row: (rows * side, columns * side, 3) to (n, side, side, 3).

    >>> tiles(np.arange(24, dtype=np.uint8).reshape(2, 4, 3), side=2)[1, 0, 0].tolist()
    [6, 7, 8]
    """
    rows, columns = mosaic.shape[0] // side, mosaic.shape[1] // side
    if mosaic.shape != (rows * side, columns * side, 3):
        raise InputError(f"a mosaic of {side} x {side} tiles must have sides in multiples of that, got {mosaic.shape}.")
    return mosaic.reshape(rows, side, columns, side, 3).transpose(0, 2, 1, 3, 4).reshape(-1, side, side, 3)


def _upright(data: Pictures) -> Pictures:
    """Turn rows of red, green and blue planes into pictures, (n, 3072) to (n, 32, 32, 3)."""
    return np.ascontiguousarray(data.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1))


def _mosaic_labels(home: Path, piece: str) -> IntArray:
    with np.load(home / "cifar10_labels.npz") as arrays:
        if piece == "test":
            return arrays["y_test"].astype(np.int64)
        return np.split(arrays["y_train"].astype(np.int64), 5)[int(piece.removeprefix("train")) - 1]


def cifar10n(*, folder: Folder = None) -> ExpertTable:
    """Load CIFAR-10N: the training pictures' labels and three human answers to each, 50,000 x 3.

    Many people stand behind each of the three columns, and who they were carries no signal: take the columns for three
    exchangeable annotators. Rows are those of `cifar10(part="train")`, which has the pictures; there are no features.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, compact = located("cifar10n", folder)
    if compact:
        with np.load(home / "cifar10n.npz") as arrays:
            truth, answers = arrays["clean"], arrays["labels"]
    else:
        stored = read_object_npy(home / "CIFAR-10_human.npy")
        names = ["clean_label", *(f"random_label{number}" for number in (1, 2, 3))]
        if not isinstance(stored, dict) or any(name not in stored for name in names):
            raise InputError(f"CIFAR-10_human.npy must hold {', '.join(names)}.")
        truth, answers = stored[names[0]], np.column_stack([stored[name] for name in names[1:]])
    experts = [f"annotator_{number}" for number in (1, 2, 3)]
    return ExpertTable(np.asarray(truth, dtype=np.int64), np.asarray(answers, dtype=np.int64), expert_names=experts)


def cifar10h(*, folder: Folder = None) -> VoteSet:
    """Load CIFAR-10H: how many people chose each class, for the 10,000 test pictures.

    Our form also has the outputs of 11 networks on the same pictures, stored in half precision (`network_proba`). The
    source's form has neither these nor the labels, which then come from CIFAR-10 itself.

    Parameters
    ----------
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    """
    home, compact = located("cifar10h", folder)
    if not compact:
        counts = np.load(home / "cifar10h-counts.npy", allow_pickle=False)
        return VoteSet(cifar10_labels(folder=home.parent, part="test"), counts.astype(np.int64), CLASSES)
    with np.load(home / "cifar10h.npz") as arrays:
        networks = {
            name.removeprefix(_PREFIX): arrays[name].astype(np.float64)
            for name in arrays.files
            if name.startswith(_PREFIX)
        }
        labels, counts = arrays["y_test"].astype(np.int64), arrays["counts"].astype(np.int64)
    return VoteSet(labels, counts, CLASSES, network_proba=networks)


def cifar10h_networks(*, folder: Folder = None) -> ExpertTable:
    """Load the networks of CIFAR-10H as experts: their most probable class for each of the 10,000 test pictures."""
    votes = cifar10h(folder=folder)
    if not votes.network_proba:
        raise InputError("the networks' outputs are in our form of CIFAR-10H alone (cifar10h/cifar10h.npz).")
    answers = np.column_stack([proba.argmax(axis=1) for proba in votes.network_proba.values()])
    return ExpertTable(votes.labels, answers, expert_names=list(votes.network_proba))
