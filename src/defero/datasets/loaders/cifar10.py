"""CIFAR-10, from our mosaics or from its own batches; both give the same arrays."""

from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import numpy as np

from defero.core.checks.arrays import IntArray
from defero.core.checks.options import one_of
from defero.core.errors import InputError
from defero.datasets.catalog import DataFile, Dataset, register_dataset
from defero.datasets.files import how_to_get, member_path, read_picture
from defero.datasets.storage.cache import data_folder
from defero.datasets.storage.restricted_pickle import read_pickle
from defero.datasets.values import ImageSet, Pictures

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
Part = Literal["train", "test", "all"]
_PIECES = {"train": tuple(f"train{number}" for number in range(1, 6)), "test": ("test",)}
_SIDE = 32
_PIXELS = 3 * _SIDE * _SIDE


def cifar10(*, folder: str | PathLike[str] | None = None, part: Part = "all") -> ImageSet:
    """Load CIFAR-10, the training pictures before those of the test.

    Three forms are read: our mosaics (which need Pillow), the source's Python batches (by a reader that runs nothing
    that is in them), and its binary batches.

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
    python = member_path(home, batch)
    if python is not None:
        return read_python_batch(python)
    binary = member_path(home, f"{batch}.bin")
    if binary is None:
        raise InputError(how_to_get(root, CIFAR10))
    return read_binary_batch(binary)


def cifar10_labels(*, folder: str | PathLike[str] | None = None, part: Literal["train", "test"]) -> IntArray:
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


def read_binary_batch(path: Path) -> tuple[Pictures, IntArray]:
    """Read a batch in the source's binary form: a label and 3072 bytes for each picture."""
    content = np.fromfile(path, dtype=np.uint8)
    if content.size == 0 or content.size % (1 + _PIXELS):
        raise InputError(f"{path} must be a multiple of {1 + _PIXELS} bytes long, got {content.size}.")
    rows = content.reshape(-1, 1 + _PIXELS)
    return _upright(rows[:, 1:]), rows[:, 0].astype(np.int64)


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


_BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")

CIFAR10 = Dataset(
    name="cifar10",
    title="CIFAR-10",
    what="60,000 pictures of 32 x 32 in 10 classes",
    licence="none stated; the author asks for a citation",
    citation="Krizhevsky, A. (2009). Learning multiple layers of features from tiny images. University of Toronto.",
    homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
    files=(
        DataFile("cifar10/train1.webp", "compact", "7d659541ed95237ea4e04e2d33389e1104c1953861748ff53d660d6c8d6654f9"),
        DataFile("cifar10/train2.webp", "compact", "51af9519a93c50876c6e10004965e1e5959387da1f8d7b96f16f7ca26219af79"),
        DataFile("cifar10/train3.webp", "compact", "3c724790d972e645054d7cc995e1535ee05064097410e5a14c537c7145a70db8"),
        DataFile("cifar10/train4.webp", "compact", "7e1e0d309a2ac32bb67831184e997f88a9e74324a01f95cc481819c6955db2b3"),
        DataFile("cifar10/train5.webp", "compact", "1d3f867bf1d6f975111042b2a5f839fd80c93de1c03f75c667d7840bd55da85c"),
        DataFile("cifar10/test.webp", "compact", "df199aec7516a004a23ad02816a63a368d2208347ff1c4011eaa91a2503201fc"),
        DataFile(
            "cifar10/cifar10_labels.npz", "compact", "2adcb621b226054b45ea498e5151b50747ee667e75829c059844e7b78f6b5196"
        ),
        DataFile(
            "cifar10/cifar-10-python.tar.gz",
            sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
            url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
            members=_BATCHES,
            instead=tuple(f"{batch}.bin" for batch in _BATCHES),
        ),
    ),
    load=cifar10,
    by_hand="cifar-10-python.tar.gz, or the folder cifar-10-batches-py or cifar-10-batches-bin, into cifar10/",
    arrays=MappingProxyType(
        {
            "train1": "fc115a3de050d667b88cbd5b0b9612ebf996c54230fe7758f3a14bb5af9a1c27",
            "train2": "89e609b642f687bc796fa3bfa4211005582a0e8131d463d996d11ddb297d312e",
            "train3": "93a365823e61729490a8801d80864ccd0ab1e8c98f19d71af65644d1c5f1486e",
            "train4": "809eb95ecd057a36516318f5023ea619009dd70dd38193db9da43125a928e6fa",
            "train5": "d05b7d66d216d6df882cc760cdc0ff2f1f0437abf699ed16005c021ef0add9cb",
            "test": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
            "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
            "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        }
    ),
)
register_dataset(CIFAR10)
