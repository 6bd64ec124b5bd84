"""Train a linear model or a small network on a surrogate loss, chosen by the log loss on held-out items."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch

from defero.core.checks.arrays import FloatArray
from defero.core.splits import sample_rows
from defero.estimators.recipe import NetworkOptions
from defero.estimators.skilled import fold_of_items, out_of_fold
from defero.estimators.training_data import TrainingData
from defero.learn.fit_classes import PRIOR_ITEMS, STRENGTHS, Labelled, standards
from defero.learn.logistic import apply_temperature, fit_temperature
from defero.losses import DeferralLoss
from defero.nets import DenseNet
from defero.scorers import Scorer
from defero.scorers.network import NetworkScorer
from defero.training.dense import fit_full_batch, fit_mini_batch, threads_for
from defero.training.progress import progress_bar
from defero.training.verdicts import Examples

Net = Literal["linear", "mlp"]
SmallNet = Literal["linear", "mlp", "auto"]
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
MLP_DECAY = 0.3
MLP_RATE = 1e-2


def train_network(
    data: TrainingData,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    net: Net,
    seed: int,
    strength: float | None = None,
) -> NetworkScorer:
    """Train a network and return its scorer.

    Parameters
    ----------
    data : TrainingData
    loss : DeferralLoss
    options : NetworkOptions
    net : "linear" or "mlp"
    seed : int
    strength : float, optional
        The ridge penalty in units of 1 / n; features that are scores of a text (`data.summed`) get one that is smaller
        by this factor. By default the recipe's `weight_decay`, or 1 / n for a linear model and 0.3 for one with hidden
        layers.
    """
    generator = torch.Generator().manual_seed(seed)
    center, scale = standards(data.features, data.weight)
    if data.summed is not None:
        scale = np.where(data.summed, scale / math.sqrt(strength or 1.0), scale)
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
    decay = options.recipe.weight_decay if strength is None else strength / float(data.weight.sum())
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


ENOUGH_ITEMS = 20_000


@dataclass(frozen=True, eq=False)
class ChosenNetwork:
    """A network for the classes, and its log loss on held-out items.

    Attributes
    ----------
    net : "linear" or "mlp"
    strength : float, optional
        The chosen ridge penalty in units of 1 / n; None if the user or a default sets it.
    temperature : float
        Divides the class logits: a strong penalty makes them too small, hidden layers make them too large.
    class_proba : (n, K)
        Out-of-fold P(y = k | x) of each item.
    log_loss : float
        Weighted log loss of `class_proba`.
    """

    net: Net
    strength: float | None
    temperature: float
    class_proba: FloatArray
    log_loss: float

    def train(self, data: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, seed: int) -> NetworkScorer:
        """Train the chosen network and return its scorer."""
        scorer = train_network(data, loss, options, net=self.net, seed=seed, strength=self.strength)
        return scorer if self.temperature == 1.0 else scorer.tempered(self.temperature)


def choose_network(
    classes: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, net: SmallNet, seed: int
) -> ChosenNetwork:
    """Return the network with the lowest log loss in five-fold cross-validation.

    Parameters
    ----------
    classes : TrainingData without experts
    loss, options, seed
        As in `train_network`.
    net : "linear", "mlp" or "auto"
        "auto" tries both. The weight decay of a linear model is chosen, from weak to strong until the log loss rises,
        unless the recipe sets it.
    """
    candidates = []
    quiet = replace(options, progress=False)
    for kind in ("linear", "mlp") if net == "auto" else (net,):
        strengths = STRENGTHS if kind == "linear" and options.recipe.weight_decay is None else (None,)
        best: ChosenNetwork | None = None
        for strength in strengths:
            candidate = _cross_validated(kind, strength, classes, loss, quiet, seed=seed)
            if best is not None and candidate.log_loss > best.log_loss:
                break
            best = candidate
        candidates += [] if best is None else [best]
    return min(candidates, key=lambda choice: choice.log_loss)


def enough_items(classes: TrainingData) -> TrainingData:
    """Return at most 20,000 items, drawn at random: enough to compare two networks."""
    n = len(classes.label_idx)
    return classes if n <= ENOUGH_ITEMS else classes.without_experts(sample_rows(n, ENOUGH_ITEMS))


def _cross_validated(
    net: Net, strength: float | None, classes: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, seed: int
) -> ChosenNetwork:
    candidate = ChosenNetwork(net, strength, 1.0, np.empty((0, 0)), np.inf)

    def fit(part: TrainingData) -> Callable[[FloatArray], FloatArray]:
        scorer = candidate.train(part, loss, options, seed=seed)
        return lambda features: scorer.score(features).class_proba

    fold = fold_of_items(classes, rng=np.random.default_rng(0))
    proba, temperature = out_of_fold(classes, fit, fold), 1.0
    if loss.link == "decoupled":  # a temperature has no meaning for the sigmoids of one-vs-all
        temperature = fit_temperature(proba, classes.label_idx, classes.weight, prior=PRIOR_ITEMS)
        proba = apply_temperature(proba, temperature)
    value = Labelled(classes.features, classes.label_idx, classes.weight, classes.n_classes).log_loss(proba)
    return replace(candidate, temperature=temperature, class_proba=proba, log_loss=value)


ADVISED_LOSS = "decoupled"


def fit_surrogate(data: TrainingData, *, net: SmallNet, loss: str, options: NetworkOptions, seed: int) -> Scorer:
    """Return the scorer of a network that is trained on a surrogate loss.

    Parameters
    ----------
    data : TrainingData
    net : "linear", "mlp" or "auto"
        "auto" chooses by the log loss of the labels.
    loss : str
        A name in `LOSSES`, or "auto".
    options, seed
        As in `DeferralClassifier`.
    """
    surrogate = DeferralLoss(ADVISED_LOSS if loss == "auto" else loss)
    if net != "auto":
        return train_network(data, surrogate, options, net=net, seed=seed)
    class_loss = surrogate if surrogate.separable else DeferralLoss(ADVISED_LOSS)
    choice = choose_network(enough_items(data.without_experts()), class_loss, options, net=net, seed=seed)
    if surrogate.link != "decoupled" or choice.net == "mlp":
        # The experts' outputs depend on the class logits, so these must not be rescaled.
        choice = replace(choice, temperature=1.0)
    return choice.train(data, surrogate, options, seed=seed)
