"""A training under way: what one step changes, and the checkpoint from which it goes on."""

import math
import os
import zlib
from collections.abc import Mapping
from dataclasses import asdict
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
    BestSoFar,
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
_COUNTS = ("epoch", "step", "n_items", "stopped", "seconds")
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
    loss_sum, n_items : tensor, int
        Of the losses of the present epoch, on the device, and over how many items.
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
        self.loss_sum, self.n_items = torch.zeros((), dtype=torch.float64, device=machine.device), 0
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
        fabric, clip_norm = self.machine.fabric, self.settings.clip_norm
        fabric.backward(loss_sum * (self.machine.piece.world / batch.n_together))
        if clip_norm is not None:  # a NaN is found by the loop, without waiting for the device here
            fabric.clip_gradients(self._model, self._wrapped, max_norm=clip_norm, error_if_nonfinite=False)
        self._wrapped.step()
        self._wrapped.zero_grad(set_to_none=True)
        if self.average is not None:
            self.average.update(self.steps_done)
        self.loss_sum += loss_sum.detach()
        self.n_items += len(batch.labels)
        self.step += 1

    def end_epoch(self) -> float:
        """Return the epoch's mean loss over all processes and be ready for the next epoch."""
        counted = torch.stack([self.loss_sum, torch.full_like(self.loss_sum, self.n_items)])
        loss_sum, n_items = self.machine.total(counted).tolist()
        self.epoch, self.step, self.n_items = self.epoch + 1, 0, 0
        self.loss_sum.zero_()
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
        if not math.isfinite(float(self.loss_sum)):
            raise not_finite(self.epoch + 1, self.settings.learning_rate)
        state = {
            "same": same,
            "net": self.net.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "average": None if self.average is None else self.average.state(),
            "best": (self.best.value, self.best.epoch, self.best.state),
            "loss_sum": self.loss_sum,
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
            self.loss_sum.copy_(state["loss_sum"])
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
