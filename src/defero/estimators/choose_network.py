"""Which network, and how strongly held to 0: the one that predicts the labels of held-out items best."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from defero.calibration.calibrator import PRIOR_ITEMS
from defero.calibration.temperature import apply_temperature, fit_temperature
from defero.core.checks import FloatArray
from defero.estimators.expert_heads import STRENGTHS, out_of_fold, weighted_log_loss
from defero.estimators.lesson import Lesson
from defero.estimators.network_fit import Net, NetworkOptions, train_network
from defero.losses import DeferralLoss
from defero.scorers.network import NetworkScorer

ENOUGH_ITEMS = 20_000


@dataclass(frozen=True, eq=False)
class Choice:
    """A network for the classes, and how it did.

    Attributes
    ----------
    net : "linear" or "mlp"
    strength : float, optional
        The ridge penalty in units of 1 / n where it was chosen; None where the user or a default says it.
    temperature : float
        By which its class logits are to be divided: a strong penalty makes them too small, hidden layers too large.
    class_proba : (n, K)
        P(y = k | x) of each item by networks that did not learn from it.
    log_loss : float
        Of that, weighted.
    """

    net: Net
    strength: float | None
    temperature: float
    class_proba: FloatArray
    log_loss: float

    def train(
        self, lesson: Lesson, loss: DeferralLoss, options: NetworkOptions, *, weight_decay: float | None, seed: int
    ) -> NetworkScorer:
        """Return the scorer of a network of this choice, trained on a lesson."""
        scorer = train_network(
            lesson,
            loss,
            options,
            net=self.net,
            weight_decay=weight_decay if self.strength is None else self.strength / float(lesson.weight.sum()),
            seed=seed,
            summed_strength=self.strength or 1.0,
        )
        return scorer if self.temperature == 1.0 else scorer.tempered(self.temperature)


def choose_network(
    classes: Lesson,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    net: Literal["linear", "mlp", "auto"],
    weight_decay: float | None,
    seed: int,
) -> Choice:
    """Return the network with the least log loss on held-out items, five folds.

    Parameters
    ----------
    classes : Lesson without experts
    loss, options, seed
        As in `train_network`.
    net : "linear", "mlp" or "auto"
        "auto" tries both.
    weight_decay : float, optional
        Given, it is taken; by default a linear model's is chosen, weaker ones first until stronger ones do harm.
    """
    tried = []
    quiet = replace(options, progress=False)
    for kind in ("linear", "mlp") if net == "auto" else (net,):
        strengths = STRENGTHS if kind == "linear" and weight_decay is None else (None,)
        best: Choice | None = None
        for strength in strengths:
            found = _judged(kind, strength, classes, loss, quiet, weight_decay=weight_decay, seed=seed)
            if best is not None and found.log_loss > best.log_loss:
                break
            best = found
        tried += [] if best is None else [best]
    return min(tried, key=lambda one: one.log_loss)


def enough_items(classes: Lesson) -> Lesson:
    """Return the lesson of at most 20,000 items, evenly chosen: enough to tell two networks apart."""
    n = len(classes.label_idx)
    return classes if n <= ENOUGH_ITEMS else classes.without_experts(np.linspace(0, n - 1, ENOUGH_ITEMS).astype(int))


def _judged(
    net: Net,
    strength: float | None,
    classes: Lesson,
    loss: DeferralLoss,
    options: NetworkOptions,
    *,
    weight_decay: float | None,
    seed: int,
) -> Choice:
    candidate = Choice(net, strength, 1.0, np.empty((0, 0)), np.inf)

    def fit(part: Lesson) -> Callable[[FloatArray], FloatArray]:
        scorer = candidate.train(part, loss, options, weight_decay=weight_decay, seed=seed)
        return lambda features: scorer.score(features).class_proba

    proba, temperature = out_of_fold(classes, fit), 1.0
    if loss.link == "decoupled":  # of the sigmoids of one-vs-all a temperature says nothing
        temperature = fit_temperature(proba, classes.label_idx, classes.weight, prior=PRIOR_ITEMS)
        proba = apply_temperature(proba, temperature)
    value = weighted_log_loss(proba, classes)
    return replace(candidate, temperature=temperature, class_proba=proba, log_loss=value)
