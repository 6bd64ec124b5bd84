"""Train a deep net, and return it as a scorer to which experts can be added."""

import copy
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.splits import sample_rows
from defero.data.recipes.pictures import PictureFiles
from defero.estimators.recipe import NetworkOptions
from defero.estimators.skilled import population_of
from defero.estimators.training_data import TrainingData
from defero.learn.scorer import SkillScorer
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.nets.deep_scorer import DeepScorer, StandardInputs
from defero.scorers import Scorer
from defero.training.answer_source import FixedAnswers
from defero.training.feeds import USUAL_COLOURS, DeviceFeed, DiskFeed, Feed
from defero.training.loop import fit_deep
from defero.training.loop_settings import LoopSettings
from defero.training.pictures import Augmentation, colours
from defero.training.verdicts import Verdicts

IN_MEMORY = 1 << 31
"""Pictures in files of at most so many bytes are read once; larger sets are read again in every epoch."""
_PIXELS_AT_ONCE = 1 << 22
"""Largest default batch, to limit memory: 64 pictures of 224 x 224."""
ENOUGH_HELD_OUT = 200
"""With fewer answers to held-out items, the population is learned from all answers."""
_MOST_ANSWERS = 5_000
_BY_SGD = ("wrn-", "resnet-")
_PRECISIONS = {None: "auto", "float32": "32", "bf16-mixed": "bf16-mixed"}


def check_deep(options: NetworkOptions, *, answer_weights: Any, random_state: Any) -> None:
    """Raise if deep nets do not support an option."""
    if answer_weights is not None:
        raise InputError("are for net='auto' with loss='auto'; leave them out.", argument="answer_weights")
    precision = options.recipe.precision
    if precision not in _PRECISIONS:
        known = ", ".join(str(name) for name in _PRECISIONS if name is not None)
        raise InputError(f"of a deep net must be None or one of {known}, got {precision!r}.", argument="precision")
    device = _device_type(options.device)
    if precision == "bf16-mixed" and device != "cuda":
        raise InputError(f"{Argument('precision', 'bf16-mixed')} needs a GPU, got the device {device}; leave it out.")
    if random_state is None and int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError(
            "must be a number if several processes train one net: all need the same.", argument="random_state"
        )


def _device_type(device: str | None) -> str:
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device_type = torch.device(device).type
    except RuntimeError as error:
        raise InputError(
            f"must be a torch device, such as 'cpu' or 'cuda', got {device!r}.", argument="device"
        ) from error
    if device_type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"{Argument('device', device)}: torch finds no GPU here; leave it out.")
    return device_type


def fit_deep_net(
    data: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, net: str | nn.Module, seed: int
) -> Scorer:
    """Train a deep net and return its scorer, with the weights of the best epoch on held-out items.

    Parameters
    ----------
    data : TrainingData
        Its features are (n, d) vectors, (n, height, width, channels) pictures, or `PictureFiles`.
    loss : DeferralLoss
    options : NetworkOptions
    net : str or nn.Module
        A name of `net_by_name`, or a trunk, which is copied.
    seed : int
    """
    if data.weighted:
        raise InputError(
            ": deep nets do not support weights; repeat rows, or use net='mlp' on features.", argument="sample_weight"
        )
    if options.recipe.branches == "two" and data.n_experts == 0:
        raise InputError(
            f"{Argument('branches', options.recipe.branches)} needs experts, and there are none; leave it out."
        )
    if data.n_experts == 0:
        options = replace(options, recipe=replace(options.recipe, branches="one"))
    held_out_mask = _held_out(data, options.recipe.validation_fraction, rng=np.random.default_rng(seed))
    train, held_out, inputs = _feeds(data, held_out_mask, options, seed=seed)
    shape = tuple(data.features.shape[1:])
    network = _built(net, inputs(torch.zeros(2, *shape)), data, loss, branches=options.recipe.branches, seed=seed)
    fit_deep(
        network,
        loss,
        train,
        held_out,
        settings=_loop_settings(options, net, n_items=len(train), shape=shape),
        seed=seed,
        folder=None if options.checkpoints is None else Path(options.checkpoints),
        resume=options.recipe.resume,
        device=options.device,
        progress=options.progress,
    )
    device = next(network.parameters()).device
    name = net if isinstance(net, str) else None
    scorer = DeepScorer(loss.link, network, inputs.to(device), shape, name, options.recipe.branches)
    return scorer if data.n_experts == 0 else with_deep_population(scorer, data, held_out_mask)


def _held_out(data: TrainingData, fraction: float, *, rng: np.random.Generator) -> BoolArray:
    """Draw the items that are held out, (n,); whole groups if there are groups."""
    n_items = len(data.label_idx)
    group_idx = np.arange(n_items) if data.groups is None else data.groups
    groups = np.unique(group_idx)
    chosen = rng.permutation(groups)[: min(round(len(groups) * fraction), len(groups) - 1)]
    held_out_mask: BoolArray = np.isin(group_idx, chosen)
    return held_out_mask


def _feeds(
    data: TrainingData, held_out_mask: BoolArray, options: NetworkOptions, *, seed: int
) -> tuple[Feed, Feed | None, StandardInputs]:
    """Return the feed of training items, that of held-out items, and the standardisation."""
    items: Any = data.features
    if isinstance(items, PictureFiles) and math.prod(items.shape) <= IN_MEMORY:
        items = items[:]
    train_idx, held_out_idx = np.flatnonzero(~held_out_mask), np.flatnonzero(held_out_mask)
    pictures = items.ndim == 4
    center, scale = _standards(items, train_idx)
    if data.summed is not None:
        # The principal components of texts stay in the order of their variance, which a convolution relies on.
        center = np.where(data.summed, 0.0, center)
        scale = np.where(data.summed, scale[data.summed].mean(), scale)
    inputs = StandardInputs(center, scale, pictures=pictures)
    colour = torch.from_numpy(center).float(), torch.from_numpy(scale).float()
    verdicts = Verdicts.from_answers(data.answers, data.label_idx)
    labels = torch.from_numpy(data.label_idx)

    def feed(rows: IntArray, augmentation: Augmentation | None) -> Feed:
        row_idx, answers = torch.from_numpy(rows), FixedAnswers(verdicts.take(torch.from_numpy(rows)))
        options: dict[str, Any] = {"seed": seed, "augmentation": augmentation, "normalise": colour}
        if isinstance(items, PictureFiles):
            return DiskFeed(items.take(rows), labels[row_idx], answers, **options)
        some = torch.from_numpy(np.ascontiguousarray(items[rows]))
        if items.dtype == np.uint8:
            return DeviceFeed(some, labels[row_idx], answers, **options)
        with torch.no_grad():
            return DeviceFeed(inputs(some), labels[row_idx], answers, seed=seed)

    augmentation = _augmentation(options.recipe.augmentation, items)
    return feed(train_idx, augmentation), feed(held_out_idx, None) if len(held_out_idx) else None, inputs


def _standards(items: Any, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return center and scale of the items, for each colour or each feature."""
    if isinstance(items, PictureFiles):
        items.check()
        return USUAL_COLOURS[0].double().numpy(), USUAL_COLOURS[1].double().numpy()
    if items.dtype == np.uint8:
        mean, std = colours(torch.from_numpy(items[rows]))
        return mean.double().numpy(), std.double().numpy()
    if items.ndim not in (2, 4):
        return np.zeros(1), np.ones(1)
    along = tuple(range(items.ndim - 1))
    center, scale = items[rows].mean(axis=along, dtype=np.float64), items[rows].std(axis=along, dtype=np.float64)
    return center, np.where(scale > 1e-12 * np.maximum(1.0, np.abs(center)), scale, 1.0)


def _augmentation(name: str, items: Any) -> Augmentation | None:
    """Return the augmentation of pictures of dtype uint8: crops after padding by an eighth of the side, and flips."""
    if name == "none" or items.ndim != 4 or items.dtype != np.uint8:
        return None
    return Augmentation(pad=min(items.shape[1:3]) // 8, flip=name == "crop-and-flip")


def _built(
    net: str | nn.Module, example: Tensor, data: TrainingData, loss: DeferralLoss, *, branches: str, seed: int
) -> DeferralNet:
    """Return the net before training; a user's module is copied with its weights."""
    heads: dict[str, Any] = {
        "n_classes": data.n_classes,
        "n_experts": data.n_experts,
        "model_column": loss.model_column,
        "generator": torch.Generator().manual_seed(seed),
    }
    if isinstance(net, str):
        return net_by_name(net, example, branches=branches, **heads)
    trunks = [copy.deepcopy(net).cpu() for _ in range(2 if branches == "two" else 1)]
    expert_trunk = trunks[1] if branches == "two" else None
    return DeferralNet.build(trunks[0], example, expert_trunk=expert_trunk, detached=branches == "heads", **heads)


def _loop_settings(
    options: NetworkOptions, net: str | nn.Module, *, n_items: int, shape: tuple[int, ...]
) -> LoopSettings:
    """Return the settings of the loop: SGD for wrn and resnet, AdamW for others."""
    sgd = isinstance(net, str) and net.startswith(_BY_SGD)
    largest = min(512, n_items / 32, _PIXELS_AT_ONCE / math.prod(shape[:-1]))  # a vector counts as one pixel
    batch_size = options.recipe.batch_size or max(16, 2 ** math.floor(math.log2(max(1, largest))))
    epochs = options.recipe.max_epochs or 30
    usual_rate = 0.1 * max(batch_size, 64) / 512 if sgd else 1e-3
    usual_decay = 5e-4 if sgd else 1e-2
    return LoopSettings(
        epochs=epochs,
        batch_size=batch_size,
        optimiser="sgd" if sgd else "adamw",
        learning_rate=usual_rate if options.recipe.learning_rate is None else options.recipe.learning_rate,
        weight_decay=usual_decay if options.recipe.weight_decay is None else options.recipe.weight_decay,
        precision=_PRECISIONS[options.recipe.precision],
        # While the learning rate is high the held-out loss does not improve, so wait for at least a third of the run.
        patience=max(options.recipe.patience, epochs // 3),
    )


def with_deep_population(scorer: DeepScorer, data: TrainingData, held_out_mask: BoolArray) -> SkillScorer:
    """Return a team with the net's outputs for its experts, and a population for experts who are added later.

    The skill of added experts reads the principal components of the net's last hidden layer. The population is learned
    from answers to held-out items; with fewer than 200 of them from all answers.

    Parameters
    ----------
    scorer : DeepScorer of J experts
    data : TrainingData
    held_out_mask : (n,) bool
        Items that the net was not trained on.
    """
    answers = np.flatnonzero(held_out_mask[data.item_idx])
    if len(answers) < ENOUGH_HELD_OUT:
        answers = np.arange(len(data.item_idx))
    answers = answers[sample_rows(len(answers), _MOST_ANSWERS)]
    items, place = np.unique(data.item_idx[answers], return_inverse=True)
    _, embedding = scorer.score_with_embedding(data.features[items])
    return population_of(scorer, data, answers, items=items, place=place, read=embedding)
