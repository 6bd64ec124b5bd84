"""Ridge regression of what a table of means leaves over; the penalty is chosen by cross-validation."""

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.pools.models import LinearPart

PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Times the number of items; beside them the infinite penalty, no regression at all."""


def fit_ridge(
    features: FloatArray, rest: FloatArray, fold: IntArray, columns: IntArray, scale: FloatArray
) -> LinearPart:
    """Return the regression of each member's rest on some columns.

    Parameters
    ----------
    features : (n, d)
    rest : (n, J), NaN where there is none
    fold : (n,) int
        Parts for the choice of the penalty, one for all members.
    columns : (c,) int
    scale : (c,)
        Columns are centered and multiplied by it.
    """
    d, n_members = features.shape[1], rest.shape[1]
    nothing = LinearPart(np.zeros((d, n_members)), np.zeros(n_members))
    if not len(columns) or not len(features):
        return nothing
    center = features[:, columns].mean(axis=0)
    design = (features[:, columns] - center) * scale
    products = _Products(design, rest, fold)
    penalty = products.best_penalty()
    if penalty is None:
        return nothing
    slopes = products.solve(None, [penalty])[0]
    weights = np.zeros((d, n_members))
    weights[columns] = slopes * scale[:, None]
    return LinearPart(weights, -center @ weights[columns])


class _Products:
    """Sums of squares and products by part and by mask of members: every penalty and every part from one pass."""

    def __init__(self, design: FloatArray, rest: FloatArray, fold: IntArray) -> None:
        self.design, self.fold = design, fold
        self.seen = np.isfinite(rest)
        self.rest = np.where(self.seen, rest, 0.0)
        self.folds = np.unique(fold)
        same = bool((self.seen == self.seen[:, :1]).all())
        # Members with the same gaps share their products.
        self.members = [np.arange(rest.shape[1])] if same else [np.array([j]) for j in range(rest.shape[1])]
        self.gram = [[self._gram(fold == f, group[0]) for f in self.folds] for group in self.members]
        self.cross = [design[fold == f].T @ self.rest[fold == f] for f in self.folds]

    def _gram(self, rows: FloatArray, member: int) -> tuple[FloatArray, int]:
        part = self.design[rows & self.seen[:, member]]
        return part.T @ part, len(part)

    def solve(self, left_out: int | None, penalties: list[float]) -> list[FloatArray]:
        """Return the slopes (c, J) for each penalty, without one of the parts."""
        stay = [place for place in range(len(self.folds)) if place != left_out]
        cross = sum((self.cross[place] for place in stay), np.zeros(self.cross[0].shape))
        slopes = [np.zeros(cross.shape) for _ in penalties]
        for group, grams in zip(self.members, self.gram, strict=True):
            gram = sum((grams[place][0] for place in stay), np.zeros(grams[0][0].shape))
            n = max(sum(grams[place][1] for place in stay), 1)
            values, vectors = np.linalg.eigh(gram)
            turned = vectors.T @ cross[:, group]
            for slope, penalty in zip(slopes, penalties, strict=True):
                slope[:, group] = vectors @ (turned / (np.maximum(values, 0.0) + penalty * n)[:, None])
        return slopes

    def best_penalty(self) -> float | None:
        """Return the penalty with the least squared error on parts left out; None where no regression is best."""
        if len(self.folds) < 2:
            return None
        loss = np.zeros(len(PENALTIES) + 1)
        for place, f in enumerate(self.folds):
            rows = self.fold == f
            loss[-1] += (self.rest[rows] ** 2).sum()
            for k, slopes in enumerate(self.solve(place, list(PENALTIES))):
                gap = np.where(self.seen[rows], self.rest[rows] - self.design[rows] @ slopes, 0.0)
                loss[k] += (gap**2).sum()
        best = int(loss.argmin())
        return None if best == len(PENALTIES) else PENALTIES[best]
