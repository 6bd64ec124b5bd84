"""CIFAR-10 with simulated experts: what figures 2, 3 and the appendix rest on.

One classifier is trained from scratch, and in figure 2 so are the paper's two losses. All else starts from that
classifier, which takes a third of the time: networks tune its trunk on with their experts, and two-stage learns from
what it says.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from defero.core.errors import InputError
from defero.experts import ExpertPool
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.papers.verma2023.cifar10_parts import Cifar10Parts, shared_parts
from defero.papers.verma2023.methods import (
    END_TO_END,
    FROZEN,
    LOSSES,
    ONE_CLASSIFIER,
    TUNED,
    TWO_LOSSES,
    check_pool,
    root_of,
)
from defero.papers.verma2023.network_outputs import network_outputs, nothing_said
from defero.papers.verma2023.picture_parts import Arrays
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
TUNING = replace(RECIPE, epochs=6, learning_rate=0.02)
"""Of a network that starts from one classifier's trunk."""
CUTOUT = 0
N_LOOK = 1_000
"""Pictures that are looked at together after the training."""
_TRUNK = "trunk."
QUICK_NET = "wrn-10-1"
QUICK_RECIPE = Recipe(epochs=12, batch_size=128, learning_rate=0.1)
QUICK_TUNING = replace(QUICK_RECIPE, epochs=4, learning_rate=0.05)
N_QUICK = 4_000


def train_team(
    parts: Cifar10Parts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str = NET,
    recipe: Recipe = RECIPE,
    cutout: int = CUTOUT,
    start: Mapping[str, Tensor] | None = None,
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
    start : mapping, optional
        Weights with which the trunk starts; drawn by the seed without it.
    """
    return _trained(parts, pool, method, seed=seed, net=net, recipe=recipe, cutout=cutout, start=start)[0]


def _trained(
    parts: Cifar10Parts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str,
    recipe: Recipe,
    cutout: int = CUTOUT,
    start: Mapping[str, Tensor] | None = None,
) -> tuple[TrainedTeam, DeferralNet]:
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
    if start is not None:
        module.trunk.load_state_dict(start)
    fit = fit_deep(module, DeferralLoss(LOSSES[method]), feed, recipe=recipe, seed=seed)
    validation, test = (
        _outputs(module, parts, part, LOSSES[method], feed, pool, rng=np.random.default_rng([seed, number]))
        for number, part in enumerate(("validation", "test"), start=1)
    )
    facts = asdict(recipe) | {"cutout": cutout, "n_train": len(labels), "first_step_seconds": fit.first_step_seconds}
    if start is not None:
        facts["start"] = "the trunk of one classifier of the same seed"
    return TrainedTeam(validation, test, fit.seconds, facts), module


def workshop(*, quick: bool) -> Workshop:
    """Return how CIFAR-10's teams are trained; quick: a small network on a subset, for a laptop without a GPU."""
    net, limit = (QUICK_NET, N_QUICK) if quick else (NET, None)

    def train(parts: Cifar10Parts, task: Task) -> TrainedTeam:
        recipe, tuning = (QUICK_RECIPE, QUICK_TUNING) if quick else (RECIPE, TUNING)
        if task.net.endswith(FROZEN) and task.pool is not None:
            # Only now: it loads scikit-learn, which a machine that trains nets need not have.
            from defero.papers.verma2023.two_stage import after_one_classifier

            alone = one_classifier(parts, seed=task.seed, net=root_of(task.net), recipe=recipe)
            return after_one_classifier(alone.validation, alone.test, task.pool, seed=task.seed)
        if task.net.endswith(TUNED):
            start = classifier_trunk(parts, seed=task.seed, net=root_of(task.net), recipe=recipe)
            chosen = tuning if task.epochs is None else replace(tuning, epochs=task.epochs)
            options: dict[str, Any] = {"net": root_of(task.net), "recipe": chosen, "start": start}
            return train_team(parts, task.pool, task.method, seed=task.seed, **options)
        chosen = recipe if task.epochs is None else replace(recipe, epochs=task.epochs)
        if task.method == ONE_CLASSIFIER:
            return one_classifier(parts, seed=task.seed, net=task.net, recipe=chosen)
        return train_team(parts, task.pool, task.method, seed=task.seed, net=task.net, recipe=chosen)

    return Workshop(
        nets={
            net: (*TWO_LOSSES, ONE_CLASSIFIER),
            net + TUNED: (*TWO_LOSSES, "moe", "decoupled", "asymmetric"),
            net + FROZEN: ("two-stage",),
        },
        load=lambda seed, protocol: shared_parts(limit, halve=quick),
        train=train,
    )


def one_classifier(parts: Cifar10Parts, *, seed: int, net: str, recipe: Recipe) -> TrainedTeam:
    """Return the classifier of a seed, trained once for all experiments: nobody's answers are in it."""
    facts = {**asdict(recipe), "net": net, "n_train": len(parts.labels["train"])}
    kept = parts.stock.take(
        f"cifar10-classifier-{seed}",
        facts,
        lambda: {
            name: array
            for name, array in _classifier(parts, seed=seed, net=net, recipe=recipe).items()
            if not name.startswith(_TRUNK)
        },
    )
    validation, test = (
        TeamOutputs(
            LOSSES[ONE_CLASSIFIER],
            kept[part].astype(np.float64),
            np.empty((len(labels), 0)),
            np.empty((len(labels), 0), dtype=np.int64),
            labels,
        )
        for part in ("validation", "test")
        for labels in [parts.labels[part]]
    )
    timed = {"cutout": CUTOUT, "n_train": facts["n_train"], "first_step_seconds": float(kept["first_step_seconds"])}
    return TrainedTeam(validation, test, float(kept["seconds"]), asdict(recipe) | timed)


def classifier_trunk(parts: Cifar10Parts, *, seed: int, net: str, recipe: Recipe) -> dict[str, Tensor]:
    """Return the weights of that classifier's trunk."""
    kept = _classifier(parts, seed=seed, net=net, recipe=recipe)
    return {
        name.removeprefix(_TRUNK): torch.from_numpy(array) for name, array in kept.items() if name.startswith(_TRUNK)
    }


def _classifier(parts: Cifar10Parts, *, seed: int, net: str, recipe: Recipe) -> Arrays:
    def make() -> Arrays:
        team, module = _trained(parts, None, ONE_CLASSIFIER, seed=seed, net=net, recipe=recipe)
        return {
            "validation": team.validation.class_logits.astype(np.float32),
            "test": team.test.class_logits.astype(np.float32),
            "seconds": np.array(team.seconds),
            "first_step_seconds": np.array(team.recipe["first_step_seconds"]),
            **{_TRUNK + name: tensor.cpu().numpy() for name, tensor in module.trunk.state_dict().items()},
        }

    facts = {**asdict(recipe), "net": net, "n_train": len(parts.labels["train"])}
    return parts.stock.take(f"cifar10-trunk-{seed}", facts, make)


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
