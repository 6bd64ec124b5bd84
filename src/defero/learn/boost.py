"""Gradient boosting by LightGBM from given start values, handed over as a `Forest`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.errors import Argument, InputError
from defero.learn.forest import MOST_LEAVES, Forest

_ZERO = 1e-35
"""LightGBM takes numbers this close to 0 for 0 where it has seen no gap in a column."""


@dataclass(frozen=True)
class TreeSize:
    """How many trees of which size are boosted, and how much they are regularized."""

    n_trees: int
    n_leaves: int
    leaf_items: int
    learning_rate: float = 0.1
    l2: float = 5.0

    def share(self, share: float) -> "TreeSize":
        """Return the size with a share of the trees."""
        return replace(self, n_trees=max(round(share * self.n_trees), 1))


@cache
def lightgbm() -> Any:
    """Return the library, or say in one sentence what is missing."""
    try:
        import lightgbm as library
    except OSError as error:
        raise InputError(
            f"LightGBM, which grows the trees, cannot be loaded ({error}). It needs the system's library libgomp: "
            f"install it (apt-get install libgomp1), or fit with {Argument('net', 'linear')}, which needs PyTorch."
        ) from error
    return library


class Bins:
    """The columns that trees look at, cut into bins once for all forests that are grown on them.

    Parameters
    ----------
    matrix : (n, c)
        Categories first, as numbers; NaN is missing.
    n_categories : int
        How many of the columns are categories.
    """

    def __init__(self, matrix: FloatArray, n_categories: int) -> None:
        self.matrix = matrix
        self._categories = list(range(n_categories))
        self._options = {
            "verbose": -1,
            "num_threads": 1,
            "min_data_in_bin": 3,
            "max_bin": 255,
            "feature_pre_filter": False,
        }
        self._bins = lightgbm().Dataset(
            matrix, categorical_feature=self._categories, params=self._options, free_raw_data=False
        )
        self._bins.construct()

    def boost(
        self,
        rows: IntArray,
        target: FloatArray,
        weight: FloatArray | None,
        size: TreeSize,
        *,
        n_outputs: int = 1,
        start: FloatArray | None = None,
    ) -> Forest:
        """Grow trees on some rows and return them as a forest of log-odds, or of the logits of K classes.

        Parameters
        ----------
        rows : (m,) int
        target : (m,)
            P(right) in [0, 1] for one output; class numbers for several.
        weight : (m,), optional
        size : TreeSize
        n_outputs : int
        start : (m,), optional
            The log-odds that the trees are a correction to; by default they start from the mean.
        """
        library = lightgbm()
        part = self._bins.subset(np.sort(rows), params=self._options)
        order = np.argsort(rows, kind="stable")
        part.construct()
        part.set_label(target[order])
        part.set_weight(None if weight is None else weight[order])
        baseline = np.zeros(n_outputs)
        if start is not None:
            part.set_init_score(start[order])
        elif n_outputs == 1:
            mean = np.clip(np.average(target, weights=weight), 1e-6, 1 - 1e-6)
            baseline[0] = np.log(mean / (1 - mean))
            part.set_init_score(np.full(len(rows), baseline[0]))
        else:
            share = np.bincount(target.astype(np.int64), weights=weight, minlength=n_outputs) + 1e-3
            baseline = np.log(share / share.sum())
            part.set_init_score(np.repeat(baseline, len(rows)))
        options = {
            **self._options,
            "objective": "cross_entropy" if n_outputs == 1 else "multiclass",
            **({} if n_outputs == 1 else {"num_class": n_outputs}),
            "num_leaves": size.n_leaves,
            "min_data_in_leaf": size.leaf_items,
            "min_sum_hessian_in_leaf": 1e-3,
            "learning_rate": size.learning_rate,
            "lambda_l2": size.l2,
            "cat_smooth": 10.0,
            "max_cat_threshold": 64,
            "boost_from_average": False,
            "seed": 0,
            "deterministic": True,
            "force_col_wise": True,
        }
        model = library.train(options, part, num_boost_round=size.n_trees)
        return _forest_of(model.dump_model(), self.matrix.shape[1], baseline)

    def nothing(self) -> Forest:
        """Return a forest that adds 0."""
        stump = {"tree_structure": {"leaf_value": 0.0}, "num_leaves": 1}
        return _forest_of({"tree_info": [stump]}, self.matrix.shape[1], np.zeros(1))


def _forest_of(dump: dict[str, Any], n_features: int, baseline: FloatArray) -> Forest:
    """Return LightGBM's trees, by its public dump, as a forest."""
    trees = dump["tree_info"]
    n_splits = max([int(tree["num_leaves"]) - 1 for tree in trees] + [1])
    shape = len(trees), n_splits
    arrays: dict[str, Any] = {
        "feature": np.full(shape, -1),
        "threshold": np.zeros(shape),
        "missing_left": np.zeros(shape, dtype=np.bool_),
        "categories": np.zeros((*shape, 4), dtype=np.uint64),
        "is_category": np.zeros(shape, dtype=np.bool_),
        "leaves_left": np.zeros(shape, dtype=np.uint16),
        "value": np.zeros((shape[0], n_splits + 1)),
    }
    for place, tree in enumerate(trees):
        _write_tree(tree["tree_structure"], {name: array[place] for name, array in arrays.items()})
    output = np.arange(len(trees)) % len(baseline)
    return Forest(n_features, baseline, output, **arrays)


def _write_tree(root: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write one tree's splits and leaves, from left to right, into rows of the forest's arrays."""
    leaves: list[float] = []
    splits: list[tuple[dict[str, Any], int, int]] = []

    def walk(node: dict[str, Any]) -> None:
        if "left_child" not in node:
            leaves.append(float(node["leaf_value"]))
            return
        first = len(leaves)
        walk(node["left_child"])
        splits.append((node, first, len(leaves)))
        walk(node["right_child"])

    walk(root)
    assert len(leaves) <= MOST_LEAVES
    arrays["value"][: len(leaves)] = leaves
    for place, (node, first, last) in enumerate(splits):
        arrays["feature"][place] = node["split_feature"]
        arrays["leaves_left"][place] = sum(1 << leaf for leaf in range(first, last))
        if node["decision_type"] == "==":
            arrays["is_category"][place] = True
            arrays["categories"][place] = _words([int(number) for number in str(node["threshold"]).split("||")])
        else:
            threshold = float(node["threshold"])
            arrays["threshold"][place] = threshold
            nan_is_zero = node["missing_type"] != "NaN"
            arrays["missing_left"][place] = threshold >= -_ZERO if nan_is_zero else bool(node["default_left"])


def _words(numbers: Sequence[int]) -> NDArray[np.uint64]:
    """Return the bits of category numbers as four words."""
    words = np.zeros(4, dtype=np.uint64)
    for number in numbers:
        words[number // 64] |= np.uint64(1 << (number % 64))
    return words
