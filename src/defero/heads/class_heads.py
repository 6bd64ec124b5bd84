"""ClassHeads: P(expert is right | features, the item's class), for votes, and summed over the classes for P(right)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray, frozen, probabilities
from defero.core.errors import InputError
from defero.core.posterior import ClassSkill, uniform_errors
from defero.core.scores import logit
from defero.heads.heads import Heads, fit_head, fit_heads
from defero.heads.prior import HeadPrior

MOST_LOG_ODDS = 7.0
"""A model surer than 0.999 is taken at that: one rash posterior must not carry a head away."""

MOST_CLASSES = 32
"""With more classes than this no expert has a skill of their own in each: that the class is likely is all they see."""
AS_ALIKE = 2.0
"""So many errors of each class, alike over the others, stand beside those on record."""


def class_features(class_proba: ArrayLike) -> FloatArray:
    """Return features of a class posterior: signed beliefs, on which each expert's leaning to a class shows, and doubt.

    An expert who is right with probability theta_k on class k is right with sum_k P(y = k | x) theta_k, so the
    posterior itself comes first, without its last column, which the others imply; then the log-odds of each class (of
    one, where there are two) and those of the most likely class, for items that are hard for everybody.

    Parameters
    ----------
    class_proba : (n, K)
        Of items that the model was not fitted on: on its own training rows it is surer than elsewhere.

    Returns
    -------
    (n, 2 K), or (n, 3) for two classes and (n, 0) for one.

    Examples
    --------
    >>> class_features([[0.5, 0.5], [0.9, 0.1]]).round(2).tolist()
    [[0.5, 0.0, 0.0], [0.9, 2.2, 2.2]]
    """
    proba = probabilities("class_proba", class_proba)
    n_classes = proba.shape[1]
    if n_classes == 0:
        raise InputError("must have at least one column, one per class, got none.", argument="class_proba")
    if n_classes == 1:
        return np.empty((len(proba), 0))
    with np.errstate(divide="ignore"):
        log_odds = np.clip(np.log(proba) - np.log1p(-proba), -MOST_LOG_ODDS, MOST_LOG_ODDS)
    each = log_odds[:, :1] if n_classes == 2 else log_odds
    return np.column_stack([proba[:, :-1], each, log_odds.max(axis=1)])


@dataclass(frozen=True, eq=False)
class ClassHeads:
    """Heads that are told the class of the item, and what is said by who is wrong.

    An expert is asked before the class is known, so P(right | x) is what a decision needs; a vote weighs each class
    by how likely the answers are if it is the true one, and there somebody right on 95 % of one class and 60 % of
    another is two kinds of witness.

    Attributes
    ----------
    heads : Heads
        On the features of `with_class`.
    errors : (K, K)
        P(a wrong answer is m | y = k), of all experts together.
    reads_belief : bool
        Whether the heads read how likely the model finds the class.
    """

    heads: Heads
    errors: FloatArray
    reads_belief: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "errors", frozen(np.asarray(self.errors, dtype=np.float64)))

    def skill(self, phi: FloatArray, class_proba: FloatArray) -> ClassSkill:
        """Return P(expert j is right | x, y = k) of n items, for each class in turn.

        Parameters
        ----------
        phi : (n, d)
            What a `Lens` shows of the items.
        class_proba : (n, K)
        """
        right = np.empty((len(phi), self.heads.n_experts, class_proba.shape[1]))
        for k in range(class_proba.shape[1]):
            right[:, :, k] = self.heads.proba(self._features_of_class(phi, class_proba, k))
        return ClassSkill(right, self.errors)

    def log_odds(self, phi: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return the log-odds of P(right | x) = sum_k P(y = k | x) P(right | x, y = k), (n, J)."""
        right, wrong = (np.full((len(phi), self.heads.n_experts), -np.inf) for _ in range(2))
        with np.errstate(divide="ignore"):
            log_proba = np.log(class_proba)
        for k in range(class_proba.shape[1]):
            of_class = self.heads.log_odds(self._features_of_class(phi, class_proba, k))
            right = np.logaddexp(right, log_proba[:, k, None] - np.logaddexp(0.0, -of_class))
            wrong = np.logaddexp(wrong, log_proba[:, k, None] - np.logaddexp(0.0, of_class))
        return right - wrong

    def logit_sd(self, phi: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return a bound on the standard deviation of `log_odds`, (n, J), as if errors on all classes went one way.

        By the delta method, sum_k P(y = k | x) p_k (1 - p_k) s_k / (p (1 - p)), with s_k the `logit_sd` given class k.
        """
        log_odds, sd = self.log_odds(phi, class_proba), np.zeros((len(phi), self.heads.n_experts))
        for k in range(class_proba.shape[1]):
            features = self._features_of_class(phi, class_proba, k)
            # log of p_k (1 - p_k) / (p (1 - p)); products of probabilities near 1 would be 0 / 0
            ratio = _log_variance(self.heads.log_odds(features)) - _log_variance(log_odds)
            sd += class_proba[:, k, None] * np.exp(ratio) * self.heads.logit_sd(features)
        return sd

    def _features_of_class(self, phi: FloatArray, class_proba: FloatArray, k: int) -> FloatArray:
        return with_class(phi, class_proba, np.full(len(phi), k), reads_belief=self.reads_belief)

    def with_expert(
        self, phi: FloatArray, class_proba: FloatArray, label_idx: IntArray, correct: ArrayLike, *, weight: Any = None
    ) -> "ClassHeads":
        """Return the heads with one more at the end, of whom m answers are known; the others are as they were."""
        features = with_class(phi, class_proba, label_idx, reads_belief=self.reads_belief)
        head = fit_head(features, correct, self.heads.prior, weight=weight)
        return replace(self, heads=self.heads.with_head(head))

    def with_unknown(self) -> "ClassHeads":
        """Return the heads with that of somebody of whom nothing but the population is known."""
        prior = self.heads.prior
        return replace(self, heads=self.heads.with_head(fit_head(np.empty((0, prior.n_features)), [], prior)))

    def take(self, experts: Sequence[int]) -> "ClassHeads":
        """Return the heads of some experts, in this order."""
        return replace(self, heads=self.heads.take(experts))


def fit_class_heads(
    phi: FloatArray,
    class_proba: FloatArray,
    label_idx: IntArray,
    item_idx: IntArray,
    expert_idx: IntArray,
    correct: ArrayLike,
    *,
    n_experts: int,
    groups: IntArray,
    answer_idx: IntArray | None = None,
    weight: FloatArray | None = None,
    reads_belief: bool = True,
    prior: HeadPrior | None = None,
) -> ClassHeads:
    """Fit the heads of J experts to m answers to n items whose class is known.

    P(right | x, y = k) = sigmoid(phi(x) . w_j + c_jk + b_j log(eta_k / (1 - eta_k))): an expert's head as it is, their
    own constant for each class, and how much they are led by what makes the class look likely to the model. The
    population draws all of it as in `fit_heads`: where no class is harder than another, c goes to one number.
    Without `reads_belief`, b_j is 0.

    Parameters
    ----------
    phi : (n, d)
        What a `Lens` shows of the items.
    class_proba : (n, K)
        P(y = k | x) by models that did not learn from the item.
    label_idx : (n,) int
    item_idx, expert_idx : (m,) int
    correct : (m,) bool
    n_experts : int
        J.
    groups : (d,) int
        As in `fit_prior`, for the columns of `phi`.
    answer_idx : (m,) int, optional
        What was said, as class numbers; errors fall on the other classes alike for None.
    weight : (m,), optional
        How much each answer counts.
    reads_belief : bool
        Whether the heads read how likely the model finds the class.
    prior : HeadPrior, optional
        Of the features of `with_class`; by default it is learned from these answers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> label, expert = rng.integers(2, size=600), np.repeat([0, 1, 2], 200)
    >>> right = rng.random(600) < np.where(label == 1, 0.6, 0.95)  # all of them miss much of class 1
    >>> nothing, even = np.zeros((600, 0)), np.full((600, 2), 0.5)
    >>> group = np.zeros(0, dtype=int)
    >>> heads = fit_class_heads(nothing, even, label, np.arange(600), expert, right, n_experts=3, groups=group)
    >>> heads.skill(nothing[:1], even[:1]).right[0].round(2).tolist()
    [[0.97, 0.59], [0.97, 0.63], [0.95, 0.62]]
    """
    n_classes = class_proba.shape[1]
    heads = fit_heads(
        with_class(phi, class_proba, label_idx, reads_belief=reads_belief),
        item_idx,
        expert_idx,
        correct,
        n_experts=n_experts,
        weight=weight,
        groups=groups_with_class(groups, n_classes=n_classes, reads_belief=reads_belief),
        prior=prior,
    )
    errors = uniform_errors(n_classes)
    if answer_idx is not None:
        errors = errors_on_record(label_idx[item_idx], answer_idx, n_classes=n_classes)
    return ClassHeads(heads, errors, reads_belief)


def with_class(
    phi: FloatArray, class_proba: FloatArray, label_idx: IntArray, *, reads_belief: bool = True
) -> FloatArray:
    """Return what a head sees of n items of these classes: the items, the class, and how likely the model finds it.

    The class is K columns of 0 and 1, one of them for two classes, and none for more than 32.

    >>> with_class(np.array([[7.0]]), np.array([[0.2, 0.3, 0.5]]), np.array([2])).tolist()
    [[7.0, 0.0, 0.0, 1.0, 0.0]]
    """
    n_classes = class_proba.shape[1]
    is_class = (label_idx[:, None] == _columns(n_classes)).astype(np.float64)
    if not reads_belief:
        return np.column_stack([phi, is_class])
    believed = logit(class_proba[np.arange(len(label_idx)), label_idx])
    return np.column_stack([phi, is_class, np.clip(believed, -MOST_LOG_ODDS, MOST_LOG_ODDS)])


def groups_with_class(groups: IntArray, *, n_classes: int, reads_belief: bool = True) -> IntArray:
    """Return which columns of `with_class` share one spread: the constants of the classes do.

    >>> groups_with_class(np.array([0, 1, 1]), n_classes=3).tolist()
    [0, 1, 1, 2, 2, 2, 3]
    """
    after = int(groups.max(initial=-1)) + 1
    of_class, of_belief = np.full(len(_columns(n_classes)), after), [after + 1] if reads_belief else []
    return np.concatenate([groups, of_class, of_belief]).astype(np.int64)


def errors_on_record(label_idx: IntArray, answer_idx: IntArray, *, n_classes: int) -> FloatArray:
    """Return P(a wrong answer is m | y = k), (K, K), of all experts' answers: their classes (m,), and what was said.

    Two errors of each class, alike over the others, are added, so that nothing is impossible.

    >>> errors_on_record(np.array([0, 0, 0]), np.array([1, 1, 0]), n_classes=3).round(2).tolist()
    [[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    counts = AS_ALIKE * uniform_errors(n_classes)
    wrong = label_idx != answer_idx
    np.add.at(counts, (label_idx[wrong], answer_idx[wrong]), 1.0)
    return counts / counts.sum(axis=1, keepdims=True)


def _log_variance(log_odds: FloatArray) -> FloatArray:
    """Return log(p (1 - p)) of log-odds."""
    return -np.logaddexp(0.0, log_odds) - np.logaddexp(0.0, -log_odds)


def _columns(n_classes: int) -> IntArray:
    if n_classes > MOST_CLASSES:
        return np.empty(0, dtype=np.int64)
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)
