"""How many numbers any module gives of an item, found by asking it once."""

from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError


def feature_width(trunk: nn.Module, example: Any) -> int:
    """Return f of a trunk that maps a batch to (n, f).

    One forward pass in evaluation mode without gradients: batch statistics stay as they are, and every part of the
    trunk is in training mode afterwards that was before.

    Parameters
    ----------
    trunk : nn.Module
    example : what the trunk takes, usually a tensor of n items
        On the trunk's device.

    >>> feature_width(nn.Sequential(nn.Flatten(), nn.Linear(12, 5)), torch.zeros(2, 3, 4))
    5
    """
    modes = {part: part.training for part in trunk.modules()}
    trunk.eval()
    try:
        with torch.no_grad():
            features = trunk(example)
    except RuntimeError as error:
        raise InputError(
            f"the trunk {type(trunk).__name__} cannot take {_described(example)}: {error}; "
            "pass a batch as the trunk was made for, on the trunk's device."
        ) from error
    finally:
        for part, mode in modes.items():
            part.training = mode
    rows = len(example) if isinstance(example, Tensor) else None
    if not isinstance(features, Tensor) or features.ndim != 2 or rows not in (None, len(features)):
        wanted = f"({'n' if rows is None else rows}, features)"
        raise InputError(
            f"the trunk {type(trunk).__name__} must map a batch to {wanted}, got {_described(features)}; "
            "pool and flatten at its end, and leave its classification layer out."
        )
    return features.shape[1]


def _described(value: object) -> str:
    return f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
