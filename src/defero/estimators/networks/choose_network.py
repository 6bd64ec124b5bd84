"""Choose the network and its ridge penalty by the log loss on held-out items."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from defero.calibration.calibrator import PRIOR_ITEMS
from defero.calibration.temperature import apply_temperature, fit_temperature
from defero.core.checks.arrays import FloatArray
from defero.core.splits import sample_rows
from defero.estimators.expert_heads import STRENGTHS, out_of_fold, weighted_log_loss
from defero.estimators.networks.network_fit import Net, train_network
from defero.estimators.recipe import NetworkOptions
from defero.estimators.training_data import TrainingData
from defero.losses import DeferralLoss
from defero.scorers.network import NetworkScorer

ENOUGH_ITEMS = 20_000


@dataclass(frozen=True, eq=False)
class Choice:
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

    def train(
        self, data: TrainingData, loss: DeferralLoss, options: NetworkOptions, *, weight_decay: float | None, seed: int
    ) -> NetworkScorer:
        """Train the chosen network and return its scorer."""
        scorer = train_network(
            data,
            loss,
            options,
            net=self.net,
            weight_decay=weight_decay if self.strength is None else self.strength / float(data.weight.sum()),
            seed=seed,
            summed_strength=self.strength or 1.0,
        )
        return scorer if self.temperature == 1.0 else scorer.tempered(self.temperature)


def choose_network(
    classes: TrainingData,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    net: Literal["linear", "mlp", "auto"],
    weight_decay: float | None,
    seed: int,
) -> Choice:
    """Return the network with the lowest log loss in five-fold cross-validation.

    Parameters
    ----------
    classes : TrainingData without experts
    loss, options, seed
        As in `train_network`.
    net : "linear", "mlp" or "auto"
        "auto" tries both.
    weight_decay : float, optional
        By default that of a linear model is chosen, from weak to strong until the log loss rises.
    """
    candidates = []
    quiet = replace(options, progress=False)
    for kind in ("linear", "mlp") if net == "auto" else (net,):
        strengths = STRENGTHS if kind == "linear" and weight_decay is None else (None,)
        best: Choice | None = None
        for strength in strengths:
            candidate = _cross_validated(kind, strength, classes, loss, quiet, weight_decay=weight_decay, seed=seed)
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
    net: Net,
    strength: float | None,
    classes: TrainingData,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    weight_decay: float | None,
    seed: int,
) -> Choice:
    candidate = Choice(net, strength, 1.0, np.empty((0, 0)), np.inf)

    def fit(part: TrainingData) -> Callable[[FloatArray], FloatArray]:
        scorer = candidate.train(part, loss, options, weight_decay=weight_decay, seed=seed)
        return lambda features: scorer.score(features).class_proba

    proba, temperature = out_of_fold(classes, fit), 1.0
    if loss.link == "decoupled":  # a temperature has no meaning for the sigmoids of one-vs-all
        temperature = fit_temperature(proba, classes.label_idx, classes.weight, prior=PRIOR_ITEMS)
        proba = apply_temperature(proba, temperature)
    value = weighted_log_loss(proba, classes)
    return replace(candidate, temperature=temperature, class_proba=proba, log_loss=value)
