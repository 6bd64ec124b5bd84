"""A progress bar on the terminal, or silence."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def progress_bar(total: int, *, what: str, shown: bool) -> Iterator[Callable[[float], None]]:
    """Yield a function to be told the loss after each step.

    >>> with progress_bar(10, what="fit", shown=False) as step:
    ...     step(0.5)
    """
    if not shown:
        yield lambda loss: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, TextColumn("loss {task.fields[loss]}"), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=total, loss="-")
        yield lambda loss: bar.update(task, advance=1, loss=f"{loss:.4f}")
