"""AdamW on mini-batches, stopped early: for networks with hidden layers."""

import copy
import math
from collections.abc import Callable

import torch

from defero.core.errors import InputError
from defero.losses import DeferralLoss
from defero.nets import DenseNet
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
    """Train in place, keep the epoch with the least held-out loss, and return how many epochs were run.

    The learning rate rises over the first tenth of the steps and falls to zero along a cosine. Training stops after
    `patience` epochs without a better held-out loss; without held-out rows it runs to the end.

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
    best_loss, best_epoch, best_state = math.inf, 0, copy.deepcopy(net.state_dict())
    for epoch in range(1, max_epochs + 1):
        net.train()
        order = torch.randperm(len(train), generator=generator).to(train.labels.device)
        for rows in order.split(batch_size):
            batch = train.take(rows)
            if not batch.weight.any():
                continue
            optimiser.zero_grad(set_to_none=True)
            value = weighted_loss(net, loss, batch)
            value.backward()
            optimiser.step()
            schedule.step()
        net.eval()
        with torch.no_grad():
            current = weighted_loss(net, loss, train if held_out is None else held_out).item()
        if not math.isfinite(current):
            raise InputError(
                f"training diverged in epoch {epoch} (loss {current}); lower learning_rate={learning_rate:g}."
            )
        on_step(current)
        if current < best_loss:
            best_loss, best_epoch, best_state = current, epoch, copy.deepcopy(net.state_dict())
        elif held_out is not None and epoch - best_epoch >= patience:
            break
    net.load_state_dict(best_state)
    return epoch


def _warm_cosine(total_steps: int) -> Callable[[int], float]:
    warm = max(1, round(WARM_UP * total_steps))

    def factor(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, total_steps - warm)))

    return factor
