"""A training under way: what one step changes, and what a checkpoint keeps of it."""

import math
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DeferralNet
from defero.training.deep.feeds.feed import Batch, Feed
from defero.training.deep.learner import Learner
from defero.training.deep.loop_settings import LoopSettings
from defero.training.deep.machine import Machine
from defero.training.deep.optimisers import (
    WeightAverage,
    learning_rate_at,
    make_optimiser,
    set_learning_rate,
    write_state,
)
from defero.training.deep.run.checkpoint import (
    RunIdentity,
    load_optimiser,
    named,
    not_a_checkpoint,
    optimiser_tensors,
    read_checkpoint,
    under,
    write_checkpoint,
)
from defero.training.deep.run.seeds import derived_seed
from defero.training.deep.run.troubles import not_finite
from defero.training.deep.run.watch import BestSoFar, LossMeter


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

    def learn(self, batch: Batch) -> None:
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

    def save(self, path: Path, same: RunIdentity) -> None:
        """Write a checkpoint, unless the weights are no numbers any more."""
        if not math.isfinite(float(self.meter.sum)):
            raise not_finite(self.epoch + 1, self.settings.learning_rate)
        tensors = {
            **named("net", self.net.state_dict()),
            **named("optimiser", optimiser_tensors(self.optimiser)),
            **named("average", {} if self.average is None else self.average.state()),
            **named("best", self.best.state),
            "meter": self.meter.sum,
        }
        write_checkpoint(path, tensors, {"same": asdict(same), **self._facts()})

    def load(self, path: Path, same: RunIdentity) -> None:
        """Go on from a checkpoint of the same run."""
        tensors, facts = read_checkpoint(path)
        try:
            same.check(facts["same"], path)
            self._take(tensors, facts)
        except InputError:
            raise
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise not_a_checkpoint(path, error) from error

    def _take(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Put the weights and counts of a checkpoint in the place of our own."""
        write_state(self.net.state_dict(), under("net", tensors))
        load_optimiser(self.optimiser, under("optimiser", tensors))
        if self.average is not None:
            self.average.load(under("average", tensors))
        self.best.value, self.best.epoch = facts["best_value"], facts["best_epoch"]
        live = self.net.state_dict()
        self.best.state = {
            name: torch.empty_like(live[name]).copy_(value) for name, value in under("best", tensors).items()
        }
        self.meter.sum.copy_(tensors["meter"])
        self.meter.n_items = facts["meter_items"]
        self.epoch, self.step, self.stopped = facts["epoch"], facts["step"], facts["stopped"]
        self.seconds = facts["seconds"]

    def _facts(self) -> dict[str, Any]:
        return {
            "epoch": self.epoch,
            "step": self.step,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "best_value": self.best.value,
            "best_epoch": self.best.epoch,
            "meter_items": self.meter.n_items,
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
