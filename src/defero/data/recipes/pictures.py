"""Pictures in files, read when they are needed: they look like one array (n, height, width, 3) of bytes."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks import IntArray
from defero.core.errors import InputError, TableError

LARGEST_SIDE = 224
"""Where no size is said, pictures are made no larger than this."""


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """n pictures in files, resized to one size; a slice of them is an array, and is read then.

    Attributes
    ----------
    paths : n paths
    size : (height, width)
    source : str
        What a message calls the table that named the files.
    rows : n row numbers, optional
        For messages; 0, 1, ... by default.

    Examples
    --------
    >>> files = PictureFiles(["a.png", "b.png"], (32, 32))
    >>> files.shape, files.take([1]).paths
    ((2, 32, 32, 3), ('b.png',))
    """

    paths: Sequence[str | PathLike[str]]
    size: tuple[int, int]
    source: str = "X"
    rows: Sequence[int] = ()

    def __post_init__(self) -> None:
        height, width = self.size
        if min(height, width) < 1:
            raise InputError(f"size must be (height, width) of at least 1 x 1, got {height} x {width}.")
        object.__setattr__(self, "paths", tuple(map(str, self.paths)))
        object.__setattr__(self, "rows", tuple(map(int, self.rows)) or tuple(range(len(self.paths))))

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, height, width, 3)."""
        return (len(self), *self.size, 3)

    @property
    def ndim(self) -> int:
        """4."""
        return 4

    @property
    def dtype(self) -> Any:
        """Bytes."""
        return np.dtype(np.uint8)

    def take(self, rows: Any) -> "PictureFiles":
        """Return some of them, without reading any."""
        some = np.arange(len(self))[rows].tolist()
        return PictureFiles([self.paths[i] for i in some], self.size, self.source, [self.rows[i] for i in some])

    def __getitem__(self, rows: Any) -> NDArray[np.uint8]:
        """Read some of them, (m, height, width, 3)."""
        some = self.take(rows)
        pictures = np.empty(some.shape, dtype=np.uint8)
        for place in range(len(some)):
            pictures[place] = some.read(place)
        return pictures

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self[:] if dtype is None else self[:].astype(dtype)

    def check(self) -> None:
        """Read every file once and keep nothing, so that a broken one is told before a long training."""
        lost = [place for place, path in enumerate(self.paths) if not Path(path).exists()]
        if lost:
            more = f" So it is with {len(lost)} of the {len(self)} pictures." if len(lost) > 1 else ""
            raise TableError(f"{self._unreadable(lost[0], FileNotFoundError())}{more}")
        for place in range(len(self)):
            self.read(place)

    def identities(self) -> IntArray:
        """Return two numbers for each picture, (n, 2): a hash of its file, whatever the file is called."""
        halves = np.empty((len(self), 2), dtype=np.int64)
        for place, path in enumerate(self.paths):
            try:
                digest = hashlib.blake2b(Path(path).read_bytes(), digest_size=8).digest()
            except OSError as error:
                raise self._unreadable(place, error) from error
            halves[place] = np.frombuffer(digest, dtype="<u4")
        return halves

    def read(self, place: int) -> NDArray[np.uint8]:
        """Read one of them, (height, width, 3)."""
        library, path = _pillow(), Path(self.paths[place])
        height, width = self.size
        try:
            with library.open(path) as opened:
                picture = _colours(library, opened)
        # Pillow raises the second for a damaged header, the last for a picture that would fill the memory.
        except (OSError, SyntaxError, ValueError, library.DecompressionBombError) as error:
            raise self._unreadable(place, error) from error
        if picture.size != (width, height):
            picture = picture.resize((width, height), library.Resampling.BILINEAR)
        return np.array(picture)

    def _unreadable(self, place: int, error: Exception) -> TableError:
        where = f"{self.source}: row {self.rows[place]}"
        if isinstance(error, FileNotFoundError):
            full = Path(self.paths[place]).absolute()
            return TableError(f"{where}: expected a picture in {self.paths[place]}, and there is no file {full}.")
        return TableError(
            f"{where}: expected a picture in {self.paths[place]}, and Pillow cannot read it ({error}); mend the file "
            "or leave the row out."
        )


def usual_size(path: str | PathLike[str]) -> tuple[int, int]:
    """Return the (height, width) of a picture, each side at most 224."""
    try:
        with _pillow().open(path) as opened:
            width, height = opened.size
    except (OSError, SyntaxError, ValueError) as error:
        raise TableError(f"{path}: expected a picture, and Pillow cannot read it ({error}).") from error
    return min(height, LARGEST_SIDE), min(width, LARGEST_SIDE)


def _colours(library: Any, picture: Any) -> Any:
    """Return a picture in three colours of 8 bits; grey values of 16 bits are divided by 256.

    Pillow's own conversion cuts them off at 255, which turns most scans white.
    """
    if picture.mode.startswith("I;16") or (picture.mode == "I" and picture.format == "PNG"):
        picture = library.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.mode in ("I", "F"):
        raise ValueError(f"grey values of mode {picture.mode} have no known largest one; save it with 8 or 16 bits")
    return picture.convert("RGB")


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("reading pictures needs Pillow; pip install 'defero[pictures]'.") from error
    return Image
