"""One thread for small networks: handing their tiny matrices to several costs more than it saves."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

SMALL = 2**22
"""Multiply-adds of one layer and one batch, below which a second thread does not pay."""


@contextmanager
def threads_for(batch_size: int, *, widest: int) -> Iterator[None]:
    """Run a block on one thread where batches are small, and on as many as before otherwise.

    On a busy machine threads that wait for each other after every tiny product took ten times the CPU time.

    >>> before = torch.get_num_threads()
    >>> with threads_for(32, widest=64):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    small = batch_size * widest**2 < SMALL
    if small:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if small:
            torch.set_num_threads(before)
