"""Decode pictures. Pillow is needed for this alone, and asked for when it is missing."""

import io
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.errors import InputError
from defero.datasets.values import Pictures


def decode(source: Path | bytes, *, size: tuple[int, int] | None = None) -> Pictures:
    """Return a picture as (height, width, 3) uint8, resized to (width, height) where `size` says so."""
    library = _pillow()
    try:
        with library.open(source if isinstance(source, Path) else io.BytesIO(source)) as opened:
            picture = opened.convert("RGB")
    except (OSError, SyntaxError) as error:
        where = source if isinstance(source, Path) else "a picture"
        raise InputError(f"{where} cannot be decoded ({error}); it is damaged: get it again.") from error
    if size is not None and picture.size != size:
        picture = picture.resize(size, library.Resampling.BILINEAR)
    return np.asarray(picture)


def tiles(mosaic: Pictures, *, side: int) -> Pictures:
    """Cut a mosaic into its square tiles, row by row: (rows * side, columns * side, 3) to (n, side, side, 3).

    >>> tiles(np.arange(24, dtype=np.uint8).reshape(2, 4, 3), side=2)[1, 0, 0].tolist()
    [6, 7, 8]
    """
    rows, columns = mosaic.shape[0] // side, mosaic.shape[1] // side
    if mosaic.shape != (rows * side, columns * side, 3):
        raise InputError(f"a mosaic of {side} x {side} tiles must have sides in multiples of that, got {mosaic.shape}.")
    return mosaic.reshape(rows, side, columns, side, 3).transpose(0, 2, 1, 3, 4).reshape(-1, side, side, 3)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError("reading these pictures needs Pillow: install defero with its report extra.") from error
    return Image
