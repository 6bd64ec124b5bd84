"""The log of a training: a line of JSON per epoch, and TensorBoard where it is installed."""

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
