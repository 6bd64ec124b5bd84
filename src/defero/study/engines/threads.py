"""One thread for a task: sums of some libraries depend on the number of threads, and results must not."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
ONE_THREAD = dict.fromkeys(VARIABLES, "1")


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the libraries of this process, and of those it starts, to one thread."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    os.environ.update(ONE_THREAD)  # for libraries that are loaded from now on, and for other processes
    n_torch = sys.modules["torch"].get_num_threads() if "torch" in sys.modules else None
    try:
        with threadpool_limits(1):
            if n_torch is not None:
                sys.modules["torch"].set_num_threads(1)
            yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
        if "torch" in sys.modules:
            usual = int(before["OMP_NUM_THREADS"] or os.cpu_count() or 1)
            sys.modules["torch"].set_num_threads(n_torch or usual)
