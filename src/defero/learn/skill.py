"""Skill: P(expert j is right | x, y = k), one hierarchical model of all experts, learned from all answers at once.

    logit p_jk(x) = w_j . [1, x, class k, log-odds that the model gives to k, x for each class] + f_j(x),
    w_j ~ N(mean, diag(spread^2))

The population is learned by empirical Bayes: who has answered nothing is the population, who has answered little is
near it. f_j are boosted trees that start from the expert's own log-odds on held-out answers; few answers grow no trees.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, set_numbers
from defero.core.codec import Count
from defero.core.errors import InputError
from defero.core.scores import logit, sigmoid
from defero.core.splits import sample_rows
from defero.learn.classes import Trees
from defero.learn.heads import Heads, fit_head
from defero.learn.online import after_answers
from defero.learn.prior import scaling

MOST_LOG_ODDS = 7.0
"""A model surer than 0.999 is taken at that: one rash posterior must not carry an expert away."""
MOST_CLASSES = 32
"""With more classes nobody has a skill of their own in each: how likely the model finds the class is all that tells."""
DIRECTIONS = 12
"""Up to this many features are read one by one; of more, so many main directions."""
MOST_PRODUCTS = 24
"""With more columns than this the features are not read by class: they would cost more than they tell."""
_MOST_ROWS = 5_000


@dataclass(frozen=True, eq=False)
class Directions:
    """What the experts' skill reads of an item's own features: up to 12 one by one, else 12 main directions.

    Attributes
    ----------
    center, scale : (d,)
    axes : (d, r), optional
        None: each feature by itself.

    Examples
    --------
    >>> Directions.fit(np.array([[1.0], [3.0]])).of(np.array([[5.0]])).tolist()
    [[3.0]]
    """

    center: FloatArray
    scale: FloatArray
    axes: FloatArray | None = None

    def __post_init__(self) -> None:
        d = len(self.center)
        set_numbers(self, center=(d,), scale=(d,), **({} if self.axes is None else {"axes": (d, "r")}))

    @classmethod
    def fit(cls, features: FloatArray) -> "Directions":
        """Learn them from the features (n, d) of past items."""
        rows = features[sample_rows(len(features), _MOST_ROWS)]
        center, scale = scaling(rows)
        axes = None if features.shape[1] <= DIRECTIONS else _main_directions((rows - center) / scale)
        return cls(center, scale, axes)

    def of(self, features: FloatArray) -> FloatArray:
        """Return what is read of n items, (n, r)."""
        standard = (features - self.center) / self.scale
        return standard if self.axes is None else standard @ self.axes


def _main_directions(standard: FloatArray) -> FloatArray:
    """Return the directions in which standardised features vary most, (d, r)."""
    n, d = standard.shape
    keep = min(DIRECTIONS, n, d)
    if d <= n:
        vectors = np.linalg.eigh(standard.T @ standard)[1]
        return np.ascontiguousarray(vectors[:, ::-1][:, :keep])
    # Fewer items than features: the same directions from the smaller matrix of the items' products.
    values, vectors = np.linalg.eigh(standard @ standard.T)
    some = values[::-1][:keep] > 1e-9 * max(float(values[-1]), 1e-300)
    directions: FloatArray = standard.T @ (vectors[:, ::-1][:, :keep][:, some] / np.sqrt(values[::-1][:keep][some]))
    return np.ascontiguousarray(directions)


@dataclass(frozen=True, eq=False)
class Skill:
    """The skill of J experts, by item and class.

    Attributes
    ----------
    directions : Directions
    heads : Heads
        On the features of `with_class`.
    n_classes : int
        K.
    trees : Trees, optional
        One output for each expert with trees: what they add to the log-odds.
    tree_experts : (o,) int
        Whose output each is.
    reads_belief : bool
        Whether the weights read how likely the model finds the class. Not where they were learned from the model's own
        training rows.
    """

    directions: Directions
    heads: Heads
    n_classes: Count
    trees: Trees | None = None
    tree_experts: IntArray | None = None
    reads_belief: bool = True

    def __post_init__(self) -> None:
        n_inputs = len(self.directions.center) if self.directions.axes is None else self.directions.axes.shape[1]
        width = len(blocks(n_inputs, n_classes=self.n_classes))
        if self.heads.prior.n_features != width:
            raise InputError(f"must read {width} features, got {self.heads.prior.n_features}.", argument="heads")
        if self.trees is None:
            return
        whose = np.zeros(0, np.int64) if self.tree_experts is None else self.tree_experts
        if len(whose) != self.trees.forest.n_outputs or len(np.unique(whose)) != len(whose):
            raise InputError("must name the expert of each output, each once.", argument="tree_experts")
        if len(whose) and not (whose.min() >= 0 and whose.max() < self.n_experts):
            raise InputError(f"must name some of {self.n_experts} experts.", argument="tree_experts")

    @property
    def n_experts(self) -> int:
        """J."""
        return self.heads.n_experts

    def log_odds(self, features: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return the log-odds that expert j is right | x, y = k, (n, J, K)."""
        inputs, class_proba = self._read(features, class_proba)
        log_odds = np.empty((len(inputs), self.n_experts, self.n_classes))
        for k in range(self.n_classes):
            label_idx = np.full(len(inputs), k)
            log_odds[:, :, k] = self.heads.log_odds(with_class(inputs, class_proba, label_idx))
        return self._with_trees(features, log_odds)

    def right(self, features: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return P(expert j is right | x, y = k), (n, J, K)."""
        return sigmoid(self.log_odds(features, class_proba))

    def logit_sd(self, features: FloatArray, class_proba: FloatArray) -> FloatArray:
        """Return a bound on the standard deviation of the log-odds of P(right | x), (n, J).

        By the delta method, sum_k P(y = k | x) p_k (1 - p_k) s_k / (p (1 - p)), as if errors on all classes went one
        way; of what trees add, no uncertainty is known.
        """
        right = self.right(features, class_proba)
        proba = summed(right, class_proba)
        sd = np.zeros(proba.shape)
        inputs, believed = self._read(features, class_proba)
        for k in range(self.n_classes):
            of_class = self.heads.logit_sd(with_class(inputs, believed, np.full(len(inputs), k)))
            spread = right[:, :, k] * (1 - right[:, :, k]) / np.maximum(proba * (1 - proba), 1e-12)
            sd += class_proba[:, k, None] * spread * of_class
        return sd

    def of_answers(
        self, features: FloatArray, class_proba: FloatArray, item_idx: IntArray, expert_idx: IntArray
    ) -> FloatArray:
        """Return P(right | x, y = k) of some answers alone, (m, K): nothing of size (n, J)."""
        inputs, class_proba = self._read(features, class_proba)
        log_odds = np.empty((len(item_idx), self.n_classes))
        columns = None if self.trees is None else self.trees.columns.of_matrix(features)
        for j in np.unique(expert_idx):
            cells = np.flatnonzero(expert_idx == j)
            rows = item_idx[cells]
            head = self.heads.take([int(j)])
            for k in range(self.n_classes):
                phi = with_class(inputs[rows], class_proba[rows], np.full(len(rows), k))
                log_odds[cells, k] = head.log_odds(phi)[:, 0]
            if columns is not None and self.trees is not None and len(place := np.flatnonzero(self.tree_experts == j)):
                log_odds[cells] += self.trees.forest.take(place).predict(columns[rows])
        return sigmoid(log_odds)

    def _read(self, features: FloatArray, class_proba: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what the weights read of the items, and of what the model believes."""
        inputs = self.directions.of(features)
        return inputs, class_proba if self.reads_belief else np.full_like(class_proba, 1.0 / self.n_classes)

    def _with_trees(self, features: FloatArray, log_odds: FloatArray) -> FloatArray:
        if self.trees is not None:
            log_odds[:, self.tree_experts] += self.trees.outputs(features)[:, :, None]
        return log_odds

    def with_expert(
        self,
        features: FloatArray,
        class_proba: FloatArray,
        label_idx: IntArray,
        correct: ArrayLike,
        *,
        weight: ArrayLike | None = None,
    ) -> "Skill":
        """Return the skill with one more expert at the end, of whom m answers are known; nobody else changes."""
        phi = with_class(*self._read(features, class_proba), label_idx)
        return replace(self, heads=self.heads.with_heads(fit_head(phi, correct, self.heads.prior, weight=weight)))

    def with_unknown(self) -> "Skill":
        """Return the skill with somebody at the end of whom nothing but the population is known."""
        prior = self.heads.prior
        return replace(self, heads=self.heads.with_heads(fit_head(np.empty((0, prior.n_features)), [], prior)))

    def after(
        self,
        items: Iterable[tuple[FloatArray, FloatArray]],
        label_idx: IntArray,
        item_idx: IntArray,
        expert_idx: IntArray,
        right: BoolArray,
    ) -> "Skill":
        """Return the skill once m answers to n items of known class were learned from, one after the other.

        Parameters
        ----------
        items : n pairs
            Features (1, d) and class probabilities (1, K) of each item alone: in a batch the last bit of a number may
            depend on the other items.
        label_idx : (n,)
        item_idx, expert_idx, right : (m,)
        """
        phi, added = np.empty((len(label_idx), self.heads.prior.n_features)), np.zeros((len(label_idx), self.n_experts))
        for i, (features, class_proba) in enumerate(items):
            phi[i] = with_class(*self._read(features, class_proba), label_idx[i : i + 1])
            added[i] = self._with_trees(features, np.zeros((1, self.n_experts, 1)))[0, :, 0]
        by_trees = added[item_idx, expert_idx]
        return replace(self, heads=after_answers(self.heads, phi, item_idx, expert_idx, right, added=by_trees))

    def take(self, experts: Sequence[int]) -> "Skill":
        """Return the skill of some experts, in this order."""
        heads = self.heads.take(experts)
        if self.trees is None or self.tree_experts is None:
            return replace(self, heads=heads)
        place = {int(j): new for new, j in enumerate(experts)}
        stay = np.flatnonzero([int(j) in place for j in self.tree_experts])
        if not len(stay):
            return replace(self, heads=heads, trees=None, tree_experts=None)
        whose = np.array([place[int(j)] for j in self.tree_experts[stay]])
        trees = replace(self.trees, forest=self.trees.forest.take(stay))
        return replace(self, heads=heads, trees=trees, tree_experts=whose)


def summed(right: FloatArray, class_proba: FloatArray) -> FloatArray:
    """Return P(right | x) = sum_k P(y = k | x) P(right | x, y = k), (n, J), from (n, J, K) and (n, K)."""
    return np.asarray(right @ class_proba[:, :, None])[:, :, 0]


def with_class(inputs: FloatArray, class_proba: FloatArray, label_idx: IntArray) -> FloatArray:
    """Return what an expert's weights read of n items of these classes.

    Features; the class, as K columns of 0 and 1, one of them for two classes and none for more than 32; how likely the
    model finds the class; and the features by class, where these are few: somebody whose answers follow the features
    is right on one class just where they are wrong on another.

    >>> with_class(np.array([[7.0]]), np.array([[0.5, 0.5]]), np.array([0])).tolist()
    [[7.0, 0.0, 0.0, -7.0]]
    """
    n_classes = class_proba.shape[1]
    is_class = (label_idx[:, None] == class_columns(n_classes)).astype(np.float64)
    believed = logit(class_proba[np.arange(len(label_idx)), label_idx])
    columns = [inputs, is_class, np.clip(believed, -MOST_LOG_ODDS, MOST_LOG_ODDS)]
    by_class = n_products(inputs.shape[1], n_classes)
    if by_class:
        sign = 2.0 * is_class - 1.0 if n_classes == 2 else is_class
        columns.append((inputs[:, :, None] * sign[:, None, :]).reshape(len(inputs), by_class))
    return np.column_stack(columns)


def class_columns(n_classes: int) -> IntArray:
    """Return the classes that have a column of their own."""
    if n_classes > MOST_CLASSES or n_classes == 1:
        return np.empty(0, dtype=np.int64)
    return np.array([1]) if n_classes == 2 else np.arange(n_classes)


def n_products(n_inputs: int, n_classes: int) -> int:
    """Return how many columns the features by class have."""
    count = n_inputs * len(class_columns(n_classes))
    return count if count <= MOST_PRODUCTS else 0


def blocks(n_inputs: int, *, n_classes: int) -> IntArray:
    """Return which columns of `with_class` share one spread of the experts: all features do, all classes, ...

    >>> blocks(2, n_classes=3).tolist()
    [0, 0, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3]
    """
    sizes = [n_inputs, len(class_columns(n_classes)), 1, n_products(n_inputs, n_classes)]
    return np.repeat(np.arange(4), sizes)
