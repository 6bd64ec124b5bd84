"""Lens: the features of an item that the experts' heads read."""

from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray, frozen
from defero.core.codec import Count
from defero.core.errors import InputError
from defero.heads.class_heads import class_features
from defero.heads.prior import category_groups, scaling

MOST_FEATURES = 32
"""Up to this many features are used as they are; of more, the principal directions."""
DIRECTIONS = 16
_MOST_ROWS = 5_000


@dataclass(frozen=True, eq=False)
class Lens:
    """Features of an item for the heads: what the model believes of its class, its own features, and hidden units.

    Attributes
    ----------
    n_features : int
        How many features an item has, d.
    reads_classes : bool
        Are there features of the class posterior?
    n_hidden : int
        How many hidden units of the model are read.
    center, scale : (d,)
        Where there are directions: features enter them as (x - center) / scale.
    directions : (d, r), optional
        The main directions of the features; each column by itself for None.
    class_directions : (b, r), optional
        The main directions of what the model believes, where there are many classes; each column for None.

    Examples
    --------
    >>> lens = Lens.fit(np.eye(3), reads_classes=True)
    >>> lens.transform(np.eye(3)[:1], np.array([[0.5, 0.5]])).tolist()
    [[0.5, 0.0, 0.0, 1.0, 0.0, 0.0]]
    """

    n_features: Count
    reads_classes: bool
    n_hidden: Count
    center: FloatArray
    scale: FloatArray
    directions: FloatArray | None
    class_directions: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("center", "scale", "directions"):
            value = getattr(self, name)
            if value is not None:
                if len(value) != self.n_features or not np.isfinite(value).all():
                    raise InputError(
                        f"must be finite, with {self.n_features} rows, one per feature, got {value.shape}.",
                        argument=name,
                    )
                object.__setattr__(self, name, frozen(value))

    @classmethod
    def fit(
        cls,
        features: FloatArray,
        *,
        reads_classes: bool,
        n_hidden: int = 0,
        class_proba: FloatArray | None = None,
    ) -> "Lens":
        """Learn the features of the heads from those (n, d) of past items: up to 32 as they are, else 16 directions.

        The class probabilities of the model, `class_proba` (n, K), are treated in the same way.
        """
        d, every = features.shape[1], max(1, len(features) // _MOST_ROWS)
        rows = features[::every]
        center, scale = scaling(rows)
        directions = None if d <= MOST_FEATURES else _main_directions((rows - center) / scale)
        believed = None
        if class_proba is not None and reads_classes:
            beliefs = class_features(class_proba[::every])
            if beliefs.shape[1] > MOST_FEATURES:
                believed = _main_directions(beliefs - beliefs.mean(axis=0))
        return cls(d, reads_classes, n_hidden, center, scale, directions, believed)

    def transform(self, features: FloatArray, class_proba: FloatArray, hidden: FloatArray | None = None) -> FloatArray:
        """Return the features of n items for the heads.

        Parameters
        ----------
        features : (n, d)
        class_proba : (n, K)
            For items that the model was fitted on: from a model that was not.
        hidden : (n, h), where the lens has hidden units
        """
        parts = [self._beliefs(class_proba)] if self.reads_classes else []
        parts.append(self._own(features))
        if hidden is not None and self.n_hidden:
            parts.append(hidden)
        return np.column_stack(parts)

    def groups(self, features: FloatArray, *, n_classes: int) -> IntArray:
        """Return which columns of `transform` share one spread of the heads: a category's, directions, hidden units."""
        n_beliefs = self._beliefs(np.full((1, n_classes), 1.0 / n_classes)).shape[1] if self.reads_classes else 0
        own = category_groups(features) if self.directions is None else np.zeros(self.directions.shape[1], np.int64)
        hidden = np.zeros(self.n_hidden, np.int64)
        after = n_beliefs + (int(own.max()) + 1 if len(own) else 0)
        return np.concatenate([np.arange(n_beliefs), n_beliefs + own, after + hidden])

    def _beliefs(self, class_proba: FloatArray) -> FloatArray:
        beliefs = class_features(class_proba)
        return beliefs if self.class_directions is None else beliefs @ self.class_directions

    def _own(self, features: FloatArray) -> FloatArray:
        if self.directions is None:
            return features
        return ((features - self.center) / self.scale) @ self.directions


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
