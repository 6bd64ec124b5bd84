"""What can stop a training, told in a sentence: what happened, what to do, and where the last good checkpoint is."""

import errno
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import torch

from defero.core.errors import InputError


class TrainingError(InputError):
    """A training could not go on; its last good checkpoint, where there is one, is `checkpoint`."""

    checkpoint: Path | None = None


class TrainingStopped(KeyboardInterrupt):
    """Ctrl-C stopped a training after a whole step; its checkpoint, where there is one, is `checkpoint`.

    No `Exception`: a search over many trainings ends with it, and does not count one of them as failed.
    """

    checkpoint: Path | None = None


Trouble = TrainingError | TrainingStopped


def not_finite(epoch: int, learning_rate: float) -> TrainingError:
    """Return the error for a loss that became NaN or infinite."""
    return TrainingError(
        f"the loss became NaN or infinite in epoch {epoch}; lower the learning rate, whose peak is {learning_rate:g}, "
        "or look for inputs that are far too large."
    )


@contextmanager
def explain_troubles(checkpoint: Path | None, *, batch_size: int) -> Iterator[None]:
    """Turn what stops the block into a sentence that ends with the last good checkpoint.

    >>> with explain_troubles(None, batch_size=64):
    ...     raise MemoryError
    Traceback (most recent call last):
    ...
    defero.training.troubles.TrainingError: out of memory with batches of 64; ... No checkpoint was written...
    """
    try:
        yield
    except (TrainingStopped, TrainingError) as trouble:
        raise _with_checkpoint(type(trouble), str(trouble), checkpoint) from None
    except (OSError, RuntimeError, MemoryError) as error:
        sentence = _sentence(error, batch_size)
        if sentence is None:
            raise
        raise _with_checkpoint(TrainingError, sentence, checkpoint) from error


def _sentence(error: Exception, batch_size: int) -> str | None:
    text = str(error)
    if isinstance(error, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in text:
        return (
            f"out of memory with batches of {batch_size}; halve the batch size (and the learning rate, where you chose "
            "one), or take smaller pictures or a smaller net."
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"the disk is full ({error.filename or 'while a checkpoint was written'}); make room and run it again."
    if "DataLoader worker" in text:
        return (
            f"a process that reads pictures died ({text.splitlines()[0]}); mostly it wanted more memory than there is: "
            "make room, or take smaller pictures."
        )
    return None


def _with_checkpoint(kind: Callable[[str], Trouble], sentence: str, checkpoint: Path | None) -> Trouble:
    exists = checkpoint is not None and checkpoint.is_file()
    where = f"The last good checkpoint is {checkpoint}: the same call goes on from it."
    nowhere = "No checkpoint was written" + (": name a folder for them." if checkpoint is None else ".")
    trouble = kind(f"{sentence} {where if exists else nowhere}")
    trouble.checkpoint = checkpoint if exists else None
    return trouble


class Interrupts:
    """Ctrl-C waits for the end of a step, so that what is saved is whole; a second one does not wait.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     interrupts.asked
    False
    """

    def __init__(self) -> None:
        self.asked = False

    def __enter__(self) -> "Interrupts":
        try:
            self._before = signal.signal(signal.SIGINT, self._note)
        except ValueError:  # not the main thread: its owner handles Ctrl-C
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
