"""What is left of the label when the features have said what they can."""

from dataclasses import dataclass

import numpy as np

from defero.answering.features import basis, bends, standardised
from defero.answering.who import WhoAnswered
from defero.core.checks import FloatArray, IntArray

MOST_CLASSES = 12
"""Of more classes the most frequent ones are looked at."""
_PENALTIES = np.append(10.0 ** np.arange(-5.0, 3.0, 0.5), np.inf)


@dataclass(frozen=True, eq=False)
class LeftOver:
    """Labels less what the features foretell, for c classes; of two classes one is enough.

    Attributes
    ----------
    classes : (c,) int
        Which class each column is about.
    residual : (n, c)
        1[y = k] - e_k(x); each column has mean 0.
    variance : (n, c)
        e_k(x) (1 - e_k(x)): how far chance alone moves a residual.
    """

    classes: IntArray
    residual: FloatArray
    variance: FloatArray

    def free(self) -> FloatArray:
        """Return residuals that do not imply each other, (n, c or c - 1): those of all classes add up to 0."""
        implied = self.residual.shape[1] > 1 and np.abs(self.residual.sum(axis=1)).max() < 1e-9
        return self.residual[:, :-1] if implied else self.residual


def label_left_over(label_idx: IntArray, features: FloatArray) -> LeftOver:
    """Foretell each class from the features by least squares with a penalty, and return what is left.

    e = (2 H - H^2) y with H the ridge smoother: fitting the residuals once more ("twicing", Tukey 1977). A sum of
    what is left over the items that somebody answered is then the same as one in which both the label and the
    answering were cleared of the features, o' (I - H) (I - H) y: what the fit of the one misses, that of the other
    catches (Shah & Peters 2020). The penalty is chosen by generalised cross-validation.

    Parameters
    ----------
    label_idx : (n,) int
    features : (n, d)

    Examples
    --------
    >>> left = label_left_over(np.array([0, 0, 0, 1]), np.empty((4, 0)))
    >>> left.classes.tolist(), left.residual[:, 0].tolist(), left.variance[0, 0].item()
    ([1], [-0.25, -0.25, -0.25, 0.75], 0.1875)
    """
    counts = np.bincount(label_idx)
    classes = np.argsort(-counts, kind="stable")[: min(MOST_CLASSES, np.count_nonzero(counts))]
    if np.count_nonzero(counts) <= 2:
        classes = classes[1:]
    target = (label_idx[:, None] == classes).astype(np.float64)
    share = target.mean(axis=0)
    columns = basis(features)
    fitted = _smoothed(columns, target - share)
    if fitted.any():
        # A probability is no straight line of the features: what was foretold is bent, and all fitted again.
        fitted = _smoothed(np.column_stack([columns, standardised(bends(fitted))]), target - share)
    proba = np.clip(share + fitted, 0.0, 1.0)
    residual = target - share - fitted
    variance = np.maximum(proba * (1.0 - proba), 0.05 * share * (1.0 - share))
    # Where least squares is too sure of itself the residuals are larger than it says.
    variance *= np.maximum(1.0, (residual**2).mean(axis=0) / np.maximum(variance.mean(axis=0), 1e-12))
    return LeftOver(classes, residual, variance)


def _smoothed(columns: FloatArray, target: FloatArray) -> FloatArray:
    """Return (2 H - H^2) target for the penalty with the least generalised cross-validation score, (n, c)."""
    if not columns.size or not target.size:
        return np.zeros_like(target)
    n_items = len(target)
    size, vectors = np.linalg.eigh(columns.T @ columns / n_items)
    size, vectors = size[size > 1e-9 * size[-1]], vectors[:, size > 1e-9 * size[-1]]
    along = vectors.T @ (columns.T @ target) / n_items
    best, least = np.zeros(len(size)), np.inf
    for penalty in _PENALTIES:
        kept = size / (size + penalty) if np.isfinite(penalty) else np.zeros(len(size))
        twice = 2.0 * kept - kept**2
        freedom = 1.0 - (1.0 + twice.sum()) / n_items
        if freedom < 0.5:
            continue
        left = (target**2).mean(axis=0) - ((2.0 * twice - twice**2) / size) @ along**2
        score = float(left.sum()) / freedom**2
        if score < least:
            best, least = twice, score
    return columns @ (vectors @ ((best / size)[:, None] * along))


def expert_chances(who: WhoAnswered, left: LeftOver) -> FloatArray:
    """Return for each expert and class a bound on how likely such a choice of items is by chance, (J, c).

    With s = sum_i (o_ij - N_j / n) r_ik and v its variance, both given who answered what and the features, the chance
    of so large an |s| is at most 2 exp(-v h(|s| / v)), h(u) = (1 + u) log(1 + u) - u (Bennett 1962). No law of large
    numbers is leaned on: it holds for five answers and for a level of 1e-6, as hundreds of experts need, where
    a chi-square test of dozens of answers errs by orders of magnitude.
    """
    share = (who.per_expert / who.n_items)[:, None]
    total = who.sums(left.residual) - share * left.residual.sum(axis=0)
    variance = (1.0 - 2.0 * share) * who.sums(left.variance) + share**2 * left.variance.sum(axis=0)
    largest = np.maximum(1.0, np.abs(left.residual).max(axis=0, initial=0.0))
    size, variance = np.abs(total) / largest, np.maximum(variance / largest**2, 1e-12)
    ratio = size / variance
    exponent = variance * ((1.0 + ratio) * np.log1p(ratio) - ratio)
    return np.minimum(1.0, 2.0 * np.exp(-exponent))
