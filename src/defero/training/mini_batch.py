"""AdamW on mini-batches, stopped early: for networks with hidden layers."""

import math
from collections.abc import Callable

import torch

from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.training.early_stopping import EarlyStopping, held_out_losses
from defero.training.examples import Examples, weighted_loss

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
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, _warm_cosine(max_epochs * steps_per_epoch))
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
                f"training diverged in epoch {epoch} (loss {current}); lower learning_rate={learning_rate:g}."
            )
        on_step(current)
        if stopping.watch(net, losses, epoch=epoch):
            break
    stopping.restore(net)
    return epoch


def _warm_cosine(total_steps: int) -> Callable[[int], float]:
    warm = max(1, round(WARM_UP * total_steps))

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total_steps - warm)))

    return factor
