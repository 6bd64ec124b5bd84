"""Engine: what applies a function to many tasks, and the names of those that there are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from defero.core.checks.arrays import one_of
from defero.core.errors import Argument, InputError

ENGINES = ("local", "ray")
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
            What every task needs; it is sent to each worker once.
        """
        ...


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
        from defero.study.engines.cluster import RayEngine  # imported here: Ray is an extra

        return RayEngine(workers=workers, address=address)
    if address is not None:
        raise InputError(
            "is that of a Ray cluster; leave it out, or pass ", Argument("engine", "ray"), ".", argument="address"
        )
    from defero.study.engines.local import LocalEngine

    return LocalEngine(workers=workers or 1)


def named_engine(name: str | None, *, workers: int | None, address: str | None) -> Engine | None:
    """Return an engine as `engine_by_name` does, a local one by default; None where nothing was said of it.

    >>> named_engine(None, workers=None, address=None)
    """
    if name is None and workers is None and address is None:
        return None
    return engine_by_name(name or "local", workers=workers, address=address)


def call(function: Callable[[Any, Any], Any], shared: Any, task: Any) -> Any:
    """Call a function with its task; a name that a worker can find."""
    return function(shared, task)
