"""Run tasks in this process, or in a pool of processes on this machine."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from defero.study.engines.engine import Result, Shared, Task, call
from defero.study.engines.threads import one_thread

MOST_TRIES = 3
_SHARED: list[Any] = []


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
        """Yield (position, result) as the tasks end; a task whose process dies is tried again, three times in all."""
        if self.workers == 1:
            for position, task in enumerate(tasks):
                with one_thread():
                    result = function(shared, task)
                yield position, result
            return
        left = dict(enumerate(tasks))
        for n_try in range(1, MOST_TRIES + 1):
            try:
                for position, result in self._pool(function, left, shared):
                    del left[position]
                    yield position, result
            except BrokenProcessPool:
                if n_try == MOST_TRIES:
                    raise
            if not left:
                return

    def _pool(
        self, function: Callable[[Any, Any], Any], tasks: dict[int, Any], shared: Any
    ) -> Iterator[tuple[int, Any]]:
        context = get_context("spawn")  # a fork copies locks of threads that are not there any more
        with (
            one_thread(),
            ProcessPoolExecutor(self.workers, mp_context=context, initializer=_share, initargs=(shared,)) as pool,
        ):
            position_of: dict[Future[Any], int] = {
                pool.submit(_with_shared, function, task): position for position, task in list(tasks.items())
            }
            try:
                for future in as_completed(position_of):
                    yield position_of[future], future.result()
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def _share(shared: Any) -> None:
    _SHARED[:] = [shared]


def _with_shared(function: Callable[[Any, Any], Any], task: Any) -> Any:
    return call(function, _SHARED[0], task)
