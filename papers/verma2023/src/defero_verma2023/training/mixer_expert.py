"""The network among the experts of HAM10000: an MLP-Mixer that reads a picture and what is known of the patient."""

import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from defero import InputError
from defero.training import Normalised, colours, learning_rate_at
from defero_verma2023.arrays import FloatArray, IntArray

N_LOOK = 512
"""Pictures that are answered together."""


class MlpMixer(nn.Module):
    """Patches of a picture, mixed by turns across places and across channels; then their mean beside other numbers.

    Tolstikhin et al., "MLP-Mixer: an all-MLP architecture for vision" (2021).

    Parameters
    ----------
    size : (height, width)
    n_numbers : int
        How many numbers come beside each picture.
    n_classes : int
    patch : int
        Side of a patch; height and width are multiples of it.
    width, depth, expansion : int
        Channels of a patch, blocks, and how much wider the layers inside a block are.
    dropout : float

    Examples
    --------
    >>> net = MlpMixer((8, 12), n_numbers=2, n_classes=7, patch=4, width=8, depth=2)
    >>> net(torch.zeros(5, 3, 8, 12), torch.zeros(5, 2)).shape
    torch.Size([5, 7])
    """

    def __init__(
        self,
        size: tuple[int, int],
        *,
        n_numbers: int,
        n_classes: int,
        patch: int,
        width: int = 128,
        depth: int = 8,
        expansion: int = 2,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        if size[0] % patch or size[1] % patch:
            raise InputError(f"must divide the pictures' sides {size[0]} and {size[1]}, got {patch}.", argument="patch")
        n_places = (size[0] // patch) * (size[1] // patch)
        self.patches = nn.Conv2d(3, width, patch, stride=patch)
        self.blocks = nn.Sequential(*(_Block(n_places, width, expansion, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width + n_numbers, n_classes)

    def forward(self, pictures: Tensor, numbers: Tensor) -> Tensor:
        """Return the logits (b, K) of pictures (b, 3, h, w) and numbers (b, m)."""
        tokens = self.patches(pictures).flatten(2).transpose(1, 2)
        mean = self.norm(self.blocks(tokens)).mean(dim=1)
        logits: Tensor = self.head(torch.cat([mean, numbers.to(mean)], dim=1))
        return logits


class _Block(nn.Module):
    def __init__(self, n_places: int, width: int, expansion: int, dropout: float) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.across_places = _two_layers(n_places, expansion, dropout)
        self.across_channels = _two_layers(width, expansion, dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        tokens = tokens + self.across_places(self.norms[0](tokens).transpose(1, 2)).transpose(1, 2)
        return torch.add(tokens, self.across_channels(self.norms[1](tokens)))


def _two_layers(width: int, expansion: int, dropout: float) -> nn.Sequential:
    inner = width * expansion
    return nn.Sequential(
        nn.Linear(width, inner), nn.GELU(), nn.Dropout(dropout), nn.Linear(inner, width), nn.Dropout(dropout)
    )


@dataclass(frozen=True, kw_only=True)
class MixerRecipe:
    """How the network expert is trained: AdamW, one cycle, flips in both directions."""

    patch: int = 10
    width: int = 128
    depth: int = 8
    dropout: float = 0.5
    epochs: int = 30
    batch_size: int = 512
    learning_rate: float = 2e-3
    weight_decay: float = 0.05
    warm_up: float = 0.2


@dataclass(frozen=True, eq=False)
class MixerCases:
    """Pictures (n, h, w, 3) as bytes, numbers (n, m) beside them and labels (n,)."""

    pictures: Tensor
    numbers: FloatArray
    labels: IntArray
    n_classes: int


@dataclass(frozen=True)
class MixerAnswers:
    """What the network says of all n pictures, and the seconds of its trainings."""

    answers: IntArray
    seconds: float


def answers_of_mixer(
    cases: MixerCases, train: IntArray, folds: tuple[IntArray, ...], *, recipe: MixerRecipe, seed: int
) -> MixerAnswers:
    """Train the network on the training rows and let it answer everything, those rows themselves across folds.

    To its own training pictures a network knows the answers. Whoever learns from these answers when to trust it would
    trust it always; so each fold of the training rows is answered by a network that was trained on the others.

    Parameters
    ----------
    cases : MixerCases
    train : (m,) int
        Rows to learn from.
    folds : places in `train`, 0..m-1, that together hold each of them once
    recipe : MixerRecipe
    seed : int
    """
    started = time.monotonic()
    answers = _answers(_trained(cases, train, recipe, seed), cases, train, np.arange(len(cases.labels)))
    for number, fold in enumerate(folds, start=1):
        rest = train[np.setdiff1d(np.arange(len(train)), fold)]
        net = _trained(cases, rest, recipe, seed + 1_000 * number)
        answers[train[fold]] = _answers(net, cases, rest, train[fold])
    return MixerAnswers(answers, time.monotonic() - started)


def _trained(cases: MixerCases, rows: IntArray, recipe: MixerRecipe, seed: int) -> MlpMixer:
    """Return a network after all epochs; nothing is watched."""
    device = _device()
    with torch.random.fork_rng([torch.cuda.current_device()] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        height, width = cases.pictures.shape[1:3]
        net = MlpMixer(
            (height, width),
            n_numbers=cases.numbers.shape[1],
            n_classes=cases.n_classes,
            patch=recipe.patch,
            width=recipe.width,
            depth=recipe.depth,
            dropout=recipe.dropout,
        ).to(device)
        optimiser = torch.optim.AdamW(net.parameters(), weight_decay=recipe.weight_decay, fused=device.type == "cuda")
        pictures, numbers, prepare = _inputs(cases, rows, rows, device)
        labels = torch.from_numpy(cases.labels[rows]).to(device)
        size = min(recipe.batch_size, len(rows))
        n_steps = len(rows) // size
        net.train()
        for epoch in range(recipe.epochs):
            order = torch.randperm(len(rows), device=device)
            for step in range(n_steps):
                chosen = order[step * size : (step + 1) * size]
                rate = _rate(epoch * n_steps + step, recipe.epochs * n_steps, recipe)
                for group in optimiser.param_groups:
                    group["lr"] = rate
                with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                    logits = net(_flipped(prepare(pictures[chosen])), numbers[chosen])
                    loss = cross_entropy(logits.float(), labels[chosen])
                torch.autograd.backward(loss)
                optimiser.step()
                optimiser.zero_grad(set_to_none=True)
    return net


def _rate(step: int, total_steps: int, recipe: MixerRecipe) -> float:
    return learning_rate_at(
        step, total_steps=total_steps, peak=recipe.learning_rate, kind="one-cycle", warm_up=recipe.warm_up
    )


def _answers(net: MlpMixer, cases: MixerCases, learned: IntArray, rows: IntArray) -> IntArray:
    device = _device()
    pictures, numbers, prepare = _inputs(cases, rows, learned, device)
    net.eval()
    answers = []
    with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        for start in range(0, len(rows), N_LOOK):
            here = slice(start, start + N_LOOK)
            answers.append(net(prepare(pictures[here]), numbers[here]).argmax(dim=1))
    return torch.cat(answers).cpu().numpy()


def _inputs(
    cases: MixerCases, rows: IntArray, learned: IntArray, device: torch.device
) -> tuple[Tensor, Tensor, Normalised]:
    """Return some rows' inputs on the device, standardised by the rows that are learned from."""
    center, spread = cases.numbers[learned].mean(axis=0), cases.numbers[learned].std(axis=0)
    standard = (cases.numbers[rows] - center) / np.where(spread > 0, spread, 1.0)
    pictures = cases.pictures.to(device)
    prepare = Normalised(*colours(pictures[torch.from_numpy(learned).to(device)])).to(device)
    return pictures[torch.from_numpy(rows).to(device)], torch.from_numpy(standard).float().to(device), prepare


def _flipped(pictures: Tensor) -> Tensor:
    """Mirror half of the pictures left to right, and half of them top to bottom."""
    for axis in (2, 3):
        mirrored = torch.rand(len(pictures), 1, 1, 1, device=pictures.device) < 0.5
        pictures = torch.where(mirrored, pictures.flip(axis), pictures)
    return pictures


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
