"""The posterior over classes: the model's probabilities, updated by what experts answer."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.experts import expert_probabilities
from defero.core.class_skill import ClassSkill
from defero.core.errors import InputError

EPS = 1e-6
"""Probabilities are clipped to [EPS, 1 - EPS]: nobody, expert or model, is beyond contradiction."""
_TIE = 1e-9
"""Sums of weights depend on the order of the experts in the last digits; closer than this is a tie."""


@dataclass(frozen=True, eq=False)
class AnswerLaw:
    """P(expert j answers m | y = k, x) of n items: what an answer says about the class.

    Errors are uniform over the other classes, unless `skill` says more. Answers of different experts are taken for
    independent given the class and the item; `discount` corrects that where people err together.

    Attributes
    ----------
    expert_proba : (n, J)
        P(expert j is right | x), clipped to [eps, 1 - eps].
    n_classes : int
        K.
    skill : ClassSkill, optional
        P(m | y, x) by item and class, used in place of expert_proba.
    discount : (J,)
        How much each expert's evidence counts, in (0, 1].
    eps : float

    Examples
    --------
    >>> law = AnswerLaw.of([0.8, 0.6], n_items=1, n_experts=2, n_classes=2)
    >>> evidence = law.evidence(np.array([[1, 0]]), np.array([[True, True]]))
    >>> np.exp(evidence).round(2).tolist()  # odds of 1.5 for class 0, of 4 for class 1
    [[1.5, 4.0]]
    """

    expert_proba: FloatArray
    n_classes: int
    skill: ClassSkill | None
    discount: FloatArray
    eps: float = EPS

    @classmethod
    def of(
        cls,
        expert_proba: ArrayLike,
        *,
        n_items: int,
        n_experts: int,
        n_classes: int,
        skill: ClassSkill | None = None,
        discount: ArrayLike | None = None,
        eps: float = EPS,
    ) -> "AnswerLaw":
        """Check the parts and put them together; expert_proba is (J,) or (n, J)."""
        eps = clip_width(eps)
        proba = expert_probabilities(expert_proba, n_items=n_items, n_experts=n_experts)
        if skill is not None and skill.shape != (n_items, n_experts, n_classes):
            raise InputError(
                f"must be of shape ({n_items}, {n_experts}, {n_classes}), got {skill.shape}.", argument="skill"
            )
        return cls(np.clip(proba, eps, 1 - eps), n_classes, skill, discounts(discount, n_experts=n_experts), eps)

    def evidence(self, answers: IntArray, heard: BoolArray) -> FloatArray:
        """Return sum_j w_j log P(m_j | y, x) over the experts heard, (n, K), up to a constant for each item."""
        if self.skill is None:
            weights = self.discount * log_odds_weights(self.expert_proba, n_classes=self.n_classes, eps=self.eps)
            return tally(answers, heard, weights, n_classes=self.n_classes)
        evidence = np.zeros((len(answers), self.n_classes))
        rows, experts = np.nonzero(heard)
        np.add.at(evidence, rows, self.evidence_of(rows, experts, answers[rows, experts]))
        return evidence

    def evidence_of(self, item_idx: IntArray, expert_idx: IntArray, answer_idx: IntArray) -> FloatArray:
        """Return w_j log P(m | y, x) of single answers, (a, K), up to a constant for each."""
        share = self.discount[expert_idx][:, None]
        if self.skill is not None:
            return share * self.skill.log_likelihood(item_idx, expert_idx, answer_idx, eps=self.eps)
        proba = self.expert_proba[item_idx, expert_idx]
        weight = log_odds_weights(proba, n_classes=self.n_classes, eps=self.eps)
        return share * np.where(answer_idx[:, None] == np.arange(self.n_classes), weight[:, None], 0.0)

    def likelihood(self, item_idx: IntArray, expert_idx: IntArray) -> FloatArray:
        """Return P(m | y = k, x) of some items and experts, (a, K, K) with the truth k first.

        A discounted expert answers as a weaker one: P(m | y)^w, normalised over m. With uniform errors this expert's
        evidence is exactly the discounted evidence.
        """
        if self.skill is None:
            right = self.expert_proba[item_idx, expert_idx]
            wrong = (1 - right) / max(self.n_classes - 1, 1)
            law = np.where(np.eye(self.n_classes, dtype=np.bool_), right[:, None, None], wrong[:, None, None])
        else:
            law = self.skill.likelihood(item_idx, expert_idx, eps=self.eps)
        share = self.discount[expert_idx]
        if (share == 1).all():
            return law
        weaker = law ** share[:, None, None]
        return weaker / weaker.sum(axis=2, keepdims=True)

    def symmetric(self) -> FloatArray | None:
        """Return P(right), (n, J), where it says everything, discounts included; None with `skill`."""
        if self.skill is not None:
            return None
        if (self.discount == 1).all():
            return self.expert_proba
        right = self.expert_proba**self.discount
        wrong = ((1 - self.expert_proba) / max(self.n_classes - 1, 1)) ** self.discount
        return right / (right + (self.n_classes - 1) * wrong)


def log_odds_weights(expert_proba: FloatArray, *, n_classes: int, eps: float = EPS) -> FloatArray:
    """Return log(p (K - 1) / (1 - p)): what one answer adds to the log-odds of its class, in the shape of p.

    An expert at chance, p = 1/K, weighs 0; one below chance speaks against the answer.

    >>> log_odds_weights(np.array([[0.5, 0.8]]), n_classes=2).round(3).tolist()
    [[0.0, 1.386]]
    """
    proba = np.clip(expert_proba, eps, 1 - eps)
    weights: FloatArray = np.log(proba) - np.log1p(-proba) + np.log(max(n_classes - 1, 1))
    return weights


def tally(answers: IntArray, heard: BoolArray, weights: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the weight that stands behind each class, (n, K).

    >>> tally(np.array([[0, 1, 1]]), np.array([[True, True, True]]), np.array([[3.0, 1.0, 1.0]]), n_classes=2).tolist()
    [[3.0, 2.0]]
    """
    rows, columns = np.nonzero(heard)
    cells = rows * n_classes + answers[rows, columns]
    sums = np.bincount(cells, weights=weights[rows, columns], minlength=len(answers) * n_classes)
    return sums.reshape(len(answers), n_classes).astype(np.float64)


def discounts(value: ArrayLike | None, *, n_experts: int) -> FloatArray:
    """Return each expert's weight in (0, 1], (J,); 1 by default."""
    if value is None:
        return np.ones(n_experts)
    weights = np.asarray(value, dtype=np.float64)
    if weights.shape != (n_experts,):
        raise InputError(
            f"must have shape ({n_experts},), one weight per expert, got {weights.shape}.", argument="discount"
        )
    if not ((weights > 0) & (weights <= 1)).all():
        raise InputError(
            f"must lie in (0, 1], got {weights.tolist()}; to silence an expert use mask instead.", argument="discount"
        )
    return weights


def clip_width(eps: float) -> float:
    """Return how far probabilities keep from 0 and 1."""
    if not 0 < eps < 0.5:
        raise InputError(f"must lie in (0, 0.5), got {eps}.", argument="eps")
    return float(eps)


def first_best(*criteria: FloatArray) -> IntArray:
    """Return the class that is largest by the first criterion, ties by the next one, at last the first class, (n,).

    >>> first_best(np.array([[2.0, 2.0, 1.0]]), np.array([[0.1, 0.2, 0.7]])).tolist()
    [1]
    """
    standing = np.ones(criteria[0].shape, dtype=np.bool_)
    for criterion in criteria:
        value = np.where(standing, criterion, -np.inf)
        standing &= value >= value.max(axis=1, keepdims=True) - _TIE
    return standing.argmax(axis=1)


def at(values: FloatArray, label_idx: IntArray) -> FloatArray:
    """Return each item's value at its class, (n,)."""
    return values[np.arange(len(values)), label_idx]
