"""Logit links: how a network's outputs become `Scores`, by what its loss makes of them at its minimum.

A saved network names its link, so that serving it needs neither its loss nor torch.
"""

from collections.abc import Callable
from dataclasses import dataclass

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
