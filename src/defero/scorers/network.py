"""A linear model or a small network of dense layers, evaluated in numpy."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.errors import InputError
from defero.core.registry import Registry
from defero.core.scores import Scores, row_max, sigmoid, softmax


@dataclass(frozen=True)
class LogitLink:
    """How the outputs of a network are read.

    Attributes
    ----------
    read : callable
        From class_logits (n, K), expert_logits (n, J) and model_logit (n,) or None to `Scores`.
    model_column : bool
        Does the network weigh the model beside the experts, by an output `model_logit`?
    """

    read: Callable[[FloatArray, FloatArray, FloatArray | None], Scores]
    model_column: bool = False


LINKS: Registry[LogitLink] = Registry("link", group="defero.links")


def scores_from_logits(
    link: str, class_logits: FloatArray, expert_logits: FloatArray, *, model_logit: FloatArray | None = None
) -> Scores:
    """Read a network's outputs the way its loss was minimised.

    ========== ====================== ================== =============================== ======
    link       class probability      the model is right an expert is right              scale
    ========== ====================== ================== =============================== ======
    softmax    softmax over K         its maximum        exp(g_j - logsumexp g_k), <= 1  log
    ova        sigmoids, normalised   largest sigmoid    sigmoid(g_j)                    logit
    decoupled  softmax over K         its maximum        sigmoid(g_j)                    logit
    asymmetric softmax over K         its maximum        sigmoid(g_j - log sum of rest)  logit
    moe        softmax over K         weight w_0         weight w_j                      weight
    ========== ====================== ================== =============================== ======

    Parameters
    ----------
    link : str
        A name in `LINKS`. Each loss of the table has the link of its own name.
    class_logits, expert_logits : (n, K), (n, J)
    model_logit : (n,), for links with a model column ("moe") alone

    >>> scores_from_logits("ova", np.array([[0.0, 0.0]]), np.array([[0.0]])).model_proba.tolist()
    [0.5]
    """
    return LINKS.find(link).read(class_logits, expert_logits, model_logit)


def _softmax(class_logits: FloatArray, expert_logits: FloatArray, _: FloatArray | None) -> Scores:
    class_proba = softmax(class_logits)
    log_ratio = expert_logits - _log_sum_exp(class_logits)[:, None]
    return Scores.computed(class_proba, row_max(class_proba), log_ratio, "log")


def _ova(class_logits: FloatArray, expert_logits: FloatArray, _: FloatArray | None) -> Scores:
    right = sigmoid(class_logits)
    # Normalised in log space: a row of very negative logits has sigmoids that underflow to 0.
    log_right = -np.logaddexp(0.0, -class_logits)
    return Scores.computed(softmax(log_right), row_max(right), expert_logits, "logit")


def _decoupled(class_logits: FloatArray, expert_logits: FloatArray, _: FloatArray | None) -> Scores:
    class_proba = softmax(class_logits)
    return Scores.computed(class_proba, row_max(class_proba), expert_logits, "logit")


def _asymmetric(class_logits: FloatArray, expert_logits: FloatArray, _: FloatArray | None) -> Scores:
    return _decoupled(class_logits, expert_logits - _log_rest(class_logits)[:, None], None)


def _moe(class_logits: FloatArray, expert_logits: FloatArray, model_logit: FloatArray | None) -> Scores:
    if model_logit is None:
        raise InputError("is missing: the mixture of experts weighs the model as well.", argument="model_logit")
    log_z = np.logaddexp(model_logit, _log_sum_exp(expert_logits))
    log_weight = expert_logits - log_z[:, None]
    return Scores.computed(softmax(class_logits), np.exp(model_logit - log_z), log_weight, "weight")


def _log_sum_exp(logits: FloatArray) -> FloatArray:
    top = logits.max(axis=1, initial=-np.inf)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # no column at all: log 0 = -inf is the right value
        return safe + np.log(np.exp(logits - safe[:, None]).sum(axis=1))


def _log_rest(class_logits: FloatArray) -> FloatArray:
    if class_logits.shape[1] == 1:
        return np.zeros(len(class_logits))
    rest = class_logits.copy()
    rest[np.arange(len(rest)), rest.argmax(axis=1)] = -np.inf
    return _log_sum_exp(rest)


LINKS.register("softmax", LogitLink(_softmax))
LINKS.register("ova", LogitLink(_ova))
LINKS.register("decoupled", LogitLink(_decoupled))
LINKS.register("asymmetric", LogitLink(_asymmetric))
LINKS.register("moe", LogitLink(_moe, model_column=True))


Layer = tuple[FloatArray, FloatArray]
MOST_SPREADS = 1e3
"""A mean of up to so many standard deviations is subtracted after the product: three of 16 digits are lost."""


@dataclass(frozen=True, eq=False)
class NetworkScorer:
    """Standardise, pass through the ReLU layers of two branches, read class and expert logits off linear heads.

    Attributes
    ----------
    link : str
        How the logits are read: a name in `LINKS`.
    center, scale : (d,)
        The features' mean and spread on the training rows.
    branches : mapping
        "class" and "expert" -> hidden layers, each (weight (d_in, d_out), bias (d_out,)); none in a linear model.
    heads : mapping
        "class" -> ((d, K), (K,)), "expert" -> ((d, J), (J,)), and for "moe" "model" -> ((d, 1), (1,)).
    reads_classes : bool
        Do the experts' heads see the class posterior beside their own branch?
    """

    kind: ClassVar[str] = "network"
    link: str
    center: FloatArray
    scale: FloatArray
    branches: Mapping[str, tuple[Layer, ...]]
    heads: Mapping[str, Layer]
    reads_classes: bool

    def __post_init__(self) -> None:
        for name, parts in (("branches", self.branches), ("heads", self.heads)):
            if not parts.keys() >= {"class", "expert"}:
                raise InputError(f"must have 'class' and 'expert', got {sorted(parts)}.", argument=name)

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features."""
        if self._on_raw_features is not None:
            logits = {name: _affine(features, head) for name, head in self._on_raw_features.items()}
            model_logit = logits["model"][:, 0] if "model" in logits else None
            return scores_from_logits(self.link, logits["class"], logits["expert"], model_logit=model_logit)
        standard = self._standardised(features)
        class_logits = _affine(_relu_layers(standard, self.branches["class"]), self.heads["class"])
        hidden = _relu_layers(standard, self.branches["expert"])
        if self.reads_classes:
            hidden = np.concatenate([hidden, softmax(class_logits)], axis=1)
        model_logit = _affine(hidden, self.heads["model"])[:, 0] if "model" in self.heads else None
        return scores_from_logits(
            self.link, class_logits, _affine(hidden, self.heads["expert"]), model_logit=model_logit
        )

    def hidden(self, features: FloatArray) -> FloatArray:
        """Return the last hidden units of the experts' branch, (n, h); no columns for a linear model."""
        layers = self.branches["expert"]
        if not layers:
            return np.empty((len(features), 0))
        return _relu_layers(self._standardised(features), layers)

    @cached_property
    def _on_raw_features(self) -> Mapping[str, Layer] | None:
        """The heads of a linear model, for features that are not standardised: w / s and b - w c / s; else None.

        None too where a column's mean is so many times its spread that the difference would lose digits.
        """
        center = self.center / self.scale
        if any(self.branches.values()) or self.reads_classes or not np.abs(center).max(initial=0.0) <= MOST_SPREADS:
            return None
        weights = {name: weight / self.scale[:, None] for name, (weight, _) in self.heads.items()}
        return {name: (weights[name], bias - center @ weight) for name, (weight, bias) in self.heads.items()}

    def _standardised(self, features: FloatArray) -> FloatArray:
        standard: FloatArray = features - self.center
        standard /= self.scale
        return standard

    def without_experts(self) -> "NetworkScorer":
        """Return the same classes and hidden units with J = 0."""
        weight, bias = self.heads["expert"]
        return replace(self, heads={**self.heads, "expert": (weight[:, :0], bias[:0])})


def _affine(features: FloatArray, layer: Layer) -> FloatArray:
    weight, bias = layer
    # Output by output in memory: what comes after is done a whole column at a time.
    outputs: FloatArray = weight.T @ features.T
    outputs += bias[:, None]
    return outputs.T


def _relu_layers(features: FloatArray, layers: tuple[Layer, ...]) -> FloatArray:
    for layer in layers:
        features = _affine(features, layer)
        np.maximum(features, 0.0, out=features)
    return features
