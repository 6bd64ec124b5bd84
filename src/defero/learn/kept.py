"""Kept classifiers: linear models and trees of other libraries as arrays, which predict as those do."""

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, check_shape, set_numbers
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.scores import sigmoid, softmax

MOST_LEVELS = 1_000
"""Levels of a tree: each takes a step in Python."""
_CELLS = 1 << 16
"""So many rows times trees are walked at once."""


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Outputs x @ slopes + bias.

    Attributes
    ----------
    slopes : (d, o)
    bias : (o,)
    """

    kind: ClassVar[str] = "linear"
    slopes: FloatArray
    bias: FloatArray

    def __post_init__(self) -> None:
        set_numbers(self, slopes=("d", "o"), bias=self.slopes.shape[1:])

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.slopes)

    @property
    def n_outputs(self) -> int:
        """O."""
        return len(self.bias)

    def outputs(self, features: FloatArray) -> FloatArray:
        """Return the outputs, (n, o)."""
        return features @ self.slopes + self.bias


@dataclass(frozen=True, eq=False)
class LevelTrees:
    """Sums of decision trees of any size, whose nodes stand level by level: first t roots, then all their children.

    So the children of the k-th node that splits, from k = 0, are the nodes t + 2k and t + 2k + 1: no link is kept that
    could lead elsewhere.

    Attributes
    ----------
    n_features, n_trees : int
        D and t.
    feature : (m,) int
        Column that each of m nodes compares; -1 at leaves.
    threshold : (m,)
        A row goes left if its number is at most this.
    missing_left : (m,) bool
        Whether a row without a number goes left.
    value : (m, w)
        What each leaf adds to w of the outputs: to all of them, or to those whose turn it is.
    baseline : (o,)
        Where the outputs start.
    single : bool
        Whether features are first rounded to single precision, as scikit-learn's trees do.
    averaged : bool
        Whether the sum is divided by t.

    Examples
    --------
    One tree, x <= 0.5:

    >>> no = np.zeros(3, dtype=np.bool_)
    >>> trees = LevelTrees(1, 1, np.array([0, -1, -1]), np.array([0.5, 0, 0]), ~no, np.array([[0.0], [10.0], [20.0]]),
    ...                    np.array([1.0]), single=True, averaged=False)
    >>> trees.outputs(np.array([[0.0], [1.0], [np.nan]])).ravel().tolist()
    [11.0, 21.0, 11.0]
    """

    kind: ClassVar[str] = "trees"
    n_features: Count
    n_trees: Count
    feature: Annotated[IntArray, Within(-1)]
    threshold: Annotated[FloatArray, Within(finite=False)]
    missing_left: BoolArray
    value: FloatArray
    baseline: FloatArray
    single: bool
    averaged: bool

    def __post_init__(self) -> None:
        m, width, n_outputs = len(self.feature), self.value.shape[-1], self.baseline.size
        check_shape("threshold", self.threshold, (m,))
        set_numbers(self, feature=(m,), missing_left=(m,), value=(m, width), baseline=(n_outputs,))
        if not width or n_outputs % width:
            raise InputError(f"must be a part of {n_outputs} outputs, got {width} columns.", argument="value")
        level, n_levels = slice(0, self.n_trees), 0
        while level.start < level.stop and n_levels <= MOST_LEVELS:
            level = slice(level.stop, level.stop + 2 * int((self.feature[level] >= 0).sum()))
            n_levels += 1
        if level.stop != m or n_levels > MOST_LEVELS:
            raise InputError(
                f"must be of {self.n_trees} trees of at most {MOST_LEVELS} levels, one level after the other.",
                argument="feature",
            )
        if self.feature.min(initial=-1) < -1 or self.feature.max(initial=-1) >= self.n_features:
            raise InputError(f"must name one of {self.n_features} columns.", argument="feature")

    @property
    def n_outputs(self) -> int:
        """O."""
        return len(self.baseline)

    @cached_property
    def _left(self) -> IntArray:
        """The left child of each node that splits, (m,)."""
        return self.n_trees + 2 * np.cumsum(self.feature >= 0) - 2

    def outputs(self, features: FloatArray) -> FloatArray:
        """Return the outputs, (n, o)."""
        width, n_outputs = self.value.shape[1], len(self.baseline)
        outputs = np.tile(self.baseline, (len(features), 1))
        step = max(1, _CELLS // max(self.n_trees, 1))
        for start in range(0, len(features), step):
            rows = slice(start, start + step)
            leaves = self._leaves(features[rows])
            for tree in range(self.n_trees):
                first = tree * width % n_outputs
                outputs[rows, first : first + width] += self.value[leaves[:, tree]]
        return outputs / self.n_trees if self.averaged else outputs

    def _leaves(self, features: FloatArray) -> IntArray:
        """Return the node at which each row ends in each tree, (n, t)."""
        if self.single:
            with np.errstate(over="ignore"):
                features = features.astype(np.float32)
        node = np.tile(np.arange(self.n_trees), len(features))
        walking = np.flatnonzero(self.feature[node] >= 0)
        while len(walking):
            here = node[walking]
            cell = features[walking // self.n_trees, self.feature[here]]
            goes_left = np.where(np.isnan(cell), self.missing_left[here], cell <= self.threshold[here])
            node[walking] = self._left[here] + ~goes_left
            walking = walking[self.feature[node[walking]] >= 0]
        return node.reshape(len(features), self.n_trees)


Link = Literal["identity", "sigmoid", "sigmoids", "softmax"]
"""How outputs become probabilities: one as P(second class), or K of them as they are, each by itself, or together."""


@dataclass(frozen=True, eq=False)
class KeptClassifier:
    """A classifier as arrays.

    Attributes
    ----------
    center, scale : (d,)
        Subtracted and divided by first.
    body : LinearMap or LevelTrees
    link : "identity", "sigmoid", "sigmoids" or "softmax"
    """

    kind: ClassVar[str] = "kept"
    center: FloatArray
    scale: FloatArray
    body: LinearMap | LevelTrees
    link: Link

    def __post_init__(self) -> None:
        shape = (self.body.n_features,)
        if self.center.shape != shape or self.scale.shape != shape or not (self.scale != 0).all():
            raise InputError(f"must be {shape[0]} numbers that are not 0, as many as in center.", argument="scale")

    def outputs(self, features: FloatArray) -> FloatArray:
        """Return what the link makes probabilities of, (n, o)."""
        return self.body.outputs((features - self.center) / self.scale)

    def proba(self, features: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K)."""
        outputs = self.outputs(features)
        if self.link == "sigmoid":
            return np.hstack([1.0 - sigmoid(outputs), sigmoid(outputs)])
        if self.link == "sigmoids":  # in log space: sigmoids of very negative outputs add up to 0
            outputs = -np.logaddexp(0.0, -outputs)
        return outputs if self.link == "identity" else softmax(outputs)
