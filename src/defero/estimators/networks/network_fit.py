"""Train a dense network, linear or with hidden layers, and return it as a scorer."""

import math
from typing import Literal

import numpy as np
import torch

from defero.core.checks.arrays import FloatArray
from defero.estimators.recipe import NetworkOptions
from defero.estimators.training_data import TrainingData
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


def train_network(
    data: TrainingData,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    net: Net,
    weight_decay: float | None,
    seed: int,
    summed_strength: float = 1.0,
) -> NetworkScorer:
    """Train a network and return its scorer.

    Parameters
    ----------
    data : TrainingData
    loss : DeferralLoss
    options : NetworkOptions
    net : "linear" or "mlp"
    weight_decay : float, optional
        By default 1 / n for a linear model, 0.3 for one with hidden layers.
    seed : int
    summed_strength : float
        Features that are scores of a text (`data.summed`) get a penalty that is smaller by this factor.
    """
    generator = torch.Generator().manual_seed(seed)
    center, scale = _standards(data.features, data.weight)
    if data.summed is not None:
        scale = np.where(data.summed, scale / math.sqrt(summed_strength), scale)
    linear = net == "linear"
    dtype = PRECISIONS[options.recipe.precision or ("float64" if linear else "float32")]
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() and not linear else "cpu"))
    examples = Examples.from_arrays(
        (data.features - center) / scale,
        data.label_idx,
        data.weight,
        answers=data.answers,
        dtype=dtype,
        device=device,
    )
    network = DenseNet(
        data.features.shape[1],
        n_classes=data.n_classes,
        n_experts=data.n_experts,
        class_hidden=() if linear else tuple(options.recipe.hidden),
        expert_hidden=() if linear else tuple(options.recipe.expert_hidden),
        model_column=loss.model_column,
        generator=generator,
    ).to(device=device, dtype=dtype)
    if linear:
        decay = 1.0 / float(data.weight.sum()) if weight_decay is None else weight_decay
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
    n_held_out = round(len(examples) * options.recipe.validation_fraction)
    held_out = examples.take(order[:n_held_out]) if n_held_out else None
    widest = max(examples.features.shape[1], *options.recipe.hidden, *options.recipe.expert_hidden)
    with (
        threads_for(batch_size, widest=widest),
        progress_bar(epochs, what=f"fit {loss.name}", shown=options.progress) as on_step,
    ):
        fit_mini_batch(
            net,
            loss,
            examples.take(order[n_held_out:]),
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
    """Return the weighted mean and standard deviation of each column; 1 for constant columns."""
    center = np.average(features, axis=0, weights=weight)
    spread = np.sqrt(np.average((features - center) ** 2, axis=0, weights=weight))
    # Relative to the mean: rounding errors of a constant column must not become its scale.
    constant = spread <= 1e-12 * np.maximum(1.0, np.abs(center))
    return center, np.where(constant, 1.0, spread)
