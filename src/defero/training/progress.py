"""What a training tells: a bar on the terminal, or silence, and a log of one line per epoch."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def progress_bar(total: int, *, what: str, shown: bool, done: int = 0) -> Iterator[Callable[..., None]]:
    """Yield a function to be told the loss, and by name system accuracy, ECE and images per second.

    `steps` are those that are done; without it each call counts as one more.

    >>> with progress_bar(10, what="fit", shown=False) as tell:
    ...     tell(0.5)
    ...     tell(steps=5, ece=0.1)
    """
    if not shown:
        yield lambda loss=None, steps=None, **news: None
        return
    known = {"loss": math.nan, "system_accuracy": math.nan, "ece": math.nan, "images_per_second": math.nan}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[news]}"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total, completed=done, news="")

        def tell(loss: float | None = None, *, steps: int | None = None, **news: float) -> None:
            known.update(news if loss is None else {"loss": loss, **news})
            bar.update(task, advance=1 if steps is None else None, completed=steps, news=_news(known))

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


LOG = "log.jsonl"


@dataclass(frozen=True, kw_only=True)
class EpochLine:
    """One epoch; what was not measured is nan, and null in the file."""

    epoch: int
    loss: float
    held_out_loss: float = math.nan
    system_accuracy: float = math.nan
    class_accuracy: float = math.nan
    ece: float = math.nan
    images_per_second: float = math.nan
    seconds: float = math.nan
    learning_rate: float = math.nan

    def as_json(self) -> str:
        """Return the line.

        >>> EpochLine(epoch=1, loss=0.5).as_json()[:55]
        '{"epoch": 1, "loss": 0.5, "held_out_loss": null, "syste'
        """
        return json.dumps({name: None if value != value else value for name, value in asdict(self).items()})


class TrainingLog:
    """The lines of a run, in memory and, with a folder, in log.jsonl and for TensorBoard.

    Parameters
    ----------
    folder : Path, optional
    keep : int
        Epochs of an earlier run that this one goes on from; later lines of that run are dropped.
    """

    def __init__(self, folder: Path | None, *, keep: int = 0) -> None:
        self.lines: list[EpochLine] = []
        self._path = None if folder is None else folder / LOG
        self._board = None if folder is None else _tensor_board(folder)
        if self._path is not None and self._path.is_file():
            self.lines = [line for line in read_log(self._path) if line.epoch <= keep]
            self._path.write_text("".join(line.as_json() + "\n" for line in self.lines))

    def write(self, line: EpochLine) -> None:
        """Add a line."""
        self.lines.append(line)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a") as file:
                file.write(line.as_json() + "\n")
        if self._board is not None:
            for name, value in asdict(line).items():
                if name != "epoch" and value == value:
                    self._board.add_scalar(name, value, line.epoch)

    def close(self) -> None:
        """Let TensorBoard finish."""
        if self._board is not None:
            self._board.close()


def read_log(path: Path) -> list[EpochLine]:
    """Read a log; a last line that a kill cut short is left out."""
    lines = []
    for text in path.read_text().splitlines():
        try:
            fields = json.loads(text)
        except ValueError:
            break
        known: dict[str, Any] = {name: math.nan if value is None else value for name, value in fields.items()}
        lines.append(EpochLine(**known))
    return lines


def _tensor_board(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "tensorboard"))
