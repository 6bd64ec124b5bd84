"""Engines: what applies a function to many tasks, and the names of those that there are."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from threadpoolctl import threadpool_limits

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError

ENGINES = ("local", "ray")
MOST_TRIES = 3
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Sums of some libraries depend on the number of threads, and results must not."""
Shared = TypeVar("Shared")
Task = TypeVar("Task")
Result = TypeVar("Result")


class Engine(Protocol):
    """Apply a function to many tasks, on one or more workers."""

    def run(
        self, function: Callable[[Shared, Task], Result], tasks: Sequence[Task], *, shared: Shared
    ) -> Iterator[tuple[int, Result]]:
        """Yield (position of the task, result) as the tasks end, in any order.

        Parameters
        ----------
        function : callable
            A function of a module (it is sent by its name), called as function(shared, task). It may be called twice
            for a task whose worker died.
        tasks : sequence
        shared : object
            What every task needs.
        """
        ...


@dataclass(frozen=True)
class LocalEngine:
    """Run tasks one after the other here, or several at once in a pool of processes.

    Parameters
    ----------
    workers : int
        1: this process, without any pool.
    """

    workers: int = 1

    def run(
        self, function: Callable[[Shared, Task], Result], tasks: Sequence[Task], *, shared: Shared
    ) -> Iterator[tuple[int, Result]]:
        """Yield (position, result) as the tasks end; after the death of a process its tasks are tried again, twice."""
        if self.workers == 1:
            yield from (_placed(function, shared, *task) for task in enumerate(tasks))
            return
        from joblib import Parallel, delayed  # imported here: most commands need no pool

        left = dict(enumerate(tasks))
        for n_try in range(1, MOST_TRIES + 1):
            # batch_size: short tasks would be sent together, and be lost together.
            pool = Parallel(self.workers, return_as="generator_unordered", batch_size=1)
            try:
                for position, result in pool(delayed(_placed)(function, shared, *task) for task in [*left.items()]):
                    del left[position]
                    yield position, result
                return
            except BrokenProcessPool:
                if n_try == MOST_TRIES:
                    raise


def _placed(function: Callable[[Any, Any], Any], shared: Any, position: int, task: Any) -> tuple[int, Any]:
    with one_thread():
        return position, function(shared, task)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the libraries of this process, and of those it starts, to one thread."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
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


def engine_by_name(name: str = "local", *, workers: int | None = None, address: str | None = None) -> Engine:
    """Return an engine.

    Parameters
    ----------
    name : "local" or "ray"
        "local": this process, or a pool of processes if there is more than one worker. "ray": a Ray cluster.
    workers : int, optional
        How many tasks run at once. Default: one for "local", and what the cluster has for "ray".
    address : str, optional
        Address of a Ray cluster that runs already, such as "auto" or "10.0.0.5:6379". Default: one on this machine,
        started for the work and stopped after it.

    Examples
    --------
    >>> import operator
    >>> list(engine_by_name("local").run(operator.add, [1, 2], shared=10))
    [(0, 11), (1, 12)]
    """
    one_of("engine", name, ENGINES)
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int) or workers < 1):
        raise InputError(f"must be a whole number of at least 1, got {workers!r}.", argument="workers")
    if name == "ray":
        from defero.study.engines.ray_cluster import RayEngine  # imported here: Ray is an extra

        return RayEngine(workers=workers, address=address)
    if address is not None:
        raise InputError(
            f"is that of a Ray cluster; leave it out, or pass {Argument('engine', 'ray')}.", argument="address"
        )
    return LocalEngine(workers=workers or 1)


def named_engine(name: str | None, *, workers: int | None, address: str | None) -> Engine | None:
    """Return an engine as `engine_by_name` does, a local one by default; None where nothing was said of it.

    >>> named_engine(None, workers=None, address=None)
    """
    if name is None and workers is None and address is None:
        return None
    return engine_by_name(name or "local", workers=workers, address=address)
