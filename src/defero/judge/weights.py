"""Weights of the answers by how likely it was that they were given at all."""

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from defero.core.answers import Answers
from defero.core.checks.arrays import FloatArray, IntArray, one_of
from defero.core.errors import InputError
from defero.core.scores import sigmoid
from defero.judge.answering import WhoAnswered, directions, known_features

By = Literal["label", "label+features"]
MOST = 10.0
"""By default no answer counts more than ten times its expert's mean, or less than a tenth of it."""
_WEAK = 0.01
_LEAST = 1e-6


def answer_weights(
    answers: Answers,
    label_idx: ArrayLike,
    features: ArrayLike | None = None,
    *,
    by: By = "label",
    most: float = MOST,
) -> FloatArray:
    """Return how much each answer should count so that the answered items stand for all items, (m,).

    w_ij is proportional to 1 / pi_j(x_i, y_i), the inverse of how likely expert j was to answer item i, with mean 1
    for each expert. By label, pi_jk = N_j t_jk / n_k with t_jk = (N_jk + tau p_k) / (N_j + tau): the classes of an
    expert's N_j answers shrunk toward those p of all answers, the more so (tau) the less experts differ. By label and
    features pi_jk is multiplied by what the features add within a class: a logistic model of all answers and for each
    expert one shrunk Newton step from it.

    Parameters
    ----------
    answers, label_idx, features
        As in `check_answering`; features are needed by="label+features" alone.
    by : "label" or "label+features"
        What answering depends on. Where it depends on the features too, and these predict the label, weights by the
        label alone do harm: they take for the label's doing what was the features'. Dependence on the features alone
        needs no weights where the heads read them well; for heads too simple for the truth "label+features" evens
        out where answers are many.
    most : float
        Weights are clipped to [1 / most, most] and have mean 1 for each expert nevertheless. A clipped weight leaves
        part of the bias and saves much of the noise; inf clips nothing.

    Examples
    --------
    >>> label = np.array([0] * 7 + [1] * 3)  # all of class 1 were answered, and one in seven of class 0
    >>> answered = np.isin(np.arange(10), [0, 7, 8, 9])
    >>> weight = answer_weights(Answers.from_cells(np.where(answered, 0, -1)[:, None]), label)
    >>> weight.round(2).tolist()  # class 0 counts 0.7 in all items, and so here
    [2.8, 0.4, 0.4, 0.4]
    """
    one_of("by", by, get_args(By))
    if not most >= 1:
        raise InputError(f"must be 1 or more, got {most!r}; 10 lets an answer count ten times.", argument="most")
    who = WhoAnswered.of(answers, label_idx)
    known = known_features(features, n_items=who.n_items)
    if by == "label+features" and features is None:
        raise InputError("must be given by='label+features', got None; pass them or by='label'.", argument="features")
    if not len(who.item_idx):
        return np.empty(0)
    weight = _label_weights(who)[who.expert_idx, who.label_idx[who.item_idx]]
    towards = directions(known) if by == "label+features" else known[:, :0]
    if towards.shape[1]:
        weight = weight * _feature_weights(who, towards)
    return _levelled(weight, who.expert_idx, most=most)


def _label_weights(who: WhoAnswered) -> FloatArray:
    """Return (n_k / n) / t_jk, (J, K): what a class counts among all items over what it counts among the answered."""
    shares = _class_shares(who)
    of_all = who.per_class / who.n_items
    return np.divide(of_all, shares, out=np.ones(shares.shape), where=shares > 0)


def _class_shares(who: WhoAnswered) -> FloatArray:
    """Return t_jk, the classes of each expert's answers shrunk toward those of all answers, (J, K).

    tau = (1 / rho - 1) (1 - N_j / n), with rho the moment estimate of how much experts differ: Pearson's sum of
    squares X_j^2 of an expert's counts has mean (K - 1) (1 + (N_j - 1) rho) under a Dirichlet law (Mosimann 1962).
    """
    counts, per_expert = who.by_class, who.per_expert[:, None]
    pooled = counts.sum(axis=0) / counts.sum()
    has_answers, answered = pooled > 0, who.per_expert > 0
    freedom = (np.count_nonzero(has_answers) - 1) * (np.count_nonzero(answered) - 1)
    if freedom <= 0:
        return np.broadcast_to(pooled, counts.shape)
    expected = (per_expert * pooled)[np.ix_(answered, has_answers)]
    squares = float(((counts[np.ix_(answered, has_answers)] - expected) ** 2 / expected).sum())
    excess = squares / freedom - 1.0
    more = float((who.per_expert[answered] - 1).mean())
    rho = min(max(excess / more, _LEAST), 1.0) if more > 0 else _LEAST
    # Of who answered everything no chance is left in the counts: the pool has nothing to add.
    drawn = (1.0 - rho) * (1.0 - per_expert / who.n_items) + _LEAST**2
    return (rho * counts + drawn * pooled) / (rho * per_expert + drawn)


def _feature_weights(who: WhoAnswered, towards: FloatArray) -> FloatArray:
    """Return how likely an answer of this expert to this class was over how likely this one was, (m,).

    The same for all experts by `_pool_log_odds`, and exp(-d_j . z) for the expert's own slopes d_j, one shrunk Newton
    step from the pool's, up to a factor for each expert.
    """
    label = who.label_idx[who.item_idx]
    pooled = sigmoid(_pool_log_odds(who, towards))
    usual = np.bincount(who.label_idx, pooled, minlength=who.n_classes) / np.maximum(who.per_class, 1)
    answered = np.maximum(np.bincount(label, minlength=who.n_classes), 1)[:, None]
    mean = np.column_stack([np.bincount(label, z, minlength=who.n_classes) for z in towards[who.item_idx].T]) / answered
    around = towards - mean[who.label_idx]
    spread = around[who.item_idx].T @ around[who.item_idx] / len(label) + 1e-6 * np.eye(towards.shape[1])
    around = np.linalg.solve(np.linalg.cholesky(spread), around.T).T
    pull = who.sums(around)
    informed = who.per_expert * (1.0 - who.per_expert / who.n_items)
    # E |pull_j|^2 = p (N_j + N_j^2 s^2) where experts' own slopes have variance s^2 around the pool's.
    chance, real = around.shape[1] * informed.sum(), around.shape[1] * (informed**2).sum()
    variance = max(0.0, (float((pull**2).sum()) - chance) / real) if real > 0 else 0.0
    own = pull * (variance / (1.0 + informed * variance))[:, None]
    tilt = (own[who.expert_idx] * around[who.item_idx]).sum(axis=1)
    return np.exp(-np.clip(tilt, -20.0, 20.0)) * usual[label] / np.maximum(pooled[who.item_idx], 1e-12)


def _pool_log_odds(who: WhoAnswered, towards: FloatArray) -> FloatArray:
    """Return the log-odds that an expert answers an item, by its class and its features, the same for all, (n,).

    A logistic model of the number of answers out of J, by Newton's steps; slopes have a standard normal prior, and
    a weak one keeps classes that nobody, or everybody, answered finite.
    """
    columns = np.column_stack([who.label_idx[:, None] == np.arange(who.n_classes), towards]).astype(np.float64)
    share = len(who.item_idx) / (who.n_items * who.n_experts)
    share = min(max(share, 1e-9), 1.0 - 1e-9)
    start = np.zeros(columns.shape[1])
    start[: who.n_classes] = np.log(share / (1.0 - share))
    per_item = who.answers.per_item()
    slopes, prior = start.copy(), np.where(np.arange(len(start)) < who.n_classes, _WEAK, 1.0)
    for _ in range(25):
        proba = sigmoid(columns @ slopes)
        gradient = columns.T @ (per_item - who.n_experts * proba) - prior * (slopes - start)
        curved = (columns.T * (who.n_experts * proba * (1.0 - proba))) @ columns + np.diag(prior)
        step = np.linalg.solve(curved, gradient)
        slopes = slopes + step * min(1.0, 3.0 / max(1e-300, float(np.abs(step).max())))
        if np.abs(step).max() < 1e-8:
            break
    return columns @ slopes


def _levelled(weight: FloatArray, expert_idx: IntArray, *, most: float) -> FloatArray:
    """Scale each expert's weights so that, clipped to [1 / most, most], they have mean 1, (m,)."""
    counts = np.bincount(expert_idx)
    total = np.where(counts > 0, np.bincount(expert_idx, weight), 1.0)  # of who did not answer nothing is used
    counts = np.maximum(counts, 1)
    logs = np.log(weight)
    logs -= np.log(total / counts)[expert_idx]
    if np.isinf(most):
        return np.exp(logs)
    bound = np.log(most)
    reach = np.abs(logs).max() + bound
    low, high = np.full(len(counts), -reach), np.full(len(counts), reach)
    for _ in range(60):
        middle = (low + high) / 2.0
        clipped = np.exp(np.clip(logs + middle[expert_idx], -bound, bound))
        above = np.bincount(expert_idx, clipped) > counts
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.exp(np.clip(logs + ((low + high) / 2.0)[expert_idx], -bound, bound))
