"""One number for what tensors hold."""

import zlib

from torch import Tensor


def check_sum(*tensors: Tensor | None) -> int:
    """Return one number for the content of some tensors.

    >>> import torch
    >>> check_sum(torch.zeros(3), None) == check_sum(torch.zeros(3), None), check_sum(torch.ones(3)) == check_sum(None)
    (True, False)
    """
    found = 0
    for tensor in tensors:
        if tensor is not None:
            found = zlib.crc32(repr(tuple(tensor.shape)).encode(), found)
            found = zlib.crc32(tensor.detach().cpu().contiguous().numpy().data, found)
    return found
