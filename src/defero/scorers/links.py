"""From logits to `Scores`: what each loss's outputs mean at its minimum."""

from typing import Literal, get_args

import numpy as np

from defero.core.checks import FloatArray
from defero.core.errors import InputError
from defero.core.scores import Scores, sigmoid, softmax

LossName = Literal["softmax", "ova", "decoupled", "asymmetric", "moe"]


def scores_from_logits(
    loss: LossName, class_logits: FloatArray, expert_logits: FloatArray, *, model_logit: FloatArray | None = None
) -> Scores:
    """Read a network's outputs the way its loss was minimised.

    ========== ====================== ================== =============================== ======
    loss       class probability      the model is right an expert is right              link
    ========== ====================== ================== =============================== ======
    softmax    softmax over K         its maximum        exp(g_j - logsumexp g_k), <= 1  log
    ova        sigmoids, normalised   largest sigmoid    sigmoid(g_j)                    logit
    decoupled  softmax over K         its maximum        sigmoid(g_j)                    logit
    asymmetric softmax over K         its maximum        sigmoid(g_j - log sum of rest)  logit
    moe        softmax over K         weight w_0         weight w_j                      weight
    ========== ====================== ================== =============================== ======

    Parameters
    ----------
    loss : str
    class_logits, expert_logits : (n, K), (n, J)
    model_logit : (n,), for "moe" alone

    >>> scores_from_logits("ova", np.array([[0.0, 0.0]]), np.array([[0.0]])).model_proba.tolist()
    [0.5]
    """
    if loss not in get_args(LossName):
        raise InputError(f"loss must be one of {', '.join(get_args(LossName))}, got {loss!r}.")
    if loss == "ova":
        right = sigmoid(class_logits)
        # Normalised in log space: a row of very negative logits has sigmoids that underflow to 0.
        log_right = -np.logaddexp(0.0, -class_logits)
        return Scores(softmax(log_right), sigmoid(expert_logits), right.max(axis=1), expert_logits, "logit")
    class_proba = softmax(class_logits)
    if loss == "moe":
        if model_logit is None:
            raise InputError("model_logit is missing: the mixture of experts weighs the model as well.")
        log_z = np.logaddexp(model_logit, _log_sum_exp(expert_logits))
        log_weight = expert_logits - log_z[:, None]
        return Scores(class_proba, np.exp(log_weight), np.exp(model_logit - log_z), log_weight, "weight")
    model_proba = class_proba.max(axis=1)
    if loss == "softmax":
        log_ratio = expert_logits - _log_sum_exp(class_logits)[:, None]
        return Scores(class_proba, np.exp(np.minimum(log_ratio, 0.0)), model_proba, log_ratio, "log")
    log_odds = expert_logits
    if loss == "asymmetric":
        log_odds = expert_logits - _log_rest(class_logits)[:, None]
    return Scores(class_proba, sigmoid(log_odds), model_proba, log_odds, "logit")


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
