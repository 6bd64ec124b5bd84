"""Small pictures, small nets, and a run of a few epochs, for the tests of the deep loop."""

from pathlib import Path

import numpy as np
import torch
from torch import nn

from defero.losses import DeferralLoss
from defero.nets import DeferralNet
from defero.training.answer_source import FixedAnswers, RedrawnAnswers
from defero.training.feeds import DeviceFeed
from defero.training.loop import DeepFit, fit_deep
from defero.training.loop_settings import LoopSettings
from defero.training.pictures import Augmentation
from defero.training.verdicts import Verdicts

K, J = 3, 2


def pictures(n_items: int = 48, *, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Pictures (n, 8, 8, 3) whose brightest colour is their class."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(K, size=n_items)
    noise = rng.integers(0, 160, size=(n_items, 8, 8, 3))
    noise[np.arange(n_items), :, :, labels] += 90
    return torch.from_numpy(noise.astype(np.uint8)), torch.from_numpy(labels)


def draw(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Expert j is right on class j and guesses elsewhere."""
    guesses = rng.integers(K, size=(len(labels), J))
    return np.where(labels[:, None] == np.arange(J), labels[:, None], guesses)


def feed(n_items: int = 48, *, seed: int = 0, redrawn: bool = False, augmented: bool = True) -> DeviceFeed:
    inputs, labels = pictures(n_items, seed=seed)
    recorded = torch.from_numpy(draw(labels.numpy(), np.random.default_rng(seed)))
    answers = RedrawnAnswers(draw, seed=seed) if redrawn else FixedAnswers(Verdicts.from_codes(recorded, labels))
    change = Augmentation(pad=2, cutout=3) if augmented else None
    return DeviceFeed(inputs, labels, answers, seed=seed, augmentation=change)


def small_net(*, seed: int = 0, norm: bool = True, dropout: float = 0.2) -> DeferralNet:
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        trunk = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8) if norm else nn.Identity(),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Dropout(dropout),
        )
    return DeferralNet.build(
        trunk, torch.zeros(2, 3, 8, 8), n_classes=K, n_experts=J, generator=torch.Generator().manual_seed(seed)
    )


SETTINGS = LoopSettings(epochs=3, batch_size=16, learning_rate=0.05, ema_decay=0.9, patience=3, save_seconds=0.0)


def fitted(
    net: nn.Module,
    *,
    settings: LoopSettings = SETTINGS,
    folder: Path | None = None,
    redrawn: bool = True,
    **options: object,
) -> DeepFit:
    """Train on 48 pictures, with 24 held out."""
    train = feed(redrawn=redrawn)
    held_out = feed(24, seed=1, augmented=False)
    return fit_deep(
        net, DeferralLoss("ova"), train, held_out, settings=settings, seed=5, folder=folder, device="cpu", **options
    )
