"""A Ray cluster: one that runs already, or one on this machine for the time of the work."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from defero.core.errors import InputError
from defero.study.engines.engine import ONE_THREAD, Result, Shared, Task

MOST_TRIES = 5
_SECONDS_TO_ANSWER = 5.0


@dataclass(frozen=True)
class RayEngine:
    """Run each task as a Ray task.

    Parameters
    ----------
    workers : int, optional
        The most tasks at once. Default: what the cluster has cores for.
    address : str, optional
        Of a cluster that runs already. All its machines need this version of defero and see the same files.
    """

    workers: int | None = None
    address: str | None = None

    def run(
        self, function: Callable[[Shared, Task], Result], tasks: Sequence[Task], *, shared: Shared
    ) -> Iterator[tuple[int, Result]]:
        """Yield (position, result) as the tasks end; Ray repeats a task whose worker or machine dies."""
        with _cluster(self.address, self.workers) as ray:
            remote = ray.remote(_call_in).options(max_retries=MOST_TRIES, num_cpus=1)
            everywhere = ray.put(shared)
            waiting = list(enumerate(tasks))[::-1]
            most = self.workers or max(1, int(ray.cluster_resources().get("CPU", 1)))
            running: dict[Any, int] = {}
            while waiting or running:
                while waiting and len(running) < most:
                    position, task = waiting.pop()
                    running[remote.remote(os.getcwd(), function, everywhere, task)] = position
                ended, _ = ray.wait(list(running), num_returns=1)
                for reference in ended:
                    yield running.pop(reference), _result(ray, reference)


def _call_in(folder: str, function: Callable[[Any, Any], Any], shared: Any, task: Any) -> Any:
    """Call a function in the folder where the command was given: there relative paths mean what they mean here."""
    with suppress(OSError):  # another machine may not have it, and paths may be absolute
        os.chdir(folder)
    return function(shared, task)


def _result(ray: Any, reference: Any) -> Any:
    """Return a task's result, or raise what the task raised as if it had run here."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause from None


def _check_answers(address: str) -> None:
    """Raise if nothing listens at host:port; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return  # such as "auto"
    try:
        socket.create_connection((host, int(port)), timeout=_SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise InputError(f"{address!r}: no Ray cluster answers there ({error}).", argument="address") from error


@contextmanager
def _cluster(address: str | None, workers: int | None) -> Iterator[Any]:
    try:
        import ray
    except ImportError as error:
        raise InputError("'ray' needs Ray: pip install 'defero[ray]'.", argument="engine") from error
    if ray.is_initialized():  # the user's own connection: used as it is
        yield ray
        return
    if address is not None:
        _check_answers(address)
    quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False, "configure_logging": False}
    runtime = {"env_vars": ONE_THREAD}
    try:
        if address is None:
            # "local": without it Ray joins a cluster that RAY_ADDRESS or an earlier `ray start` names, even a dead one.
            ray.init("local", num_cpus=workers, include_dashboard=False, runtime_env=runtime, **quiet)
        else:
            ray.init(address=address, runtime_env=runtime, **quiet)
    except (ConnectionError, ValueError) as error:
        reason = str(error).splitlines()[0]
        if address is None:
            raise InputError(
                f"'ray': no cluster can be started on this machine ({reason})", argument="engine"
            ) from error
        raise InputError(f"{address!r}: no Ray cluster answers there ({reason})", argument="address") from error
    try:
        yield ray
    finally:
        ray.shutdown()
