"""Small pictures whose brightest colour is their class, four experts, and nets that learn them in a second."""

from dataclasses import fields

import numpy as np
from torch import nn

from defero import DeferralClassifier, Recipe

K = 3
SKILL = (0.95, 0.8, 0.6, 0.4)


def pictures(n=200, *, seed=0):
    """Return pictures (n, 8, 8, 3) of bytes, labels (n,) and answers (n, 4)."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n)
    noise = rng.integers(0, 150, size=(n, 8, 8, 3))
    noise[np.arange(n), :, :, labels] += 60
    right = rng.random((n, len(SKILL))) < SKILL
    answers = np.where(right, labels[:, None], (labels[:, None] + rng.integers(1, K, size=right.shape)) % K)
    return noise.astype(np.uint8), labels, answers


class Pooled(nn.Module):
    """Somebody's own trunk: the mean colour, and a layer on it."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 8)
        nn.init.constant_(self.layer.bias, 0.0)
        nn.init.eye_(self.layer.weight)

    def forward(self, batch):
        return self.layer(batch.mean(dim=(2, 3))).relu()


def small_team(net="wrn-10-1", **options):
    names = [field.name for field in fields(Recipe)]
    recipe = {"max_epochs": 3, "batch_size": 32, **{name: options.pop(name) for name in names if name in options}}
    settings = {"random_state": 0, "device": "cpu", "loss": "ova", **options}
    return DeferralClassifier(net, recipe=Recipe(**recipe), **settings)
