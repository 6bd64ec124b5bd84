"""Train a dense network, linear or with hidden layers, on a lesson, and hand it over as a scorer."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from defero.core.checks import FloatArray
from defero.estimators.lesson import Lesson
from defero.estimators.recipe import Recipe
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.scorers.network import NetworkScorer
from defero.training.examples import Examples
from defero.training.full_batch import fit_full_batch
from defero.training.mini_batch import fit_mini_batch, threads_for
from defero.training.progress import progress_bar

Net = Literal["linear", "mlp"]
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
MLP_DECAY = 0.3
MLP_RATE = 1e-2


@dataclass(frozen=True)
class NetworkOptions:
    """How to train: the recipe, and where and how it is shown."""

    recipe: Recipe
    device: str | None = None
    progress: bool = False


def train_network(
    lesson: Lesson,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    net: Net,
    weight_decay: float | None,
    seed: int,
    summed_strength: float = 1.0,
) -> NetworkScorer:
    """Return the scorer that a network has learned.

    Parameters
    ----------
    lesson : Lesson
    loss : DeferralLoss
    options : NetworkOptions
    net : "linear" or "mlp"
    weight_decay : float, optional
        By default 1 / n for a linear model, 0.3 for one with hidden layers.
    seed : int
    summed_strength : float
        Columns that another model has summed up (`lesson.summed`) are penalised so many times less than others.
    """
    generator = torch.Generator().manual_seed(seed)
    center, scale = _standards(lesson.features, lesson.weight)
    if lesson.summed is not None:
        scale = np.where(lesson.summed, scale / math.sqrt(summed_strength), scale)
    linear = net == "linear"
    dtype = PRECISIONS[options.recipe.precision or ("float64" if linear else "float32")]
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() and not linear else "cpu"))
    examples = Examples.from_arrays(
        (lesson.features - center) / scale,
        lesson.label_idx,
        lesson.weight,
        answers=lesson.answers,
        dtype=dtype,
        device=device,
    )
    network = DenseNet(
        lesson.features.shape[1],
        n_classes=lesson.n_classes,
        n_experts=lesson.n_experts,
        class_hidden=() if linear else tuple(options.recipe.hidden),
        expert_hidden=() if linear else tuple(options.recipe.expert_hidden),
        model_column=loss.model_column,
        generator=generator,
    ).to(device=device, dtype=dtype)
    if linear:
        decay = 1.0 / float(lesson.weight.sum()) if weight_decay is None else weight_decay
        _fit_linear(network, loss, examples, options, weight_decay=decay)
    else:
        decay = MLP_DECAY if weight_decay is None else weight_decay
        _fit_mlp(network, loss, examples, options, generator, weight_decay=decay)
    return network.to_scorer(loss.link, center=center, scale=scale)


def _fit_linear(
    net: DenseNet, loss: DeferralLoss, examples: Examples, options: NetworkOptions, *, weight_decay: float
) -> None:
    iterations = 1_000 if options.recipe.max_epochs is None else options.recipe.max_epochs
    with progress_bar(iterations, what=f"fit {loss.name}", shown=options.progress) as on_step:
        fit_full_batch(net, loss, examples, weight_decay=weight_decay, max_iterations=iterations, on_step=on_step)


def _fit_mlp(
    net: DenseNet,
    loss: DeferralLoss,
    examples: Examples,
    options: NetworkOptions,
    generator: torch.Generator,
    *,
    weight_decay: float,
) -> None:
    recipe = options.recipe
    batch_size = recipe.batch_size or min(512, max(32, len(examples) // 16))
    epochs = options.recipe.max_epochs or max(15, math.ceil(1_000 * batch_size / len(examples)))
    order = torch.randperm(len(examples), generator=generator).to(examples.labels.device)
    kept = round(len(examples) * options.recipe.validation_fraction)
    held_out = examples.take(order[:kept]) if kept else None
    widest = max(examples.features.shape[1], *options.recipe.hidden, *options.recipe.expert_hidden)
    with (
        threads_for(batch_size, widest=widest),
        progress_bar(epochs, what=f"fit {loss.name}", shown=options.progress) as on_step,
    ):
        fit_mini_batch(
            net,
            loss,
            examples.take(order[kept:]),
            held_out if held_out is not None and held_out.weight.any() else None,
            batch_size=batch_size,
            learning_rate=MLP_RATE if recipe.learning_rate is None else recipe.learning_rate,
            weight_decay=weight_decay,
            max_epochs=epochs,
            patience=options.recipe.patience,
            generator=generator,
            on_step=on_step,
        )


def _standards(features: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return each column's weighted mean and spread; a constant column's spread is taken as 1."""
    center = np.average(features, axis=0, weights=weight)
    spread = np.sqrt(np.average((features - center) ** 2, axis=0, weights=weight))
    # Relative to the column's size: the rounding of a constant column's mean must not become its scale.
    constant = spread <= 1e-12 * np.maximum(1.0, np.abs(center))
    return center, np.where(constant, 1.0, spread)
