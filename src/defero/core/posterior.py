"""What an answer says about the class, and the posterior: the model's probabilities, updated by answers."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_shape, set_frozen
from defero.core.checks.experts import expert_probabilities
from defero.core.errors import InputError

EPS = 1e-6
"""Probabilities are clipped to [EPS, 1 - EPS]: nobody, expert or model, is beyond contradiction."""
_TIE = 1e-9
"""Sums of weights depend on the order of the experts in the last digits; closer than this is a tie."""


@dataclass(frozen=True, eq=False)
class ClassSkill:
    """P(expert j answers m | x, y = k) of n items: `right` where m = k, else (1 - right) times `errors`.

    Attributes
    ----------
    right : (n, J, K)
        P(expert j is right | x, y = k).
    errors : (K, K)
        P(a wrong answer is m | y = k): 0 on the diagonal, positive elsewhere; rows sum to 1.

    Examples
    --------
    >>> skill = ClassSkill(np.array([[[0.9, 0.6]]]), np.array([[0.0, 1.0], [1.0, 0.0]]))  # errs on class 1
    >>> skill.likelihood(np.array([0]), np.array([0])).round(2).tolist()
    [[[0.9, 0.1], [0.4, 0.6]]]
    """

    right: FloatArray
    errors: FloatArray

    def __post_init__(self) -> None:
        right, errors = np.asarray(self.right, dtype=np.float64), np.asarray(self.errors, dtype=np.float64)
        if right.ndim != 3 or right.shape[2] < 2:
            raise InputError(
                f"must have shape (n, J, K) with two or more classes, got {right.shape}.", argument="right"
            )
        if right.size and not (right.min() >= 0 and right.max() <= 1):
            raise InputError("must be probabilities in [0, 1], for each item, expert and class.", argument="right")
        n_classes = right.shape[2]
        check_shape("errors", errors, (n_classes, n_classes))
        off = ~np.eye(n_classes, dtype=np.bool_)
        if np.diag(errors).any() or not (errors[off] > 0).all() or not np.allclose(errors.sum(axis=1), 1):
            raise InputError(
                "must be 0 on the diagonal, positive elsewhere, and sum to 1 in each row.", argument="errors"
            )
        set_frozen(self, right=right, errors=errors)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, J, K)."""
        n_items, n_experts, n_classes = self.right.shape
        return n_items, n_experts, n_classes

    def likelihood(self, item_idx: IntArray, expert_idx: IntArray, *, eps: float = 0.0) -> FloatArray:
        """Return P(m | y = k, x) of some items and experts, (a, K, K) with the truth k first.

        `right` is clipped to [eps, 1 - eps].
        """
        right = np.clip(self.right[item_idx, expert_idx], eps, 1 - eps)
        likelihood = (1 - right)[:, :, None] * self.errors
        classes = np.arange(len(self.errors))
        likelihood[:, classes, classes] = right
        return likelihood

    def log_likelihood(
        self, item_idx: IntArray, expert_idx: IntArray, answer_idx: IntArray, *, eps: float
    ) -> FloatArray:
        """Return log P(answer | y = k, x) of answers to some items, (a, K)."""
        right = np.clip(self.right[item_idx, expert_idx], eps, 1 - eps)
        hit = answer_idx[:, None] == np.arange(len(self.errors))
        share = np.where(hit, 1.0, self.errors.T[answer_idx])  # the diagonal is 0: avoid its logarithm
        return np.where(hit, np.log(right), np.log1p(-right)) + np.log(share)


def uniform_errors(n_classes: int) -> FloatArray:
    """Return errors that are uniform over the other classes, (K, K).

    >>> uniform_errors(3).tolist()
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    return (1.0 - np.eye(n_classes)) / (n_classes - 1)


@dataclass(frozen=True, eq=False)
class AnswerLaw:
    """P(expert j answers m | y = k, x) of n items: what an answer says about the class.

    Errors are uniform over the other classes, unless `skill` says more. Answers of different experts are taken for
    independent given the class and the item; `discount` corrects that where people err together: see `answer_shares`.

    Attributes
    ----------
    expert_proba : (n, J)
        P(expert j is right | x), clipped to [eps, 1 - eps].
    n_classes : int
        K.
    skill : ClassSkill, optional
        P(m | y, x) by item and class, used in place of expert_proba.
    discount : (J,)
        How much each expert's errors go with the others', in [0, 1].
    n_heard : (n,), optional
        How many answers of each item have been heard: so much less an answer to come counts. By default none.
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
    n_heard: IntArray | None = None

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
        if skill is not None:
            check_shape("skill", skill.right, (n_items, n_experts, n_classes))
        return cls(np.clip(proba, eps, 1 - eps), n_classes, skill, discounts(discount, n_experts=n_experts), eps)

    def evidence(
        self,
        answers: IntArray,
        heard: BoolArray,
        *,
        item_idx: IntArray | None = None,
        left_out: BoolArray | None = None,
    ) -> FloatArray:
        """Return sum_j w_j log P(m_j | y, x) over the experts heard, (a, K), up to a constant for each item.

        The weights are `answer_shares`. Takes the answers of all items, or of those in `item_idx`. The experts
        `left_out` (J,) are heard, so that the others count less, but what they say is counted elsewhere.
        """
        shares = answer_shares(self.discount, heard)
        heard = heard if left_out is None else heard & ~left_out
        items = np.arange(len(answers)) if item_idx is None else item_idx
        if self.skill is None:
            weights = log_odds_weights(self.expert_proba[items], n_classes=self.n_classes, eps=self.eps)
            return tally(answers, heard, shares * weights, n_classes=self.n_classes)
        rows, experts = np.nonzero(heard)
        likelihood = self.skill.log_likelihood(items[rows], experts, answers[rows, experts], eps=self.eps)
        evidence = np.zeros((len(answers), self.n_classes))
        np.add.at(evidence, rows, shares[rows, experts, None] * likelihood)
        return evidence

    def likelihood(self, item_idx: IntArray, expert_idx: IntArray) -> FloatArray:
        """Return P(m | y = k, x) of the next answer to some items, (a, K, K) with the truth k first.

        A discounted expert answers as a weaker one: P(m | y)^w, normalised over m. With uniform errors this expert's
        evidence is exactly the discounted evidence. The answers after the next one are taken to count as much as it.
        """
        if self.skill is None:
            right = self.expert_proba[item_idx, expert_idx]
            wrong = (1 - right) / max(self.n_classes - 1, 1)
            law = np.where(np.eye(self.n_classes, dtype=np.bool_), right[:, None, None], wrong[:, None, None])
        else:
            law = self.skill.likelihood(item_idx, expert_idx, eps=self.eps)
        share = self._next_shares(item_idx, expert_idx)
        if (share == 1).all():
            return law
        weaker = law ** share[:, None, None]
        return weaker / weaker.sum(axis=2, keepdims=True)

    def symmetric(self, item_idx: IntArray) -> FloatArray | None:
        """Return P(right) of some items' next answers, (a, J), discounts included; None with `skill`."""
        if self.skill is not None:
            return None
        proba = self.expert_proba[item_idx]
        share = self._next_shares(item_idx[:, None], np.arange(proba.shape[1]))
        if (share == 1).all():
            return proba
        right = proba**share
        wrong = ((1 - proba) / max(self.n_classes - 1, 1)) ** share
        return right / (right + (self.n_classes - 1) * wrong)

    def _next_shares(self, item_idx: IntArray, expert_idx: IntArray) -> FloatArray:
        """Return how much the next answer would count, in the shape of the indices together."""
        n_heard = np.zeros(1, dtype=np.int64) if self.n_heard is None else self.n_heard[item_idx]
        return np.asarray(1 / (1 + n_heard * self.discount[expert_idx]))


def answer_shares(discount: FloatArray, heard: BoolArray) -> FloatArray:
    """Return how much each expert's answer counts beside the others that are heard, (a, J).

    n answers that correlate by r tell as much as n / (1 + (n - 1) r) independent ones: each counts 1 / (1 + (n - 1) r),
    the only answer in full, and n copies (r = 1) as one.

    >>> answer_shares(np.array([1.0, 0.0]), np.array([[True, False], [True, True]])).tolist()
    [[1.0, 1.0], [0.5, 1.0]]
    """
    return np.asarray(1 / (1 + np.maximum(heard.sum(axis=1, keepdims=True) - 1, 0) * discount))


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
    """Return how much each expert's errors go with the others', (J,); 0 by default."""
    if value is None:
        return np.zeros(n_experts)
    discount = np.asarray(value, dtype=np.float64)
    check_shape("discount", discount, (n_experts,), like=", one number per expert")
    if not ((discount >= 0) & (discount <= 1)).all():
        raise InputError(
            f"must lie in [0, 1], got {discount.tolist()}; vote_discount estimates it.", argument="discount"
        )
    return discount


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
