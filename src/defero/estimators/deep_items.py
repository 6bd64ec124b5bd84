"""What a deep net learns from: pictures or other items of several axes, checked."""

from typing import Any

import numpy as np

from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.router.scoring import items_of_shape

_CHANNELS = (1, 2, 3, 4)


def has_axes(X: Any) -> bool:
    """Say whether X is an array whose items are no plain vectors, or pictures in files."""
    return isinstance(X, PictureFiles) or getattr(X, "ndim", 2) > 2


def checked_items(X: Any) -> Any:
    """Return items as an array or as `PictureFiles`; pictures have their channels last.

    >>> checked_items(np.zeros((2, 8, 8, 3), np.uint8)).shape
    (2, 8, 8, 3)
    """
    if isinstance(X, PictureFiles):
        return X
    items = np.asarray(X)
    if items.dtype == np.uint8 and items.ndim != 4:
        raise InputError(
            f"X: pictures must be bytes (n, height, width, channels), got shape {items.shape}; grey ones have one "
            "channel: X[..., None]."
        )
    if items.ndim == 4 and items.shape[3] not in _CHANNELS and items.shape[1] in _CHANNELS:
        raise InputError(
            f"X: pictures must be (n, height, width, channels), got shape {items.shape}, which looks as if the "
            "channels came first; pass np.moveaxis(X, 1, -1)."
        )
    return items_of_shape(items, tuple(items.shape[1:]), source="X")
