"""Sum texts up in a few scores: what their words say about the classes, learned across folds.

Thousands of word columns beside hundreds of rows are too many for a network, and far too many for experts with a few
dozen answers each. A ridge regression reads them well; classes and experts then read its scores as plain numbers.
"""

import zlib
from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from defero.core.checks.arrays import FloatArray, IntArray
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import Features, TextColumn, Texts
from defero.data.recipes.text_encoder import EmbeddedColumn
from defero.data.tables.cells import texts


class Slopes(NamedTuple):
    """weight (d, S) and bias (S,): one score for two classes, the log-odds of the second; else one per class."""

    weight: FloatArray
    bias: FloatArray

    def scores(self, features: Features) -> FloatArray:
        """Return the (n, S) scores of (n, d) features."""
        scores: FloatArray = features @ self.weight + self.bias
        return scores


def n_scores(n_classes: int) -> int:
    """Return S, how many scores tell K classes apart.

    >>> [n_scores(n_classes) for n_classes in (1, 2, 3)]
    [1, 1, 3]
    """
    return n_classes if n_classes > 2 else 1


def fit_ridge(features: Features, label_idx: IntArray, *, n_classes: int, weight: FloatArray, ridge: float) -> Slopes:
    """Minimise sum of weight * cross entropy + ridge / 2 * (|W|^2 + |b - b0|^2), from zero slopes.

    b0 are the classes' log shares with one item of each class added, so that a class without items has a finite bias
    and no items at all give even odds.

    Parameters
    ----------
    features : (n, d), sparse or dense
    label_idx : (n,) class numbers
    n_classes : int
    weight : (n,)
    ridge : float
        1 / C in scikit-learn's terms.
    """
    n_columns, n_outputs = features.shape[1], n_scores(n_classes)
    shares = np.bincount(label_idx, weight, minlength=n_classes) + 1.0
    start = np.log(shares / shares.sum())
    if n_classes == 2:
        start = np.diff(start)
    if n_classes == 1 or not len(label_idx):
        return Slopes(np.zeros((n_columns, n_outputs)), start)
    backwards = features.T if isinstance(features, np.ndarray) else features.T.tocsr()
    is_label = np.eye(n_classes)[label_idx]

    def objective(flat: FloatArray) -> tuple[float, FloatArray]:
        slopes = flat.reshape(n_columns + 1, n_outputs)
        logits = features @ slopes[:-1] + (start + slopes[-1])
        if n_classes == 2:
            logits = np.concatenate([np.zeros_like(logits), logits], axis=1)
        log_proba = log_softmax(logits, axis=1)
        error = weight[:, None] * (np.exp(log_proba) - is_label)[:, -n_outputs:]
        value = -weight @ log_proba[np.arange(len(label_idx)), label_idx] + 0.5 * ridge * flat @ flat
        gradient = np.concatenate([backwards @ error, error.sum(axis=0, keepdims=True)]) + ridge * slopes
        return float(value), gradient.ravel()

    solution = minimize(
        objective,
        np.zeros((n_columns + 1) * n_outputs),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "ftol": 1e-10, "gtol": 1e-5 * max(1.0, float(weight.sum()) / 1e3)},
    ).x.reshape(n_columns + 1, n_outputs)
    return Slopes(solution[:-1], start + solution[-1])


def log_loss(scores: FloatArray, label_idx: IntArray, *, weight: FloatArray) -> float:
    """Return the weighted mean cross entropy of (n, S) scores.

    >>> round(log_loss(np.zeros((4, 1)), np.array([0, 1, 1, 0]), weight=np.ones(4)), 4)  # log 2
    0.6931
    """
    logits = np.concatenate([np.zeros_like(scores), scores], axis=1) if scores.shape[1] == 1 else scores
    return float(-np.average(log_softmax(logits, axis=1)[np.arange(len(label_idx)), label_idx], weights=weight))


FOLDS = 5
FREQUENT_SHARE, FREQUENT_ROWS = 1 / 50, 10
RIDGES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01)


def read_texts(
    recipe: FeatureRecipe,
    frame: Any,
    label_idx: IntArray,
    *,
    n_classes: int,
    weight: FloatArray,
    groups: IntArray | None = None,
) -> tuple[FloatArray, FeatureRecipe]:
    """Learn what the words, or the vectors of an encoder, of each text column say about the classes.

    Parameters
    ----------
    recipe : FeatureRecipe
        With text columns, whose words or numbers are still columns of their own.
    frame : DataFrame of n training rows
    label_idx, weight : (n,)
    n_classes : int
    groups : (n,) int, optional
        Rows that belong together.

    Returns
    -------
    matrix : (n, d)
        The training rows. A text's scores come from slopes that were learned without it (and without any text equal to
        it, or of its group, see `folds_of`), so that they are as good, and no better, than those of a new text. Blank
        texts are not learned from; their scores are the constant that new ones get.
    recipe : FeatureRecipe
        Its text columns have slopes, learned from all of these rows.
    """
    keys = {str(column): column for column in frame.columns}
    even = weight / weight.mean() if weight.any() else weight
    columns = list(recipe.columns)
    across: dict[str, FloatArray] = {}
    for place, column in enumerate(columns):
        if isinstance(column, TextColumn | EmbeddedColumn):
            cells = texts(frame[keys[column.name]])
            filled = np.array([row for row, cell in enumerate(cells) if cell is not None], dtype=np.int64)
            slopes, scores = _read(
                column,
                [cells[row] for row in filled],
                label_idx[filled],
                n_classes=n_classes,
                weight=even[filled],
                groups=None if groups is None else groups[filled],
            )
            across[column.name] = np.tile(slopes.bias, (len(cells), 1))
            across[column.name][filled] = scores
            columns[place] = replace(
                column, slopes=tuple(map(tuple, slopes.weight.tolist())), bias=tuple(slopes.bias.tolist())
            )
    read = replace(recipe, columns=tuple(columns))
    matrix = read.apply(frame, source="X")
    for column, start, _ in read.blocks():
        if column.name in across:
            scores = across[column.name]
            matrix[:, start : start + scores.shape[1]] = scores
    return matrix, read


def folds_of(cells: list[str | None], label_idx: IntArray, *, groups: IntArray | None = None) -> IntArray:
    """Assign texts to folds (n,), whatever the order of the rows.

    Equal texts share a fold. Texts that make up more than a fiftieth of the rows (and more than ten) are dealt out row
    by row, evenly within each label: a new text will often be one of them, and is then read by slopes that know it.
    Where there are groups, these share a fold instead: equal texts of two groups are two cases.

    Parameters
    ----------
    cells : n texts
    label_idx : (n,)
    groups : (n,) int 0, 1, ..., optional

    >>> folds = folds_of(["a b", "c", "a b"], np.array([0, 1, 1]))
    >>> bool(folds[0] == folds[2])
    True
    >>> np.bincount(folds_of(["same"] * 20, np.arange(20) % 2)).tolist()
    [4, 4, 4, 4, 4]
    """
    if groups is not None:
        return groups % FOLDS
    folds = np.array([zlib.crc32((cell or "").encode("utf-8", "surrogatepass")) % FOLDS for cell in cells], np.int64)
    counts = Counter(cells)
    frequent = {cell for cell, count in counts.items() if count > max(FREQUENT_SHARE * len(cells), FREQUENT_ROWS)}
    dealt = dict.fromkeys(frequent, 0)
    for row in np.argsort(label_idx, kind="stable"):
        cell = cells[row]
        if cell in frequent:
            folds[row] = (folds[row] + dealt[cell]) % FOLDS
            dealt[cell] += 1
    return folds


def _read(
    column: TextColumn | EmbeddedColumn,
    cells: Texts,
    label_idx: IntArray,
    *,
    n_classes: int,
    weight: FloatArray,
    groups: IntArray | None,
) -> tuple[Slopes, FloatArray]:
    """Return slopes from all rows, and each row's scores (n, S) by the slopes of the other folds.

    The ridge is the one with the least loss across folds; weaker ones are tried until they do harm.
    """
    features = column.features(cells)
    folds = folds_of(cells, label_idx, groups=groups)
    best, best_loss, scores = RIDGES[0], np.inf, np.zeros((len(cells), n_scores(n_classes)))
    for ridge in RIDGES:
        across = np.empty_like(scores)
        for fold in range(FOLDS):
            rest, left = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            slopes = fit_ridge(features[rest], label_idx[rest], n_classes=n_classes, weight=weight[rest], ridge=ridge)
            across[left] = slopes.scores(features[left])
        loss = log_loss(across, label_idx, weight=weight) if weight.any() else 0.0
        if not loss < best_loss:
            break
        best, best_loss, scores = ridge, loss, across
    return fit_ridge(features, label_idx, n_classes=n_classes, weight=weight, ridge=best), scores
