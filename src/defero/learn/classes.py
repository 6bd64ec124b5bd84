"""Classes: P(y = k | x) of a table, by boosted trees and a logistic regression."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Count, Within
from defero.core.errors import InputError
from defero.core.scores import Scores, softmax
from defero.learn.forest import Forest
from defero.learn.tree_columns import TreeColumns


@dataclass(frozen=True, eq=False)
class Linear:
    """Logits of a logistic regression on standardised features: (x - center) / scale @ slopes + bias.

    Attributes
    ----------
    center, scale : (d,)
    slopes : (d, K)
    bias : (K,)
    """

    center: FloatArray
    scale: FloatArray
    slopes: FloatArray
    bias: FloatArray

    def __post_init__(self) -> None:
        d, n_classes = len(self.center), len(self.bias)
        if self.scale.shape != (d,) or self.slopes.shape != (d, n_classes) or not (self.scale != 0).all():
            raise InputError(f"must be of {d} features and {n_classes} classes, scale not 0.", argument="slopes")

    def logits(self, features: FloatArray) -> FloatArray:
        """Return the logits of the classes, (n, K)."""
        return ((features - self.center) / self.scale) @ self.slopes + self.bias


@dataclass(frozen=True, eq=False)
class Trees:
    """Logits of boosted trees.

    Attributes
    ----------
    columns : TreeColumns
    forest : Forest
        One output, the log-odds of the second of two classes, or one for each class.
    """

    columns: TreeColumns
    forest: Forest

    def __post_init__(self) -> None:
        if self.forest.n_features != self.columns.n_columns:
            raise InputError(
                f"must look at {self.columns.n_columns} columns, got {self.forest.n_features}.", argument="forest"
            )

    def logits(self, features: FloatArray) -> FloatArray:
        """Return the logits of the classes, (n, K)."""
        outputs = self.forest.predict(self.columns.of_matrix(features))
        return np.hstack([np.zeros_like(outputs), outputs]) if outputs.shape[1] == 1 else outputs


@dataclass(frozen=True, eq=False)
class Classes:
    """P(y = k | x) proportional to linear(k)^w_0 times trees(k)^w_1, without experts.

    Attributes
    ----------
    n_classes : int
        K.
    linear, trees : Linear, Trees, optional
        At least one of them.
    weights : (2,)
        Of the two in the log-probability; the temperature is in them.
    """

    kind: ClassVar[str] = "classes"
    n_classes: Count
    linear: Linear | None
    trees: Trees | None
    weights: Annotated[FloatArray, Within(0)]

    def __post_init__(self) -> None:
        if self.weights.shape != (2,) or (self.linear is None and self.trees is None):
            raise InputError("must be two numbers, of a linear model and trees.", argument="weights")
        outputs = 1 if self.n_classes == 2 else self.n_classes
        if self.linear is not None and len(self.linear.bias) != self.n_classes:
            raise InputError(f"must be of {self.n_classes} classes.", argument="linear")
        if self.trees is not None and self.trees.forest.n_outputs != outputs:
            raise InputError(f"must have {outputs} outputs.", argument="trees")

    @property
    def net(self) -> str:
        """What the classes are learned by."""
        return "+".join(name for name, part in (("trees", self.trees), ("linear", self.linear)) if part is not None)

    def proba(self, features: FloatArray) -> FloatArray:
        """Return P(y = k | x), (n, K)."""
        logits = np.zeros((len(features), self.n_classes))
        for part, weight in zip((self.linear, self.trees), self.weights, strict=True):
            if part is not None:
                logits += weight * log_softmax(part.logits(features))
        return softmax(logits)

    def score(self, features: FloatArray) -> Scores:
        """Return the scores of (n, d) features; no experts."""
        return Scores.from_probabilities(self.proba(features), np.empty((len(features), 0)))


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return log P of logits (n, K)."""
    raised = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(raised - np.log(np.exp(raised).sum(axis=1, keepdims=True)))
