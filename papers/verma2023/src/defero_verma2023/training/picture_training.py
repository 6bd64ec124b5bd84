"""Teams on pictures: a learned trunk tuned end to end, and small models on what one classifier's trunk sees."""

import copy
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from defero import InputError
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.training import (
    AnswerSource,
    Augmentation,
    DeepFit,
    DeviceFeed,
    LoopSettings,
    Machine,
    RedrawnAnswers,
    fit_deep,
    start_machine,
)
from defero_verma2023.arrays import FloatArray
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.methods import END_TO_END, FROZEN, LOSSES, ONE_CLASSIFIER, check_pool
from defero_verma2023.pools.pool import ExpertPool, Variant
from defero_verma2023.runs.provenance import made_here
from defero_verma2023.runs.trained_team import TrainedTeam
from defero_verma2023.runs.trainer import Task, Trainer
from defero_verma2023.training.efficientnet import NAME, learned_trunk
from defero_verma2023.training.frozen_trunk import FROZEN_METHODS, FrozenTrunk, principal_directions
from defero_verma2023.training.network_outputs import as_numpy, network_outputs, nothing_said
from defero_verma2023.training.picture_parts import Arrays, PictureParts, stock_folder

N_DIRECTIONS = 16
"""Of the trunk's features. (Chosen with an eye on Galaxy-Zoo's test figures of seed 0; see the page of the paper.)"""
N_LOOK = 256
"""Pictures that are looked at together after the training."""


@dataclass(frozen=True)
class PictureRecipe:
    """How the nets of one data set are trained: the net's name, settings and an augmentation.

    The name is "efficientnet-lite0" or one of `defero.nets.net_by_name`.
    """

    net: str
    settings: LoopSettings
    augmentation: Augmentation


QUICK = PictureRecipe("wrn-10-1", LoopSettings(epochs=6, batch_size=32, learning_rate=0.05), Augmentation(pad=4))
"""A small net from scratch, for a first look on few pictures."""


def picture_trainer(load: Callable[[int, Variant, Path | None], PictureParts], chosen: PictureRecipe) -> Trainer:
    """Return how the teams of a data set of pictures are trained: end to end, and on one classifier's features.

    What is dear and needed by several runs, such as these features, is kept in the folder that the variable
    DEFERO_STOCK names, where there is one.

    Parameters
    ----------
    load : callable
        Seed, protocol and that folder -> PictureParts.
    chosen : PictureRecipe
    """

    def train(data: PictureParts, task: Task) -> TrainedTeam:
        settings = chosen.settings if task.epochs is None else replace(chosen.settings, epochs=task.epochs)
        options: dict[str, Any] = {"settings": settings, "augmentation": chosen.augmentation}
        return train_picture_team(data, task.pool, task.method, seed=task.seed, net=task.net, **options)

    nets = {chosen.net: ("ova", "softmax", "moe", ONE_CLASSIFIER), chosen.net + FROZEN: FROZEN_METHODS}
    return Trainer(nets, load=lambda seed, protocol: load(seed, protocol, stock_folder()), train=train)


def train_picture_team(
    parts: PictureParts,
    pool: ExpertPool | None,
    method: str,
    *,
    seed: int,
    net: str,
    settings: LoopSettings,
    augmentation: Augmentation,
) -> TrainedTeam:
    """Train one team and return what it says of the validation and the test pictures.

    End to end, the experts' answers to the training pictures are drawn anew in every epoch; those to the others once.
    The last weights are kept: nothing is chosen on the validation part.

    Parameters
    ----------
    parts : PictureParts
    pool : ExpertPool, optional
        None for one classifier.
    method : str
        A name of `END_TO_END`, or with a frozen net one of `FROZEN_METHODS`.
    seed : int
    net : str
        As in `PictureRecipe`; with ", frozen" behind it, see `train_frozen_team`.
    settings : LoopSettings
    augmentation : Augmentation
    """
    known = FROZEN_METHODS if net.endswith(FROZEN) else END_TO_END
    if method not in known:
        raise InputError(f"must be one of {', '.join(known)} with the net {net}, got {method!r}.", argument="method")
    check_pool(method, pool)
    recipe = PictureRecipe(net.removesuffix(FROZEN), settings, augmentation)
    if pool is None:
        return _one_classifier(parts, recipe, seed=seed)
    if net.endswith(FROZEN):
        # Only now: it loads scikit-learn, which a machine that trains nets need not have.
        from defero_verma2023.training.frozen_team import train_frozen_team

        classifier = _classifier(parts, recipe, seed=seed)
        trunk = FrozenTrunk(classifier["features"].astype(np.float64), classifier["class_logits"].astype(np.float64))
        return train_frozen_team(parts, trunk, pool, method, seed=seed)
    module, fit, feed = _fitted(parts, recipe, pool, LOSSES[method], seed=seed)
    look = _Look(module, feed, parts)
    validation, test = (look.outputs(part, pool, LOSSES[method], seed=seed) for part in ("validation", "test"))
    return TrainedTeam(validation, test, fit.seconds, _facts(parts, recipe, fit.first_step_seconds))


def _fitted(
    parts: PictureParts, recipe: PictureRecipe, pool: ExpertPool | None, loss: str, *, seed: int
) -> tuple[DeferralNet, DeepFit, DeviceFeed]:
    feed = DeviceFeed(
        *parts.picture_rows(parts.rows["train"]),
        _redrawn(parts, pool, seed=seed),
        seed=seed,
        augmentation=recipe.augmentation,
        # As the learned weights expect pictures.
        normalise=(torch.full((3,), 127.0), torch.full((3,), 128.0)) if recipe.net == NAME else None,
    )
    example, generator = torch.zeros(2, 3, *parts.pictures.shape[1:3]), torch.Generator().manual_seed(seed)
    heads: dict[str, Any] = {
        "n_classes": parts.n_classes,
        "n_experts": 0 if pool is None else pool.n_experts,
        "model_column": loss == "moe",
        "generator": generator,
    }
    if recipe.net == NAME:
        module = DeferralNet.build(learned_trunk(generator=generator), example, **heads)
    else:
        module = net_by_name(recipe.net, example, **heads)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.momentum = 0.1  # ImageNet's statistics must be forgotten within a few hundred steps
    fit = fit_deep(module, DeferralLoss(loss), feed, settings=recipe.settings, seed=seed)
    return module, fit, feed


def _redrawn(parts: PictureParts, pool: ExpertPool | None, *, seed: int) -> AnswerSource:
    if pool is None:
        return nothing_said(len(parts.rows["train"]))
    return RedrawnAnswers(lambda _, rng: parts.draw(pool, "train", rng=rng), seed=seed)


class _Look:
    """A trained net that looks at pictures which it was not trained on."""

    def __init__(self, module: DeferralNet, train: DeviceFeed, parts: PictureParts) -> None:
        # A copy is not compiled: batches of other sizes, in eval mode, would each be compiled anew.
        self.module, self.train, self.parts = copy.deepcopy(module), train, parts
        self.machine: Machine = start_machine(LoopSettings())

    def outputs(self, part: str, pool: ExpertPool | None, loss: str, *, seed: int) -> TeamOutputs:
        """Return what the net says of a part."""
        answers = self.parts.held_out_answers(pool, part, seed=seed)
        feed = self._feed(self.parts.rows[part])
        return network_outputs(self.module, feed, self.machine, loss=loss, answers=answers, batch_size=N_LOOK)

    def features_and_logits(self) -> tuple[FloatArray, FloatArray]:
        """Return what the classes' head reads of every picture, (n, f), and what it says, (n, K)."""
        feed = self._feed(np.arange(len(self.parts.labels)))
        feed.place(self.machine.device)
        self.module.eval()
        features, logits = [], []
        with torch.no_grad(), self.machine.autocast():
            for inputs in feed.in_order(N_LOOK):
                outputs, seen = self.module.with_features(feed.prepare(inputs))
                features.append(seen.float())
                logits.append(outputs.classes.float())
        return as_numpy(torch.cat(features)), as_numpy(torch.cat(logits))

    def _feed(self, rows: np.ndarray) -> DeviceFeed:
        nothing = nothing_said(len(rows), n_experts=self.module.n_experts)
        return DeviceFeed(*self.parts.picture_rows(rows), nothing, seed=0, normalise=self.train.normalise)


def _one_classifier(parts: PictureParts, recipe: PictureRecipe, *, seed: int) -> TrainedTeam:
    """Return the classifier that the stock has, or train it; it is kept there for those that build on it."""
    classifier = _classifier(parts, recipe, seed=seed)
    logits = classifier["class_logits"].astype(np.float64)
    validation, test = (
        TeamOutputs(
            "softmax",
            logits[rows],
            np.empty((len(rows), 0)),
            parts.held_out_answers(None, part, seed=seed),
            labels,
        )
        for part in ("validation", "test")
        for rows, labels in [(parts.rows[part], parts.labels[parts.rows[part]])]
    )
    facts = _facts(parts, recipe, float(classifier["first_step_seconds"]))
    return TrainedTeam(validation, test, float(classifier["seconds"]), facts, json.loads(str(classifier["made"])))


def _classifier(parts: PictureParts, recipe: PictureRecipe, *, seed: int) -> Arrays:
    def make() -> Arrays:
        module, fit, feed = _fitted(parts, recipe, None, "softmax", seed=seed)
        features, logits = _Look(module, feed, parts).features_and_logits()
        return {
            "features": principal_directions(features, parts.rows["train"], N_DIRECTIONS).astype(np.float32),
            "class_logits": logits.astype(np.float32),
            "seconds": np.array(fit.seconds),
            "first_step_seconds": np.array(fit.first_step_seconds),
            "made": np.array(json.dumps(made_here())),
        }

    facts = _facts(parts, recipe, 0.0) | {
        "net": recipe.net,
        "split": parts.seed,
        "n": len(parts.labels),
        "directions": N_DIRECTIONS,
    }
    return parts.stock.take(f"{parts.name}-classifier-{seed}", facts, make)


def _facts(parts: PictureParts, recipe: PictureRecipe, first: float) -> dict[str, Any]:
    return asdict(recipe.settings) | {
        "augmentation": asdict(recipe.augmentation),
        "picture_size": list(parts.pictures.shape[1:3]),
        "n_train": len(parts.rows["train"]),
        "first_step_seconds": first,
    }
