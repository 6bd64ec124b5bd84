"""Pictures in files, read when they are needed: they look like one array (n, height, width, 3) of bytes.

`PictureRecipe` says which column of a table holds their paths; it is for pictures what `FeatureRecipe` is for columns.
"""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import IntArray
from defero.core.codec import Within
from defero.core.errors import InputError, TableError
from defero.data.tables.bad_rows import BadCell, bad_cell
from defero.data.tables.cells import column_names, is_blank, no_such_column, row_number

LARGEST_SIDE = 224
"""Where no size is given, pictures are made no larger than this."""


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
            raise InputError(f"must be (height, width) of at least 1 x 1, got {height} x {width}.", argument="size")
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
        """Read every file once, so that a broken one raises before a long training."""
        missing = [place for place, path in enumerate(self.paths) if not Path(path).exists()]
        if missing:
            more = f" {len(missing)} of the {len(self)} pictures are missing." if len(missing) > 1 else ""
            raise TableError(f"{self._unreadable(missing[0], FileNotFoundError())}{more}")
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
        try:
            return decode_picture(Path(self.paths[place]), size=self.size)
        except OSError as error:
            raise self._unreadable(place, error) from error

    def _unreadable(self, place: int, error: Exception) -> TableError:
        where = f"{self.source}: row {self.rows[place]}"
        if isinstance(error, FileNotFoundError):
            full = Path(self.paths[place]).absolute()
            return TableError(f"{where}: expected a picture in {self.paths[place]}, but no such file exists: {full}.")
        return TableError(
            f"{where}: expected a picture in {self.paths[place]}, but Pillow cannot read it ({error}); "
            "replace the file or leave the row out."
        )


def decode_picture(source: Path | bytes, *, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """Return a picture of a file, or of its bytes, as (height, width, 3); raise `OSError` where Pillow cannot read it.

    Parameters
    ----------
    source : Path or bytes
    size : (height, width), optional
        Resize to this.
    """
    library = _pillow()
    try:
        with library.open(source if isinstance(source, Path) else io.BytesIO(source)) as opened:
            picture = _colours(library, opened)
    # Pillow raises the first for a damaged header, the last for a picture that would fill the memory.
    except (SyntaxError, ValueError, library.DecompressionBombError) as error:
        raise OSError(str(error)) from error
    if size is not None and picture.size != size[::-1]:
        picture = picture.resize(size[::-1], library.Resampling.BILINEAR)
    return np.array(picture)


def usual_size(path: str | PathLike[str]) -> tuple[int, int]:
    """Return the (height, width) of a picture, each side at most 224."""
    try:
        with _pillow().open(path) as opened:
            width, height = opened.size
    except (OSError, SyntaxError, ValueError) as error:
        raise TableError(f"{path}: expected a picture, but Pillow cannot read it ({error}).") from error
    return min(height, LARGEST_SIDE), min(width, LARGEST_SIDE)


def _no_picture(path: Path) -> str | None:
    """Say why a file is no picture; None where it is one."""
    try:
        decode_picture(path)
    except FileNotFoundError:
        return "does not exist"
    except OSError:
        return "is not a picture that Pillow can read"
    return None


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


Side = Annotated[int, Within(1, 1 << 14)]


@dataclass(frozen=True)
class PictureRecipe:
    """Which column holds the paths, and how large the pictures are made.

    Attributes
    ----------
    column : str
    size : (height, width)
    folder : Path
        Where relative paths start; not part of a saved model.

    Examples
    --------
    >>> import pandas as pd
    >>> recipe = PictureRecipe("file", (8, 8)).inside(Path("scans"))
    >>> recipe.apply(pd.DataFrame({"file": ["a.png"]})).paths
    ('scans/a.png',)
    """

    kind: ClassVar[str] = "pictures"
    column: str
    size: tuple[Side, Side]
    folder: Path = field(default=Path(), compare=False, metadata={"saved": False})

    columns: ClassVar[tuple[Any, ...]] = ()
    text: ClassVar[tuple[str, ...]] = ()

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the raw columns in use."""
        return (self.column,)

    categorical = inputs

    def inside(self, folder: Path) -> "PictureRecipe":
        """Return the recipe for paths that start in a folder."""
        return replace(self, folder=folder)

    def apply(self, frame: Any, *, source: str = "table", first_row: int = 0) -> PictureFiles:
        """Return the rows' pictures, none of them read yet."""
        cells = frame[self._key(frame, source=source)].tolist()
        rows = [row_number(frame, place, first_row=first_row) for place in range(len(cells))]
        for row, cell in zip(rows, cells, strict=True):
            if is_blank(cell):
                where = f"{source}: row {row}, column {self.column}"
                raise TableError(f"{where}: expected the path of a picture, got a blank cell.")
        return PictureFiles([self.folder / str(cell) for cell in cells], self.size, source, rows)

    def bad_cells(self, frame: Any, *, source: str = "table", first_row: int = 0) -> list[BadCell]:
        """Return the rows without a path, and those whose file does not exist or is no picture."""
        bad, key = [], self._key(frame, source=source)
        for place, cell in enumerate(frame[key].tolist()):
            why = "is not the path of a picture" if is_blank(cell) else _no_picture(self.folder / str(cell))
            if why is not None:
                bad.append(bad_cell(frame, key, place, why, first_row=first_row))
        return bad

    def _key(self, frame: Any, *, source: str) -> Any:
        keys = column_names(frame, source=source)
        if self.column not in keys:
            raise no_such_column(self.column, list(keys), source=source, role="the pictures")
        return keys[self.column]

    def extra(self, frame: Any) -> tuple[str, ...]:
        """Return the frame's other columns; they are ignored."""
        return tuple(str(name) for name in frame.columns if str(name) != self.column)

    def remarks(self, frame: Any) -> dict[str, int]:
        """Return nothing: a picture that cannot be read is an error."""
        return {}

    def describe(self) -> list[str]:
        """Return one sentence: how the column is used.

        >>> PictureRecipe("file", (32, 48)).describe()
        ['file: pictures, each made 32 pixels high and 48 wide.']
        """
        height, width = self.size
        return [f"{self.column}: pictures, each made {height} pixels high and {width} wide."]
