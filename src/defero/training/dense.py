"""Linear models by L-BFGS on all rows; networks with hidden layers by AdamW on mini-batches, stopped early."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from scipy.optimize import minimize
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from defero.core.checks.arrays import FloatArray
from defero.core.errors import Argument, InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training.optimisers import BestSoFar, learning_rate_at
from defero.training.verdicts import Examples, mean_loss, weighted_loss


def fit_full_batch(
    net: DenseNet,
    loss: DeferralLoss,
    examples: Examples,
    *,
    weight_decay: float,
    max_iterations: int,
    on_step: Callable[[float], None],
) -> None:
    """Minimise mean loss + weight_decay / 2 * |weights|^2 (biases are free) in place.

    The rows are gone through in pieces whose gradients add up: memory does not grow with items times experts.

    Parameters
    ----------
    net : DenseNet
        Changed in place.
    loss : DeferralLoss
    examples : Examples
    weight_decay : float
    max_iterations : int
    on_step : callable
        Told the objective after each iteration.
    """
    parameters = list(net.parameters())
    weights = [p for name, p in net.named_parameters() if name.endswith("weight")]
    total = examples.weight.sum()
    start = parameters_to_vector(parameters).detach()
    last = [float("nan")]

    def assign(flat: FloatArray) -> None:
        vector_to_parameters(torch.tensor(flat, dtype=start.dtype, device=start.device), parameters)

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        assign(flat)
        net.zero_grad()
        last[0] = 0.0
        for place, piece in enumerate(examples.pieces()):
            value = weighted_loss(net, loss, piece, total_weight=total)
            if place == 0:  # in one graph with a loss, so that one piece rounds as all rows at once
                value = value + 0.5 * weight_decay * sum((w * w).sum() for w in weights)
            value.backward()
            last[0] += value.item()
        gradient = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in parameters])
        return last[0], gradient.double().cpu().numpy()

    minimum = minimize(
        objective,
        start.double().cpu().numpy(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "maxfun": 2 * max_iterations, "gtol": 1e-6, "ftol": 1e-9, "maxcor": 20},
        callback=lambda _: on_step(last[0]),
    )
    if not math.isfinite(minimum.fun):
        raise InputError(f"is {minimum.fun} on the training part; it must be a finite number.", argument="loss")
    assign(minimum.x)
    if minimum.nit >= max_iterations:
        warnings.warn(
            f"L-BFGS stopped after {max_iterations} iterations with gradient {np.abs(minimum.jac).max():.1e}; "
            "raise max_epochs, or weight_decay where the classes are separable.",
            stacklevel=2,
        )


WARM_UP = 0.1  # of all steps


def fit_mini_batch(
    net: DenseNet,
    loss: DeferralLoss,
    train: Examples,
    held_out: Examples | None,
    *,
    batch_size: int,
    learning_rate: float,
    weight_decay: float,
    max_epochs: int,
    patience: int,
    generator: torch.Generator,
    on_step: Callable[[float], None],
) -> int:
    """Train in place, keep the epochs with the least held-out loss, and return how many were run.

    The learning rate rises over the first tenth of the steps and falls to zero along a cosine. Training stops after
    `patience` epochs without a better held-out loss of the classes or of the experts; without held-out rows it runs
    to the end.

    Parameters
    ----------
    net : DenseNet
        Changed in place.
    loss : DeferralLoss
    train, held_out : Examples
    batch_size, learning_rate, weight_decay, max_epochs, patience
    generator : torch.Generator
        Shuffles the rows.
    on_step : callable
        Told the held-out loss (else the training loss) after each epoch.
    """
    steps_per_epoch = math.ceil(len(train) / batch_size)
    optimiser = torch.optim.AdamW(net.parameters(), lr=learning_rate, weight_decay=weight_decay)
    total = max_epochs * steps_per_epoch
    warm_up = max(WARM_UP, 1 / total)
    share = partial(learning_rate_at, total_steps=total, peak=1.0, kind="cosine", warm_up=warm_up)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, share)
    mean_weight = train.weight.mean().item()
    stopping = EarlyStopping(patience=max_epochs if held_out is None else patience)
    for epoch in range(1, max_epochs + 1):
        net.train()
        order = torch.randperm(len(train), generator=generator).to(train.labels.device)
        for rows in order.split(batch_size):
            batch = train.take(rows)
            optimiser.zero_grad(set_to_none=True)
            value = weighted_loss(net, loss, batch, total_weight=mean_weight * len(batch))
            value.backward()
            optimiser.step()
            schedule.step()
        net.eval()
        losses = held_out_losses(net, loss, train if held_out is None else held_out)
        current = sum(losses.values())
        if not math.isfinite(current):
            raise InputError(
                f"training diverged in epoch {epoch} (loss {current}); lower "
                f"{Argument('learning_rate', learning_rate)}."
            )
        on_step(current)
        if stopping.watch(net, losses, epoch=epoch):
            break
    stopping.restore(net)
    return epoch


def held_out_losses(net: DenseNet, loss: DeferralLoss, examples: Examples) -> dict[str, float]:
    """Return what to watch: {"class", "expert"} for a separable loss, else {"all"}: there the two share a scale."""
    whole = mean_loss(net, loss, examples)
    if not loss.separable:
        return {"all": whole}
    classes = mean_loss(net, loss, examples.without_experts())
    return {"class": classes, "expert": whole - classes}


class EarlyStopping:
    """Remember each part's weights at its best epoch.

    Many experts with noisy answers overfit long before the classes are learned. Watched together they would stop
    both too early, and the classifier would get worse with every expert added.

    Parameters
    ----------
    patience : int
        Epochs without a better value of any part before training stops.
    """

    def __init__(self, *, patience: int) -> None:
        self.patience = patience
        self.best: dict[str, BestSoFar] = {}

    def watch(self, net: DenseNet, losses: dict[str, float], *, epoch: int) -> bool:
        """Take note of an epoch; return whether to stop."""
        for part, value in losses.items():
            best = self.best.setdefault(part, BestSoFar("loss", self.patience))
            # A part whose patience ran out is settled, however long the other one goes on.
            if epoch - best.epoch <= self.patience:
                state = {name: tensor for name, tensor in net.state_dict().items() if _belongs(name, part)}
                best.take(value, state, epoch=epoch)
        return all(epoch - best.epoch >= self.patience for best in self.best.values())

    def restore(self, net: DenseNet) -> None:
        """Put each part back to its best epoch.

        The experts' heads then read the class posterior of another epoch than the one they were chosen at.
        """
        for best in self.best.values():
            net.load_state_dict(best.state, strict=False)


def _belongs(parameter: str, part: str) -> bool:
    """Tell whether a parameter, such as "heads.class.weight", belongs to a part."""
    return part == "all" or parameter.split(".")[1] == part


SMALL = 2**22
"""Multiply-adds of one layer and one batch, below which a second thread does not pay."""


@contextmanager
def threads_for(batch_size: int, *, widest: int) -> Iterator[None]:
    """Run a block on one thread where batches are small, and on as many as before otherwise.

    On a busy machine threads that wait for each other after every tiny product took ten times the CPU time.

    >>> before = torch.get_num_threads()
    >>> with threads_for(32, widest=64):
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    before = torch.get_num_threads()
    small = batch_size * widest**2 < SMALL
    if small:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if small:
            torch.set_num_threads(before)
