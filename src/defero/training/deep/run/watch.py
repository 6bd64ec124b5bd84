"""What a run watches: its loss, without making the device wait, and the best epoch; and the log, a line per epoch."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor


@dataclass
class BestSoFar:
    """The weights at the best value so far of what is watched.

    Attributes
    ----------
    watch : "loss" or "system_accuracy"
        A loss is better when smaller, an accuracy when larger. Equal values keep the earlier epoch.
    patience : int or None
    value, epoch : the best value and its epoch, from 1; nan and 0 at first
    state : the net's state then
    """

    watch: str
    patience: int | None
    value: float = math.nan
    epoch: int = 0
    state: dict[str, Tensor] = field(default_factory=dict)

    def take(self, value: float, state: dict[str, Tensor], *, epoch: int) -> bool:
        """Take note of an epoch; return whether to stop.

        >>> best = BestSoFar("loss", patience=2)
        >>> [best.take(value, {}, epoch=epoch) for epoch, value in enumerate([3.0, 1.0, 2.0, 1.0], start=1)]
        [False, False, False, True]
        >>> best.value, best.epoch
        (1.0, 2)
        """
        if self.epoch == 0 or (value < self.value if self.watch == "loss" else value > self.value):
            self.value, self.epoch = value, epoch
            self.state = {name: tensor.clone() for name, tensor in state.items()}
        return self.patience is not None and epoch - self.epoch >= self.patience


class LossMeter:
    """A running sum of losses over items.

    Examples
    --------
    >>> meter = LossMeter(torch.device("cpu"))
    >>> meter.add(torch.tensor(6.0), 3)
    >>> meter.peek()
    2.0
    """

    def __init__(self, device: torch.device) -> None:
        self.sum = torch.zeros((), dtype=torch.float64, device=device)
        self.n_items = 0
        self._on_gpu = device.type == "cuda"
        if self._on_gpu:
            self._seen = torch.zeros((), dtype=torch.float64, pin_memory=True)
            self._copied: torch.cuda.Event | None = None
            self._n_seen = 0

    def add(self, loss_sum: Tensor, n_items: int) -> None:
        """Add a batch's sum."""
        self.sum += loss_sum
        self.n_items += n_items

    def peek(self) -> float | None:
        """Return the mean of a little while ago, as soon as it is known; on a CPU the present one."""
        if not self._on_gpu:
            return float(self.sum) / max(1, self.n_items)
        value = None
        if self._copied is not None:
            if not self._copied.query():
                return None
            value = float(self._seen) / max(1, self._n_seen)
        self._seen.copy_(self.sum, non_blocking=True)
        self._n_seen = self.n_items
        self._copied = torch.cuda.Event()
        self._copied.record()
        return value


FILE = "log.jsonl"


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


class Journal:
    """The lines of a run, in memory and, with a folder, in log.jsonl and for TensorBoard.

    Parameters
    ----------
    folder : Path, optional
    keep : int
        Epochs of an earlier run that this one goes on from; later lines of that run are dropped.
    """

    def __init__(self, folder: Path | None, *, keep: int = 0) -> None:
        self.lines: list[EpochLine] = []
        self._path = None if folder is None else folder / FILE
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
