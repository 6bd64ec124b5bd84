"""Gradient boosting by scikit-learn, handed over as a `Forest`, and the columns that its trees look at."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import ThreadpoolController

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.core.splits import sample_rows
from defero.estimators.training_data import TrainingData
from defero.scorers.forest import MOST_LEAVES, Forest, mean_forest
from defero.scorers.trees import TreeColumns, n_outputs

_ROWS_TO_COMPARE = 64
SMALL_TREE = 6
FEW_ITEMS = 20_000
"""Trees of fewer items are boosted by one thread. Several wait for each other most of the time, and they wait busily:
on a busy machine with two cores a fit of 600 items took 53 CPU seconds instead of 2."""


@dataclass(frozen=True)
class TreeSize:
    """How many trees of which size are boosted, and how much they are regularized."""

    n_trees: int
    n_leaves: int
    leaf_items: int
    learning_rate: float = 0.1
    l2: float = 5.0


def sizes_for_labels(n_items: int) -> tuple[TreeSize, ...]:
    """Return the sizes of the trees for the classes to choose from: for few items small ones, and larger ones."""
    if n_items < 3_000:
        return TreeSize(60, 6, 20), TreeSize(80, MOST_LEAVES, 10, l2=1.0)
    return (TreeSize(200, 12, 40, learning_rate=0.05),)


def size_for_answers(n_answers: int) -> TreeSize:
    """Return the size of the trees for an expert with so many answers."""
    if n_answers < 400:
        return TreeSize(40, 4, 20)
    return TreeSize(60, 6, 40) if n_answers < 4_000 else TreeSize(120, 8, 40)


def boost(
    columns: FloatArray,
    target_idx: IntArray,
    weight: FloatArray | None,
    size: TreeSize,
    *,
    n_targets: int,
    n_categories: int,
    bags: tuple[IntArray, ...],
    verify: bool = True,
) -> Forest:
    """Boost trees and return them as a forest with the logits of the targets.

    Parameters
    ----------
    columns : (n, c)
        Categories first, as numbers; NaN is missing.
    target_idx : (n,) int
        Among 0..n_targets - 1; a target that does not occur gets a low constant logit.
    weight : (n,), optional
    size : TreeSize
    n_targets : int
        K, or 2 for right or wrong.
    n_categories : int
        How many of the columns are categories.
    bags : index arrays
        The columns that each of several forests looks at; their mean is returned.
    verify : bool
        Compare the forest with scikit-learn's own outputs: for what is kept. Models of one fold, which are made in the
        same way, need no check of their own.
    """
    present = np.unique(target_idx)
    if len(bags) > 1 and size.n_leaves > SMALL_TREE:
        # Few columns: half as many trees of twice the size find fields and rings sooner.
        size = replace(size, n_trees=size.n_trees // 2, n_leaves=MOST_LEAVES)
    if len(present) < 2:
        return _constant(target_idx, n_targets, columns.shape[1])
    forests = []
    for bag in bags:
        model = HistGradientBoostingClassifier(
            max_iter=size.n_trees,
            max_leaf_nodes=size.n_leaves,
            min_samples_leaf=size.leaf_items,
            learning_rate=size.learning_rate,
            l2_regularization=size.l2,
            categorical_features=[place for place, column in enumerate(bag) if column < n_categories] or None,
            early_stopping=False,
            random_state=0,
        )
        with _threads_for(len(columns)):
            model.fit(columns[:, bag], np.searchsorted(present, target_idx), sample_weight=weight)
            rows = columns[sample_rows(len(columns), _ROWS_TO_COMPARE)][:, bag] if verify else None
            forests.append(_spread(forest_of(model, rows), bag, n_columns=columns.shape[1]))
    forest = forests[0] if len(forests) == 1 else mean_forest(forests)
    return forest if len(present) == n_targets else _with_absent(forest, present, target_idx, n_targets)


def _threads_for(n_items: int) -> AbstractContextManager[Any]:
    """Keep OpenMP to one thread for few items."""
    return nullcontext() if n_items >= FEW_ITEMS else _controller().limit(limits=1, user_api="openmp")


@cache
def _controller() -> ThreadpoolController:
    """Look for the libraries once: that takes longer than a small tree."""
    return ThreadpoolController()


def first_trees(forest: Forest, share: float, *, n_bags: int) -> Forest:
    """Return the forest of one output as it was after a share of the trees of each bag."""
    n_trees = len(forest.output) // n_bags
    if share >= 1 or n_trees == 0:
        return forest
    early = np.arange(len(forest.output)) % n_trees < max(round(share * n_trees), 1)
    per_tree = Forest.__dataclass_fields__.keys() - {"n_features", "baseline"}
    return replace(forest, **{name: getattr(forest, name)[early] for name in per_tree})


def predict_stages(forest: Forest, columns: FloatArray, shares: Sequence[float], *, n_bags: int) -> FloatArray:
    """Return what `first_trees` would predict after each share of the trees, (s, n); shares grow up to 1."""
    n_trees = len(forest.output) // n_bags
    if not n_trees:
        return np.tile(forest.predict(columns)[:, 0], (len(shares), 1))
    ends = [max(round(share * n_trees), 1) for share in shares]
    # One output for the trees that each stage adds.
    stage = np.searchsorted(ends, np.arange(len(forest.output)) % n_trees, side="right")
    added = replace(forest, output=stage, baseline=np.zeros(len(shares))).predict(columns)
    return np.asarray(forest.baseline[0] + added.T.cumsum(axis=0))


def forest_of(model: HistGradientBoostingClassifier, rows: FloatArray | None) -> Forest:
    """Return scikit-learn's boosted trees as a forest.

    The nodes are private to scikit-learn, so the forest must give the same outputs on `rows`, or this raises.
    """
    trees = [(output, tree) for stage in model._predictors for output, tree in enumerate(stage)]
    n_splits = max(max(int((tree.nodes["is_leaf"] == 0).sum()) for _, tree in trees), 1)
    categories = _category_numbers(model)
    shape = len(trees), n_splits
    built = {
        "feature": np.full(shape, -1),
        "threshold": np.zeros(shape),
        "missing_left": np.zeros(shape, dtype=np.bool_),
        "categories": np.zeros((*shape, 4), dtype=np.uint64),
        "is_category": np.zeros(shape, dtype=np.bool_),
        "leaves_left": np.zeros(shape, dtype=np.uint16),
        "value": np.zeros((shape[0], n_splits + 1)),
    }
    for t, (_, tree) in enumerate(trees):
        _write_tree(tree, {name: array[t] for name, array in built.items()}, categories)
    forest = Forest(
        int(model.n_features_in_),
        np.asarray(model._baseline_prediction, dtype=np.float64).ravel(),
        np.array([output for output, _ in trees], dtype=np.int64),
        **built,
    )
    if rows is None:
        return forest
    rows = np.vstack([rows, np.full_like(rows[:1], np.nan)])
    expected = np.asarray(model.decision_function(rows)).reshape(len(rows), -1)
    if not np.allclose(forest.predict(rows), expected, rtol=1e-9, atol=1e-9):
        raise InputError(
            "the trees of this version of scikit-learn are read wrongly; install a version that defero was tested "
            "with, or use ",
            Argument("net", "linear"),
            ".",
        )
    return forest


def _write_tree(tree: Any, arrays: dict[str, Any], categories: dict[int, FloatArray]) -> None:
    """Write one tree's splits and leaves into rows of the forest's arrays."""
    nodes = tree.nodes
    leaves: list[int] = []
    splits: list[tuple[int, int, int]] = []

    def walk(node: int) -> None:
        if nodes["is_leaf"][node]:
            leaves.append(node)
            return
        first = len(leaves)
        walk(int(nodes["left"][node]))
        splits.append((node, first, len(leaves)))
        walk(int(nodes["right"][node]))

    walk(0)
    assert len(leaves) <= MOST_LEAVES
    arrays["value"][: len(leaves)] = nodes["value"][leaves]
    for s, (node, first, stop) in enumerate(splits):
        feature = int(nodes["feature_idx"][node])
        arrays["feature"][s] = feature
        arrays["missing_left"][s] = bool(nodes["missing_go_to_left"][node])
        arrays["leaves_left"][s] = sum(1 << leaf for leaf in range(first, stop))
        if nodes["is_categorical"][node]:
            arrays["is_category"][s] = True
            words = tree.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])]
            goes_left = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), bitorder="little")
            numbers = categories[feature]
            # A category that these rows did not have counts as missing.
            bits = np.full(256, nodes["missing_go_to_left"][node], dtype=np.uint8)
            bits[numbers.astype(np.int64)] = goes_left[: len(numbers)]
            arrays["categories"][s] = np.packbits(bits, bitorder="little").view(np.uint64)
        else:
            arrays["threshold"][s] = nodes["num_threshold"][node]


def _category_numbers(model: HistGradientBoostingClassifier) -> dict[int, FloatArray]:
    """Return the category numbers behind scikit-learn's own, by column; categories are the first columns."""
    if model._preprocessor is None:
        return {}
    encoded = model._preprocessor.named_transformers_["encoder"].categories_
    return {place: numbers[~np.isnan(numbers)] for place, numbers in enumerate(encoded)}


def _spread(forest: Forest, bag: IntArray, *, n_columns: int) -> Forest:
    """Return a forest on some of the columns as one on all of them."""
    feature = np.where(forest.feature >= 0, bag[np.maximum(forest.feature, 0)], -1)
    return replace(forest, feature=feature, n_features=n_columns)


def _constant(target_idx: IntArray, n_targets: int, n_columns: int) -> Forest:
    """Return a forest without trees: smoothed shares."""
    share = (np.bincount(target_idx, minlength=n_targets) + 1.0) / (len(target_idx) + n_targets)
    logits = np.log(share)
    empty = np.zeros((0, 1))
    return Forest(
        n_columns,
        logits if n_outputs(n_targets) > 1 else logits[1:] - logits[:1],
        np.zeros(0, dtype=np.int64),
        empty.astype(np.int64),
        empty,
        empty.astype(np.bool_),
        np.zeros((0, 1, 4), dtype=np.uint64),
        empty.astype(np.bool_),
        empty.astype(np.uint16),
        np.zeros((0, 2)),
    )


def _with_absent(forest: Forest, present: IntArray, target_idx: IntArray, n_targets: int) -> Forest:
    """Return the forest with constant logits for targets that do not occur."""
    n_present = len(present)
    if n_present == 2:  # one output, the log-odds of the second
        forest = replace(forest, baseline=np.array([0.0, forest.baseline[0]]), output=forest.output + 1)
    baseline = np.full(n_targets, forest.baseline.min() - np.log(len(target_idx) + 1.0))
    baseline[present] = forest.baseline
    return replace(forest, baseline=baseline, output=present[forest.output])


_FEW_NUMBERS = 4
"""Up to this many numbers, trees split along oblique directions too."""
_BAGS = 4


@dataclass(frozen=True, eq=False)
class Grove:
    """The columns of the training items, and which of them each of several forests looks at.

    Attributes
    ----------
    columns : TreeColumns
    matrix : (n, c)
    bags : index arrays
        One forest for each; their mean is used.
    """

    columns: TreeColumns
    matrix: FloatArray
    bags: tuple[IntArray, ...]

    @classmethod
    def of(cls, data: TrainingData) -> "Grove":
        """Make the columns; two to four numbers are also looked at along random directions, in four bags."""
        columns = TreeColumns.of(data.features.shape[1]) if data.columns is None else data.columns
        m, n_categories = len(columns.numbers), len(columns.categories)
        plain = np.arange(n_categories + m)
        bags: tuple[IntArray, ...] = (plain,)
        if 1 < m <= _FEW_NUMBERS:
            columns = columns.rotated(data.features, np.hstack(list(_rotations(m))))
            bags = tuple(np.append(plain, n_categories + m + m * bag + np.arange(m)) for bag in range(_BAGS))
        return cls(columns, columns.of_matrix(data.features), bags)


def _rotations(m: int) -> Iterator[FloatArray]:
    """Yield a rotation (m, m) for each bag; the first of two numbers is by 45 degrees."""
    rng = np.random.default_rng(0)
    for bag in range(_BAGS):
        if m == 2:
            angle = np.pi / 4 if bag == 0 else rng.uniform(0, np.pi / 2)
            yield np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        else:
            yield np.linalg.qr(rng.normal(size=(m, m)))[0]
