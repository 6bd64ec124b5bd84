"""The loop: an epoch, a look at the held-out part, a line in the log, a checkpoint, and again."""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from defero.core.checks.arrays import one_of
from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.training.evaluate import Quality, evaluate
from defero.training.feeds import Feed
from defero.training.loop_settings import LoopSettings
from defero.training.machine import Machine, fast_kernels, start_machine
from defero.training.progress import EpochLine, TrainingLog, progress_bar
from defero.training.training_state import FILE, TrainingState, identity_of, make_folder
from defero.training.troubles import Interrupts, TrainingStopped, explain_troubles, not_finite

LOOK_SECONDS = 1.0
"""Seconds between two looks at the loss within an epoch: each waits for the device."""


@dataclass(frozen=True)
class DeepFit:
    """What came of a training; the net has the weights of `best_epoch`.

    Attributes
    ----------
    epochs : int
        How many were run.
    best_epoch : int
        Counted from 1; the last one where nothing was held out.
    lines : one EpochLine per epoch
    seconds : float
        Of training and looking, without the first step of this process, in which the net is compiled.
    first_step_seconds : float
    checkpoint : Path or None
    """

    epochs: int
    best_epoch: int
    lines: tuple[EpochLine, ...]
    seconds: float
    first_step_seconds: float
    checkpoint: Path | None


def fit_deep(
    net: nn.Module,
    loss: DeferralLoss,
    train: Feed,
    held_out: Feed | None = None,
    *,
    settings: LoopSettings,
    seed: int,
    folder: Path | None = None,
    resume: str = "auto",
    device: str | None = None,
    fabric: Any = None,
    progress: bool = False,
) -> DeepFit:
    """Train a net in place.

    Run again with the same arguments and folder after a kill, it goes on from the last checkpoint and ends with the
    numbers of a run that was never stopped, to the last bit on a CPU. Started by `torchrun`, or given a launched
    Fabric, several processes deal each batch among themselves.

    Parameters
    ----------
    net : nn.Module
        Maps what the feed prepares to `Logits`. Changed in place, and left in eval mode.
    loss : DeferralLoss
    train : Feed
    held_out : Feed, optional
        Watched for the best epoch; without it the last weights are kept.
    settings : LoopSettings
    seed : int
        Of what the net draws itself; the feeds have seeds of their own.
    folder : Path, optional
        Where checkpoint and log are written; nothing is written without it.
    resume : "auto" or "never"
        Whether to continue from an existing checkpoint.
    device : str, optional
        A GPU where there is one by default.
    fabric : lightning_fabric.Fabric, optional
    progress : bool
        Show a bar.

    Returns
    -------
    DeepFit
    """
    one_of("resume", resume, ("auto", "never"))
    path = None if folder is None else folder / FILE
    if folder is not None:
        make_folder(folder)
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with explain_troubles(path, batch_size=settings.batch_size), torch.random.fork_rng(devices):
        machine = start_machine(settings, device=device, fabric=fabric)
        for feed in (train, held_out):
            if feed is not None:
                feed.place(machine.device)
        with fast_kernels(machine.device):
            state = TrainingState(net, loss, train, settings=settings, machine=machine, seed=seed)
            same = {} if path is None else identity_of(net, loss, train, held_out, settings=settings, seed=seed)
            if path is not None and resume == "auto" and _checkpoint_exists(path, machine):
                state.load(path, same)
            run = _Run(state, loss, train, held_out, machine, path, same)
            return run.to_the_end(shown=progress and machine.leads)


def _checkpoint_exists(path: Path, machine: Machine) -> bool:
    """Say whether there is a checkpoint: the leading process knows, and the others must find it too."""
    exists: bool = machine.agreed(path.is_file())
    if exists and not path.is_file():
        raise InputError(
            f": process {machine.piece.rank} finds no {path}; take a folder that all share.", argument="checkpoints"
        )
    return exists


class _Run:
    """One call of `fit_deep`: the state, the feeds, and where to write."""

    def __init__(
        self,
        state: TrainingState,
        loss: DeferralLoss,
        train: Feed,
        held_out: Feed | None,
        machine: Machine,
        path: Path | None,
        same: dict[str, Any],
    ) -> None:
        self.state, self.loss, self.train, self.held_out, self.machine = state, loss, train, held_out, machine
        self.path, self.same = path if machine.leads else None, same
        self.journal = TrainingLog(None if self.path is None else self.path.parent, keep=state.epoch)
        self.saved_at = self.looked_at = time.monotonic()
        self.first_step_seconds = math.nan

    def to_the_end(self, *, shown: bool) -> DeepFit:
        """Run the epochs that are left."""
        state, settings = self.state, self.state.settings
        total = settings.epochs * state.steps_per_epoch
        with (
            Interrupts() as interrupts,
            progress_bar(total, what="training", done=state.steps_done, shown=shown) as tell,
        ):
            while state.epoch < settings.epochs and not state.stopped:
                line = self._epoch(interrupts, tell)
                self.journal.write(line)
                tell(steps=state.steps_done, system_accuracy=line.system_accuracy, ece=line.ece)
                if state.epoch == settings.epochs or state.stopped or self._save_is_due():
                    self._save()
                if interrupts.asked:
                    self._stop_here()
        self.journal.close()
        state.settle()
        best = state.best.epoch or state.epoch
        lines = tuple(self.journal.lines)
        return DeepFit(state.epoch, best, lines, state.seconds, self.first_step_seconds, self.path)

    def _epoch(self, interrupts: Interrupts, tell: Any) -> EpochLine:
        state, settings = self.state, self.state.settings
        started, n_timed = self._train_epoch(interrupts, tell)
        rate = state.rate(state.steps_done - 1)
        loss = state.end_epoch()
        trained = time.monotonic()  # end_epoch read the loss, so the device is done
        speed = n_timed * self.machine.piece.world / (trained - started) if n_timed else math.nan
        if not math.isfinite(loss):
            raise not_finite(state.epoch, settings.learning_rate)
        quality = self._look()
        seconds = time.monotonic() - started
        state.seconds += seconds
        tell(loss, steps=state.steps_done, images_per_second=speed)
        line = EpochLine(epoch=state.epoch, loss=loss, images_per_second=speed, seconds=seconds, learning_rate=rate)
        if quality is None:
            return line
        seen = {name: getattr(quality, name) for name in ("system_accuracy", "class_accuracy", "ece")}
        return replace(line, held_out_loss=quality.loss, **seen)

    def _train_epoch(self, interrupts: Interrupts, tell: Any) -> tuple[float, int]:
        """Run the steps that are left in the epoch; return since when and for how many items its speed counts."""
        state, settings = self.state, self.state.settings
        state.net.train()
        started, n_timed = time.monotonic(), 0
        batches = self.train.batches(
            state.epoch,
            batch_size=settings.batch_size,
            drop_last=settings.drop_last,
            start=state.step,
            piece=self.machine.piece,
        )
        for batch in batches:
            state.learn(batch)
            n_timed += len(batch.labels)
            if math.isnan(self.first_step_seconds):  # the first step compiles: it is timed by itself
                self.machine.finish()
                self.first_step_seconds = time.monotonic() - started
                started, n_timed = time.monotonic(), 0
            if time.monotonic() - self.looked_at >= LOOK_SECONDS:
                self._peek(tell)
            if interrupts.asked:
                self._stop_here()
            if self._save_is_due():
                self._save()
        return started, n_timed

    def _peek(self, tell: Any) -> None:
        loss = float(self.state.loss_sum) / max(1, self.state.n_items)
        self.looked_at = time.monotonic()
        if not math.isfinite(loss):
            raise not_finite(self.state.epoch + 1, self.state.settings.learning_rate)
        tell(loss, steps=self.state.steps_done)

    def _look(self) -> Quality | None:
        """Judge the held-out part where it is due, and take note of a better epoch."""
        state, settings = self.state, self.state.settings
        due = state.epoch % settings.evaluate_every == 0 or state.epoch == settings.epochs
        if self.held_out is None or not due:
            return None
        if state.average is None:
            quality = self._judge(self.held_out)
        else:
            with state.average.applied():
                quality = self._judge(self.held_out)
        if not math.isfinite(quality.loss):
            raise not_finite(state.epoch, settings.learning_rate)
        value = quality.loss if settings.watch == "loss" else quality.system_accuracy
        state.stopped = state.best.take(self.machine.agreed(value), state.judged_state(), epoch=state.epoch)
        return quality

    def _judge(self, held_out: Feed) -> Quality:
        return evaluate(self.state.net, self.loss, held_out, self.machine, batch_size=self.state.settings.batch_size)

    def _save_is_due(self) -> bool:
        due = time.monotonic() - self.saved_at >= self.state.settings.save_seconds
        return self.path is not None and due

    def _save(self) -> None:
        if self.path is not None:
            self.state.save(self.path, self.same)
            self.saved_at = time.monotonic()

    def _stop_here(self) -> None:
        self._save()
        raise TrainingStopped(f"stopped by Ctrl-C in epoch {self.state.epoch + 1}, step {self.state.step}.")
