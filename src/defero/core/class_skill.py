"""ClassSkill: how likely each expert is right on each class, and which wrong class they answer otherwise."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.errors import InputError


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
        if errors.shape != (n_classes, n_classes):
            raise InputError(f"must have shape ({n_classes}, {n_classes}), got {errors.shape}.", argument="errors")
        off = ~np.eye(n_classes, dtype=np.bool_)
        if np.diag(errors).any() or not (errors[off] > 0).all() or not np.allclose(errors.sum(axis=1), 1):
            raise InputError(
                "must be 0 on the diagonal, positive elsewhere, and sum to 1 in each row.", argument="errors"
            )
        object.__setattr__(self, "right", frozen(right))
        object.__setattr__(self, "errors", frozen(errors))

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
