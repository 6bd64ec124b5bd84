"""A training under way: what one step changes, and the checkpoint from which it goes on."""

import math
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DeferralNet
from defero.training.answer_source import derived_seed
from defero.training.evaluate import Learner
from defero.training.feeds import BatchShare, Feed
from defero.training.loop_settings import LoopSettings
from defero.training.machine import Machine
from defero.training.optimisers import (
    WeightAverage,
    learning_rate_at,
    make_optimiser,
    set_learning_rate,
    write_state,
)
from defero.training.troubles import not_finite

FILE = "checkpoint.pt"
"""What `torch.save` writes, and so `Fabric.save`. It is read as tensors and plain values: no code in it is run."""
_FREE = ("compile", "compile_part", "save_seconds")
"""Settings that do not change the result."""
_COUNTS = ("epoch", "step", "stopped", "seconds")
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    UnpicklingError,
    ValueError,
)


def identity_of(
    net: nn.Module, loss: DeferralLoss, train: Feed, held_out: Feed | None, *, settings: LoopSettings, seed: int
) -> dict[str, Any]:
    """Return what a run depends on, by name: settings, and check sums of every number that it learns from."""
    change = train.augmentation
    shapes = {name: tuple(tensor.shape) for name, tensor in net.state_dict().items()}
    sums = {} if held_out is None else held_out.check_sums()
    return {
        **{name: value for name, value in asdict(settings).items() if name not in _FREE},
        "seed": seed,
        "loss": loss.name,
        "augmentation": None if change is None else asdict(change),
        "the layers of the net": zlib.crc32(repr(shapes).encode()),
        **train.check_sums(),
        **{f"{what} held out": value for what, value in sums.items()},
    }


def make_folder(folder: Path) -> None:
    """Make a folder for checkpoints, or say now, and not after the first epochs, that nothing can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return
        reason = "it may not be written in"
    except OSError as error:
        reason = f"it cannot be made: {error.strerror}"
    raise InputError(f"must be a folder to write in, got {folder}; {reason}.", argument="checkpoints")


def write_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write beside the old file, make sure that it is on the disk, then put it in the old one's place."""
    new = path.with_suffix(".new")
    try:
        with new.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


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
    """A running sum of losses over items, on the device."""

    def __init__(self, device: torch.device) -> None:
        self.sum = torch.zeros((), dtype=torch.float64, device=device)
        self.n_items = 0

    def add(self, loss_sum: Tensor, n_items: int) -> None:
        """Add a batch's sum; nothing waits for the device."""
        self.sum += loss_sum
        self.n_items += n_items


def compiled_parts(net: nn.Module) -> tuple[nn.Module, ...]:
    """Return the trunks of a net with deferral heads; nothing for a net of another make."""
    if not isinstance(net, DeferralNet):
        return ()
    return (net.trunk,) if net.expert_trunk is None else (net.trunk, net.expert_trunk)


class TrainingState:
    """The weights, the optimiser, the average, the best epoch, and where in the data the run is.

    Parameters
    ----------
    net : nn.Module
        Moved to the machine's device and changed in place.
    loss : DeferralLoss
    train : Feed
        Placed on the device.
    settings : LoopSettings
    machine : Machine
    seed : int

    Attributes
    ----------
    epoch : int
        Epochs that are finished.
    step : int
        Steps done in the present epoch.
    """

    def __init__(
        self, net: nn.Module, loss: DeferralLoss, train: Feed, *, settings: LoopSettings, machine: Machine, seed: int
    ) -> None:
        placed: Any = net  # torch types no .to with a device and a memory format
        self.net: nn.Module = placed.to(device=machine.device, memory_format=torch.channels_last)
        self.settings, self.machine, self.seed = settings, machine, seed
        self.steps_per_epoch = train.steps(settings.batch_size, drop_last=settings.drop_last)
        self.optimiser = make_optimiser(self.net, settings)
        learner = Learner(self.net, train.prepare, loss)
        trunks = compiled_parts(net) if settings.compile_part == "trunk" else ()
        self._model, self._wrapped = machine.ready(learner, self.optimiser, mode=settings.compile, trunks=trunks)
        self.average = None if settings.ema_decay is None else WeightAverage(self.net, decay=settings.ema_decay)
        self.best = BestSoFar(settings.watch, settings.patience)
        self.meter = LossMeter(machine.device)
        self.epoch, self.step, self.stopped, self.seconds = 0, 0, False, 0.0

    @property
    def steps_done(self) -> int:
        """Steps since the first epoch."""
        return self.epoch * self.steps_per_epoch + self.step

    def rate(self, step: int) -> float:
        """Return the learning rate of a step."""
        settings = self.settings
        return learning_rate_at(
            step,
            total_steps=settings.epochs * self.steps_per_epoch,
            peak=settings.learning_rate,
            kind=settings.schedule,
            warm_up=settings.warm_up,
        )

    def learn(self, batch: BatchShare) -> None:
        """Take one step; nothing here waits for the device."""
        # What the net itself draws (dropout) depends on the step alone: a resumed run draws it again.
        self.machine.seed(derived_seed(self.seed, self.epoch, self.step, self.machine.piece.rank))
        set_learning_rate(self.optimiser, self.rate(self.steps_done))
        verdicts = batch.verdicts
        loss_sum = self._model(batch.inputs, batch.labels, verdicts.correct, verdicts.observed, verdicts.expert_idx)
        # The processes' gradients are averaged: times their number, over all items of the batch, it is the mean.
        self.machine.backward(loss_sum * (self.machine.piece.world / batch.n_together))
        if self.settings.clip_norm is not None:
            self.machine.clip(self._model, self._wrapped, self.settings.clip_norm)
        self._wrapped.step()
        self._wrapped.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(self.steps_done)
        self.meter.add(loss_sum.detach(), len(batch.labels))
        self.step += 1

    def end_epoch(self) -> float:
        """Return the epoch's mean loss over all processes and be ready for the next epoch."""
        counted = torch.stack([self.meter.sum, torch.full_like(self.meter.sum, self.meter.n_items)])
        loss_sum, n_items = self.machine.total(counted).tolist()
        self.epoch, self.step, self.meter = self.epoch + 1, 0, LossMeter(self.machine.device)
        return loss_sum / n_items

    def judged_state(self) -> dict[str, Tensor]:
        """Return the weights that are judged and kept: the average where there is one."""
        return self.net.state_dict() if self.average is None else self.average.state()

    def settle(self) -> None:
        """Leave the net with the best epoch's weights; without a held-out part, with the last."""
        write_state(self.net.state_dict(), self.best.state or self.judged_state())
        self.machine.agree_on_buffers(self.net)
        self.net.eval()

    def save(self, path: Path, same: Mapping[str, Any]) -> None:
        """Write a checkpoint, unless the weights are no numbers any more."""
        if not math.isfinite(float(self.meter.sum)):
            raise not_finite(self.epoch + 1, self.settings.learning_rate)
        state = {
            "same": same,
            "net": self.net.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "average": None if self.average is None else self.average.state(),
            "best": (self.best.value, self.best.epoch, self.best.state),
            "meter": (self.meter.sum, self.meter.n_items),
            **{name: getattr(self, name) for name in _COUNTS},
        }
        write_checkpoint(path, state)

    def load(self, path: Path, same: Mapping[str, Any]) -> None:
        """Go on from a checkpoint of the same run."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            self._check(state["same"], same, path)
            write_state(self.net.state_dict(), state["net"])
            self.optimiser.load_state_dict(state["optimiser"])
            if self.average is not None:
                self.average.load(state["average"])
            self.best.value, self.best.epoch, best = state["best"]
            live = self.net.state_dict()
            self.best.state = {name: torch.empty_like(live[name]).copy_(value) for name, value in best.items()}
            total, self.meter.n_items = state["meter"]
            self.meter.sum.copy_(total)
            for name in _COUNTS:
                setattr(self, name, state[name])
        except InputError:
            raise
        except _DAMAGED as error:
            raise _not_a_checkpoint(path, error) from error

    @staticmethod
    def _check(stored: Mapping[str, Any], same: Mapping[str, Any], path: Path) -> None:
        """Refuse the checkpoint of another run, and say in what it differs."""
        for what, ours in same.items():
            if (theirs := stored.get(what)) != ours:
                data = what.startswith("the ")
                difference = f"{what} are no longer the same" if data else f"{what} was {theirs!r} and is now {ours!r}"
                raise InputError(
                    f"{path} is a checkpoint of another run: {difference}; take another folder for checkpoints, or "
                    "remove the file to start anew."
                )


def _not_a_checkpoint(path: Path, error: Exception) -> InputError:
    """Return the error for a file that is damaged or was written by another program."""
    why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return InputError(f"{path} is no checkpoint of a training ({why}); remove it to start anew.")
