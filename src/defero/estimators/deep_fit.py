"""Train a deep net on a lesson, and hand it over as a scorer that experts can join."""

import copy
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from defero.core.checks import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.data.recipes.pictures import PictureFiles
from defero.estimators.deep_population import with_deep_population
from defero.estimators.expert_heads import HeadsOption
from defero.estimators.lesson import Lesson
from defero.estimators.recipe import Recipe
from defero.losses import DeferralLoss
from defero.nets import DeferralNet, net_by_name
from defero.nets.deep_scorer import DeepScorer, StandardInputs
from defero.scorers import Scorer
from defero.training.deep.answer_source import FixedAnswers
from defero.training.deep.feeds.device import DeviceFeed
from defero.training.deep.feeds.disk import USUAL_COLOURS, DiskFeed
from defero.training.deep.feeds.feed import Feed
from defero.training.deep.feeds.pictures import Augmentation, colours
from defero.training.deep.loop import fit_deep
from defero.training.deep.loop_settings import LoopSettings
from defero.training.verdicts import Verdicts

IN_MEMORY = 1 << 31
"""Pictures in files that are fewer bytes than this are read once; more are read again in every epoch."""
_PIXELS_AT_ONCE = 1 << 22
"""Most of a batch, where nobody says its size, for the sake of memory: 64 pictures of 224 x 224."""
_BY_SGD = ("wrn-", "resnet-")
_PRECISIONS = {None: "auto", "float32": "32", "bf16-mixed": "bf16-mixed"}


@dataclass(frozen=True)
class DeepOptions:
    """How to train: the parameters of `DeferralClassifier` that bear these names."""

    recipe: Recipe
    heads: HeadsOption
    answer_weights: Any
    device: str | None
    progress: bool
    checkpoints: str | Path | None
    random_state: Any

    def check(self) -> None:
        """Refuse what deep nets cannot do."""
        if self.heads == "shrunk":
            raise InputError("heads='shrunk' is for the nets linear, mlp and auto; leave it out.")
        if self.answer_weights is not None:
            raise InputError("answer_weights need shrunk heads, which deep nets do not have; leave them out.")
        if self.recipe.precision not in _PRECISIONS:
            known = ", ".join(str(name) for name in _PRECISIONS if name is not None)
            raise InputError(f"precision of a deep net must be None or one of {known}, got {self.recipe.precision!r}.")
        device = _device_type(self.device)
        if self.recipe.precision == "bf16-mixed" and device != "cuda":
            raise InputError(f"precision='bf16-mixed' needs a GPU, got the device {device}; leave it out.")
        if self.random_state is None and int(os.environ.get("WORLD_SIZE", "1")) > 1:
            raise InputError("random_state must be a number where several processes train one net: all need the same.")


def _device_type(device: str | None) -> str:
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device).type
    except RuntimeError as error:
        raise InputError(f"device must be one of torch, such as 'cpu' or 'cuda', got {device!r}.") from error
    if found == "cuda" and not torch.cuda.is_available():
        raise InputError(f"device={device!r}: torch finds no GPU that it can use here; leave it out.")
    return found


def fit_deep_net(
    lesson: Lesson, loss: DeferralLoss, options: DeepOptions, *, net: str | nn.Module, seed: int
) -> Scorer:
    """Return the scorer that a deep net has learned: the weights of its best epoch on held-out items.

    Parameters
    ----------
    lesson : Lesson
        Its features are (n, d) vectors, (n, height, width, channels) pictures, or `PictureFiles`.
    loss : DeferralLoss
    options : DeepOptions
    net : str or nn.Module
        A name that `net_by_name` knows, or a trunk, which is copied.
    seed : int
    """
    if lesson.weighted:
        raise InputError("sample_weight: deep nets take none; repeat rows, or take net='mlp' on features.")
    if options.recipe.branches == "two" and lesson.n_experts == 0:
        raise InputError("branches='two' gives the experts a trunk of their own, and there are none; leave it out.")
    generator = torch.Generator().manual_seed(seed)
    fresh = _held_out(lesson, options.recipe.validation_fraction, rng=np.random.default_rng(seed))
    train, held_out, inputs = _feeds(lesson, fresh, options, seed=seed)
    shape = tuple(lesson.features.shape[1:])
    network = _built(net, inputs(torch.zeros(2, *shape)), lesson, loss, options, generator)
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
    return scorer if lesson.n_experts == 0 else with_deep_population(scorer, lesson, fresh)


def _held_out(lesson: Lesson, fraction: float, *, rng: np.random.Generator) -> BoolArray:
    """Draw which items the net does not learn from, (n,): whole groups where there are some."""
    n_items = len(lesson.label_idx)
    unit = np.arange(n_items) if lesson.groups is None else lesson.groups
    here = np.unique(unit)
    chosen = rng.permutation(here)[: min(round(len(here) * fraction), len(here) - 1)]
    fresh: BoolArray = np.isin(unit, chosen)
    return fresh


def _feeds(
    lesson: Lesson, fresh: BoolArray, options: DeepOptions, *, seed: int
) -> tuple[Feed, Feed | None, StandardInputs]:
    """Return what to train on, what to watch, and how items are standardised."""
    items: Any = lesson.features
    if isinstance(items, PictureFiles) and math.prod(items.shape) <= IN_MEMORY:
        items = items[:]
    learned, watched = np.flatnonzero(~fresh), np.flatnonzero(fresh)
    pictures = items.ndim == 4
    center, scale = _standards(items, learned)
    if lesson.summed is not None:
        # The main directions of texts keep their order of size, by which a convolution tells them apart.
        center = np.where(lesson.summed, 0.0, center)
        scale = np.where(lesson.summed, scale[lesson.summed].mean(), scale)
    inputs = StandardInputs(center, scale, pictures=pictures)
    colour = torch.from_numpy(center).float(), torch.from_numpy(scale).float()
    verdicts = Verdicts.from_answers(lesson.answers, lesson.label_idx)
    labels = torch.from_numpy(lesson.label_idx)

    def feed(rows: IntArray, augmentation: Augmentation | None) -> Feed:
        some, answers = torch.from_numpy(rows), FixedAnswers(verdicts.take(torch.from_numpy(rows)))
        if isinstance(items, PictureFiles):
            return DiskFeed(
                items.take(rows), labels[some], answers, seed=seed, augmentation=augmentation, normalise=colour
            )
        if items.dtype == np.uint8:
            on_bytes = torch.from_numpy(items[rows])
            return DeviceFeed(on_bytes, labels[some], answers, seed=seed, augmentation=augmentation, normalise=colour)
        return DeviceFeed(_standard(items[rows], inputs), labels[some], answers, seed=seed)

    augmentation = _augmentation(options.recipe.augmentation, items)
    return feed(learned, augmentation), feed(watched, None) if len(watched) else None, inputs


def _standard(items: Any, inputs: StandardInputs) -> Tensor:
    with torch.no_grad():
        standard: Tensor = inputs(torch.from_numpy(np.ascontiguousarray(items)))
    return standard


def _standards(items: Any, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return what items are centred and scaled by: each colour, each coordinate of a vector, or nothing."""
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


def _augmentation(asked: str, items: Any) -> Augmentation | None:
    """Return what is done to pictures of bytes in training: moved by up to an eighth of their side, and mirrored."""
    if asked == "none" or items.ndim != 4 or items.dtype != np.uint8:
        return None
    return Augmentation(pad=min(items.shape[1:3]) // 8, flip=asked == "crop-and-flip")


def _built(
    net: str | nn.Module,
    example: Tensor,
    lesson: Lesson,
    loss: DeferralLoss,
    options: DeepOptions,
    generator: torch.Generator,
) -> DeferralNet:
    """Return the net before training; a user's module is copied, and keeps the weights that it has."""
    heads: dict[str, Any] = {
        "n_classes": lesson.n_classes,
        "n_experts": lesson.n_experts,
        "model_column": loss.model_column,
        "generator": generator,
    }
    if isinstance(net, str):
        return net_by_name(net, example, branches=options.recipe.branches, **heads)
    trunks = [copy.deepcopy(net).cpu() for _ in range(1 if options.recipe.branches == "one" else 2)]
    return DeferralNet.build(trunks[0], example, expert_trunk=trunks[1] if len(trunks) == 2 else None, **heads)


def _loop_settings(options: DeepOptions, net: str | nn.Module, *, n_items: int, shape: tuple[int, ...]) -> LoopSettings:
    """Return the numbers of the training: SGD for nets that start from nothing, AdamW for others."""
    sgd = isinstance(net, str) and net.startswith(_BY_SGD)
    largest = min(512, n_items / 32, _PIXELS_AT_ONCE / math.prod(shape[:-1]))  # of a vector there is one pixel
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
        # While the rate is high the held-out loss stands still: a third of the run is never too long to wait.
        patience=max(options.recipe.patience, epochs // 3),
    )
