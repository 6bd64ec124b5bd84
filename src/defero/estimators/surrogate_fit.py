"""Train a linear model or a small network on a surrogate loss."""

import math
from typing import Literal

import torch

from defero.estimators.recipe import NetworkOptions
from defero.estimators.training_data import TrainingData
from defero.learn.prior import scaling
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.scorers.network import NetworkScorer
from defero.training.dense import fit_full_batch, fit_mini_batch, threads_for
from defero.training.progress import progress_bar
from defero.training.verdicts import Examples

Net = Literal["linear", "mlp", "auto"]
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
MLP_DECAY = 0.3
MLP_RATE = 1e-2


def fit_surrogate(
    data: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, net: Net, seed: int
) -> NetworkScorer:
    """Train a linear model or a small network on a surrogate loss, and return its scorer.

    Parameters
    ----------
    data : TrainingData
    loss : DeferralLoss
    options : NetworkOptions
    net : "linear", "mlp" or "auto"
        "auto" is "mlp".
    seed : int
    """
    generator = torch.Generator().manual_seed(seed)
    center, scale = scaling(data.features, data.weight)
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
    decay = options.recipe.weight_decay
    if decay is None:
        decay = 1.0 / float(data.weight.sum()) if linear else MLP_DECAY
    if linear:
        iterations = options.recipe.max_epochs or 1_000
        with progress_bar(iterations, what=f"fit {loss.name}", shown=options.progress) as tell:
            fit_full_batch(network, loss, examples, weight_decay=decay, max_iterations=iterations, on_step=tell)
    else:
        _fit_mlp(network, loss, examples, options, generator, weight_decay=decay)
    return network.to_scorer(loss.link, center=center, scale=scale)


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
