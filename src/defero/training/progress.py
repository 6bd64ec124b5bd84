"""Progress bars on the terminal, or silence."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn


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


@contextmanager
def training_bar(total_steps: int, *, done: int, shown: bool) -> Iterator[Callable[..., None]]:
    """Yield a function to be told steps done and, by name, loss, system accuracy, ECE and images per second.

    >>> with training_bar(10, done=0, shown=False) as tell:
    ...     tell(1, loss=0.5)
    """
    if not shown:
        yield lambda steps, **news: None
        return
    known = {"loss": math.nan, "system_accuracy": math.nan, "ece": math.nan, "images_per_second": math.nan}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[news]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=total_steps, completed=done, news="")

        def tell(steps: int, **news: float) -> None:
            known.update(news)
            bar.update(task, completed=steps, news=_news(known))

        yield tell


def _news(known: dict[str, float]) -> str:
    """Write what is known in a few words.

    >>> _news({"loss": 1.25, "system_accuracy": 0.9, "ece": math.nan, "images_per_second": 45000.0})
    'loss 1.2500, system 90.0 %, 45,000 images/s'
    """
    forms = {"loss": "loss {:.4f}", "images_per_second": "{:,.0f} images/s"}
    shares = {"system_accuracy": "system {:.1%}", "ece": "ECE {:.1%}"}
    parts = [
        (forms | shares)[name].format(value).replace("%", " %")
        for name, value in known.items()
        if value == value  # nan: not known yet
    ]
    return ", ".join(parts)
