"""CIFAR-10 with simulated experts, trained end to end: what figures 2, 3 and the appendix rest on."""

from dataclasses import asdict, dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from defero.core.checks import IntArray
from defero.core.errors import InputError
from defero.datasets import cifar10
from defero.experts import ExpertPool
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.papers.verma2023.methods import END_TO_END, LOSSES, METHODS, check_pool
from defero.papers.verma2023.network_outputs import network_outputs, nothing_said
from defero.papers.verma2023.team_outputs import TeamOutputs
from defero.papers.verma2023.trained_team import TrainedTeam
from defero.papers.verma2023.workshop import Task, Workshop
from defero.scorers.links import LossName
from defero.training.deep.answer_source import AnswerSource, RedrawnByClass
from defero.training.deep.crops import Augmentation
from defero.training.deep.feed_device import DeviceFeed
from defero.training.deep.loop import fit_deep
from defero.training.deep.machine import start_machine
from defero.training.deep.recipe import Recipe

N_CLASSES = 10
N_VALIDATION = 5_000
NET = "wrn-28-4"
RECIPE = Recipe(
    epochs=18,
    batch_size=1024,
    optimiser="muon",
    learning_rate=0.05,
    weight_decay=2e-3,
    warm_up=0.1,
    compile_part="trunk",
)
CUTOUT = 0
N_LOOK = 1_000
"""Pictures that are looked at together after the training."""
QUICK_NET = "wrn-10-1"
QUICK_RECIPE = Recipe(epochs=12, batch_size=128, learning_rate=0.1)
N_QUICK = 4_000


@dataclass(frozen=True, eq=False)
class Cifar10Parts:
    """Pictures (n, 32, 32, 3) as bytes and labels (n,) of the three parts."""

    pictures: dict[str, Tensor]
    labels: dict[str, IntArray]


def load_parts(*, limit: int | None = None) -> Cifar10Parts:
    """Read CIFAR-10 from the data folder: 45,000 training pictures, 5,000 for validation, the 10,000 of the test.

    Parameters
    ----------
    limit : int, optional
        Keep so many training pictures, and as many validation and test pictures at most.
    """
    loaded = cifar10()
    train, test = (np.flatnonzero(loaded.split == part) for part in ("train", "test"))
    train = np.random.default_rng(0).permutation(train)
    rows = {"train": train[:-N_VALIDATION][:limit], "validation": train[-N_VALIDATION:][:limit], "test": test[:limit]}
    return Cifar10Parts(
        {part: torch.from_numpy(loaded.images[chosen]) for part, chosen in rows.items()},
        {part: loaded.labels[chosen] for part, chosen in rows.items()},
    )


def train_team(
    parts: Cifar10Parts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str = NET,
    recipe: Recipe = RECIPE,
    cutout: int = CUTOUT,
) -> TrainedTeam:
    """Train one network with its experts and return what it says of the validation and the test pictures.

    The experts' answers to the training pictures are drawn anew in every epoch, as in the paper; those to the other
    pictures once. The last weights are kept: nothing is chosen on the validation part, which is left for calibration.

    Parameters
    ----------
    parts : Cifar10Parts
    pool : ExpertPool, optional
        None for one classifier.
    method : str
        A name of `END_TO_END`.
    seed : int
        Of the weights, the order, the crops and the answers.
    net : str
    recipe : Recipe
    cutout : int
        Side of the square that is painted over in training; 0 for none.
    """
    if method not in END_TO_END:
        raise InputError(f"method must be one of {', '.join(END_TO_END)}, got {method!r}.")
    check_pool(method, pool)
    n_experts = 0 if pool is None else pool.n_experts
    augmentation = Augmentation(cutout=cutout)
    labels = torch.from_numpy(parts.labels["train"])
    feed = DeviceFeed(
        parts.pictures["train"], labels, _redrawn(pool, len(labels), seed=seed), seed=seed, augmentation=augmentation
    )
    module = net_by_name(
        net,
        torch.zeros(2, 3, 32, 32),
        n_classes=N_CLASSES,
        n_experts=n_experts,
        model_column=method == "moe",
        generator=torch.Generator().manual_seed(seed),
    )
    fit = fit_deep(module, DeferralLoss(LOSSES[method]), feed, recipe=recipe, seed=seed)
    validation, test = (
        _outputs(module, parts, part, LOSSES[method], feed, pool, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate(("validation", "test"), start=1)
    )
    facts = asdict(recipe) | {"cutout": cutout, "n_train": len(labels), "first_step_seconds": fit.first_step_seconds}
    return TrainedTeam(validation, test, fit.seconds, facts)


def workshop(*, quick: bool) -> Workshop:
    """Return how CIFAR-10's teams are trained; quick: a small network on a subset, for a laptop without a GPU."""
    recipe, net, limit = (QUICK_RECIPE, QUICK_NET, N_QUICK) if quick else (RECIPE, NET, None)

    def train(parts: Cifar10Parts, task: Task) -> TrainedTeam:
        if task.method == "two-stage" and task.pool is not None and task.one_classifier is not None:
            from defero.papers.verma2023.two_stage import after_one_classifier

            alone = task.one_classifier()
            return after_one_classifier(alone.validation, alone.test, task.pool, seed=task.seed)
        chosen = recipe if task.epochs is None else replace(recipe, epochs=task.epochs)
        return train_team(parts, task.pool, task.method, seed=task.seed, net=task.net, recipe=chosen)

    return Workshop(nets={net: METHODS}, load=lambda seed, protocol: _parts(limit, quick=quick), train=train)


@lru_cache(maxsize=1)
def _parts(limit: int | None, *, quick: bool) -> Cifar10Parts:
    parts = load_parts(limit=limit)
    return replace(parts, pictures={part: halved(own) for part, own in parts.pictures.items()}) if quick else parts


def halved(pictures: Tensor) -> Tensor:
    """Return pictures (n, h, w, c) of half the height and width, each pixel the mean of four.

    >>> halved(torch.tensor([[[[0], [2]], [[4], [8]]]], dtype=torch.uint8)).tolist()
    [[[[4]]]]
    """
    n_items, height, width, colours = pictures.shape
    fours = pictures.view(n_items, height // 2, 2, width // 2, 2, colours)
    return fours.float().mean(dim=(2, 4)).round().to(torch.uint8)


def _redrawn(pool: ExpertPool | None, n_items: int, *, seed: int) -> AnswerSource:
    if pool is None:
        return nothing_said(n_items)
    right = np.stack([np.diagonal(expert.table) for expert in pool.experts], axis=1)
    return RedrawnByClass(torch.from_numpy(right).float(), seed=seed)


def _outputs(
    module: DeferralNet,
    parts: Cifar10Parts,
    part: str,
    loss: LossName,
    train: DeviceFeed,
    pool: ExpertPool | None,
    *,
    rng: np.random.Generator,
) -> TeamOutputs:
    labels = parts.labels[part]
    nothing = nothing_said(len(labels), n_experts=module.n_experts)
    feed = DeviceFeed(parts.pictures[part], torch.from_numpy(labels), nothing, seed=0, normalise=train.normalise)
    answers = np.empty((len(labels), 0), dtype=np.int64) if pool is None else pool.draw(labels, rng=rng)
    return network_outputs(module, feed, start_machine(Recipe()), loss=loss, answers=answers, batch_size=N_LOOK)
