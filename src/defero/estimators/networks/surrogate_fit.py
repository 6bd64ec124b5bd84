"""Train a linear model or a small network on a surrogate loss; shrunk heads replace the experts' part where asked."""

from dataclasses import replace
from typing import Literal

from defero.core.errors import Argument, InputError
from defero.estimators.expert_heads import HeadsOption, answers_are_few, with_shrunk_heads
from defero.estimators.networks.choose_network import Choice, choose_network, enough_items
from defero.estimators.networks.network_fit import train_network
from defero.estimators.recipe import NetworkOptions
from defero.estimators.training_data import TrainingData
from defero.losses import LOSSES, DeferralLoss
from defero.scorers import Scorer

ADVISED_LOSS = "decoupled"
SmallNet = Literal["linear", "mlp", "auto"]


def fit_surrogate(
    data: TrainingData, *, net: SmallNet, loss: str, heads: HeadsOption, options: NetworkOptions, seed: int
) -> Scorer:
    """Return the scorer of a network that is trained on a surrogate loss.

    Parameters
    ----------
    data : TrainingData
    net : "linear", "mlp" or "auto"
        "auto" chooses by the log loss of the labels.
    loss : str
        A name in `LOSSES`, or "auto".
    heads, options, seed
        As in `DeferralClassifier`.
    """
    surrogate = DeferralLoss(ADVISED_LOSS if loss == "auto" else loss)
    decay = options.recipe.weight_decay
    if _shrinks(data, surrogate, heads):
        return _fit_shrunk(data, surrogate, net=net, options=options, seed=seed)
    if net != "auto":
        return train_network(data, surrogate, options, net=net, weight_decay=decay, seed=seed)
    class_loss = surrogate if surrogate.shrinkable else DeferralLoss(ADVISED_LOSS)
    choice = _choose(enough_items(data.without_experts()), class_loss, net=net, options=options, seed=seed)
    if surrogate.link != "decoupled" or choice.net == "mlp":
        # The experts' outputs depend on the class logits, so these must not be rescaled.
        choice = replace(choice, temperature=1.0)
    return choice.train(data, surrogate, options, weight_decay=decay, seed=seed)


def _shrinks(data: TrainingData, loss: DeferralLoss, heads: HeadsOption) -> bool:
    """Return whether the experts get shrunk heads."""
    if heads == "shrunk" and not loss.shrinkable:
        raise InputError(Argument("heads", "shrunk"), f" needs the loss {_shrinkable_names()}, got {loss.name!r}.")
    if data.answer_weight is not None:
        if heads == "separate" or not loss.shrinkable:
            raise InputError(
                f"need shrunk heads and the loss {_shrinkable_names()}, got ",
                Argument("heads", heads),
                f" and {loss.name!r}.",
                argument="answer_weights",
            )
        return True
    if data.n_experts == 0 or not loss.shrinkable:
        return False
    return heads == "shrunk" or (heads == "auto" and answers_are_few(data))


def _fit_shrunk(data: TrainingData, loss: DeferralLoss, *, net: SmallNet, options: NetworkOptions, seed: int) -> Scorer:
    """Fit the classes, then the experts' heads; the losses ova and decoupled separate into these two parts."""
    classes, decay = data.without_experts(), options.recipe.weight_decay
    choice = _choose(classes, loss, net=net, options=options, seed=seed)
    if choice.net == "linear":
        base = choice.train(classes, loss, options, weight_decay=decay, seed=seed)
    else:
        # The experts' branch is trained on all answers; only its heads are replaced.
        base = choice.train(data, loss, options, weight_decay=decay, seed=seed).without_experts()
    return with_shrunk_heads(base, data, choice.class_proba)


def _choose(classes: TrainingData, loss: DeferralLoss, *, net: SmallNet, options: NetworkOptions, seed: int) -> Choice:
    decay = options.recipe.weight_decay
    return choose_network(classes, loss, options, net=net, weight_decay=decay, seed=seed)


def _shrinkable_names() -> str:
    """Return the names of the losses that support shrunk heads."""
    return " or ".join(name for name, loss in LOSSES.items() if loss.shrinkable)
