"""Training of the small networks of this benchmark: AdamW on batches of rows, early stopping by held-out rows."""

import copy
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from defero.core.checks.arrays import IntArray

HELD_OUT, BATCH, RATE, DECAY, PATIENCE, MOST_EPOCHS = 0.2, 256, 1e-2, 1e-2, 20, 300


def mlp(n_inputs: int, n_outputs: int, *, width: int = 32) -> nn.Sequential:
    """Return a network with one hidden layer."""
    return nn.Sequential(nn.Linear(n_inputs, width), nn.ReLU(), nn.Linear(width, n_outputs))


def train(
    module: nn.Module, loss: Callable[[Tensor], Tensor], *, groups: IntArray, seed: int, batch: int = BATCH
) -> None:
    """Minimise the mean of `loss(rows)` (one value per row) and keep the weights of the best held-out mean.

    A row is whatever the loss understands by its number: an item here, an episode of an expert there. `groups` (n,)
    number the rows that are held out together.
    """
    rng = np.random.default_rng(seed)
    known = rng.permutation(np.unique(groups))
    out = np.isin(groups, known[: max(1, round(HELD_OUT * len(known)))])
    held, learn = torch.as_tensor(np.flatnonzero(out)), np.flatnonzero(~out)
    optimiser = torch.optim.AdamW(module.parameters(), lr=RATE, weight_decay=DECAY)
    best, best_weights, waited = float("inf"), copy.deepcopy(module.state_dict()), 0
    for _ in range(MOST_EPOCHS):
        module.train()
        for rows in np.array_split(rng.permutation(learn), max(1, round(len(learn) / batch))):
            optimiser.zero_grad()
            torch.autograd.backward(loss(torch.as_tensor(rows)).mean())
            optimiser.step()
        module.eval()
        with torch.no_grad():
            value = float(loss(held).mean())
        if value < best - 1e-5:
            best, best_weights, waited = value, copy.deepcopy(module.state_dict()), 0
        else:
            waited += 1
            if waited >= PATIENCE:
                break
    module.load_state_dict(best_weights)
    module.eval()
