"""Keep a fitted classifier as arrays, by its public attributes, where it is linear or trees."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.errors import InputError
from defero.estimators.training_data import TrainingData
from defero.learn.kept import KeptClassifier, LevelTrees, LinearMap, Link
from defero.learn.two_stage import GivenClassifier

_LINEAR = (LogisticRegression, LogisticRegressionCV, LinearDiscriminantAnalysis, SGDClassifier)
_TREES = (DecisionTreeClassifier, ExtraTreeClassifier)
_AVERAGED = (*_TREES, RandomForestClassifier, ExtraTreesClassifier, BaggingClassifier)
_TRIED = 500
_CLOSE = 1e-10


def keep(model: Any, data: TrainingData) -> KeptClassifier | GivenClassifier:
    """Return the arrays of a fitted classifier, or of a constant P(right); else the classifier itself.

    Arrays are used if they predict the same for training items, and for items mixed from them: what the libraries
    compute differs by version.
    """
    d = data.features.shape[1]
    center, scale = np.zeros(d), np.ones(d)
    if isinstance(model, float):
        return KeptClassifier(center, scale, _constant(d, [1.0 - model, model]), "identity")
    *before, inner = _steps(model)
    raw = data.raw if data.raw is not None and data.raw.reads(model) else None
    given = GivenClassifier(type(inner).__name__, int(getattr(model, "n_features_in_", None) or d), raw, model)
    if raw is not None or len(before) > 1 or not all(type(one) is StandardScaler for one in before):
        return given
    for scaler in before:
        center = scaler.mean_ if scaler.with_mean else center
        scale = scaler.scale_ if scaler.with_std else scale
    rows = data.features[:: max(1, len(data.features) // _TRIED)]
    rows = np.concatenate([rows, np.random.default_rng(0).permuted(rows, axis=0)])
    expected = model.predict_proba(rows)
    try:
        for body, link in _bodies(inner, (rows - center) / scale):
            kept = KeptClassifier(center, scale, body, link)
            proba = kept.proba(rows)
            if proba.shape == expected.shape and np.allclose(proba, expected, rtol=0.0, atol=_CLOSE):
                return kept
    except InputError:  # trees of more levels than a folder may have
        pass
    return given


def _steps(model: Any) -> list[Any]:
    """Return the steps of a pipeline, and of pipelines inside of it; a classifier is one step."""
    if isinstance(model, FrozenEstimator):
        return _steps(model.estimator)
    if type(model) is not Pipeline:
        return [model]
    steps = [step for _, step in model.steps if step is not None and not isinstance(step, str)]  # "passthrough"
    return [one for step in steps for one in _steps(step)]


def _constant(n_features: int, shares: ArrayLike) -> LinearMap:
    bias = np.asarray(shares, dtype=np.float64)
    return LinearMap(np.zeros((n_features, len(bias))), bias)


def _bodies(model: Any, rows: FloatArray) -> Iterator[tuple[LinearMap | LevelTrees, Link]]:
    """Yield what may predict as a classifier does."""
    kind = type(model)  # a class of one's own, derived from one of these, may predict otherwise
    if kind in _LINEAR and getattr(model, "loss", "log_loss") == "log_loss" and isinstance(model.coef_, np.ndarray):
        slopes = np.ascontiguousarray(model.coef_.T, dtype=np.float64)
        body = LinearMap(slopes, np.broadcast_to(model.intercept_, slopes.shape[1:]).astype(np.float64))
        links: tuple[Link, ...] = ("sigmoid",) if len(body.bias) == 1 else ("softmax", "sigmoids")
        yield from ((body, link) for link in links)
    elif kind is DummyClassifier and model.strategy == "prior":
        yield _constant(rows.shape[1], model.class_prior_), "identity"
    elif kind in _AVERAGED and all(type(tree) in _TREES for tree in getattr(model, "estimators_", ())):
        yield _averaged(model, rows.shape[1]), "identity"
    elif kind is GradientBoostingClassifier or (kind.__module__, kind.__name__) == (
        "lightgbm.sklearn",
        "LGBMClassifier",
    ):
        trees = _boosted(model, rows) if kind is GradientBoostingClassifier else _lightgbm(model, rows.shape[1])
        if trees is not None:
            yield trees, "sigmoid" if len(trees.baseline) == 1 else "softmax"


class _Tree(NamedTuple):
    """One tree, its nodes in any order; without a child -1."""

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    value: FloatArray


def _level_trees(
    trees: Sequence[_Tree], n_features: int, n_outputs: int, *, single: bool = True, averaged: bool = False
) -> LevelTrees:
    """Return trees with their nodes level by level."""
    starts = np.cumsum([0, *(len(tree.left) for tree in trees)])[:-1]
    left = np.concatenate(
        [np.where(tree.left >= 0, tree.left + start, -1) for tree, start in zip(trees, starts, strict=True)]
    )
    right = np.concatenate([tree.right + start for tree, start in zip(trees, starts, strict=True)])
    levels, level = list[IntArray](), starts
    while len(level):
        levels.append(level)
        split = level[left[level] >= 0]
        level = np.column_stack([left[split], right[split]]).ravel()
    order = np.concatenate(levels)
    feature, threshold, missing_left, value = (
        np.concatenate(parts)[order] for parts in list(zip(*trees, strict=True))[2:]
    )
    feature, baseline = np.where(left[order] >= 0, feature, -1), np.zeros(n_outputs)
    return LevelTrees(n_features, len(trees), feature, threshold, missing_left, value, baseline, single, averaged)


def _sklearn_tree(tree: Any, value: FloatArray, columns: IntArray) -> _Tree:
    feature = columns[np.maximum(tree.feature, 0)]
    missing_left = tree.missing_go_to_left.astype(np.bool_)
    return _Tree(tree.children_left, tree.children_right, feature, tree.threshold, missing_left, value)


def _averaged(model: Any, n_features: int) -> LevelTrees:
    """Return one tree, a forest or bagged trees: the mean of the shares in the leaves."""
    n_classes, trees = len(model.classes_), getattr(model, "estimators_", [model])
    columns = getattr(model, "estimators_features_", [np.arange(n_features)] * len(trees))
    nodes = []
    for tree, some in zip(trees, columns, strict=True):
        # Bagged trees may not have seen all classes, and name those that they saw by number.
        seen = slice(None) if len(tree.classes_) == n_classes else tree.classes_.astype(np.int64)
        shares = np.zeros((tree.tree_.node_count, n_classes))
        shares[:, seen] = tree.tree_.value[:, 0]
        nodes.append(_sklearn_tree(tree.tree_, shares, some))
    return _level_trees(nodes, n_features, n_classes, averaged=True)


def _boosted(model: Any, rows: FloatArray) -> LevelTrees:
    """Return boosted trees of scikit-learn; they start at what the decision function has beside them."""
    factor, columns = 2.0 if model.loss == "exponential" else 1.0, np.arange(rows.shape[1])
    rate = factor * model.learning_rate
    nodes = [_sklearn_tree(one.tree_, rate * one.tree_.value[:, 0], columns) for one in model.estimators_.flat]
    trees = _level_trees(nodes, rows.shape[1], model.estimators_.shape[1])
    decision = np.reshape(model.decision_function(rows[:1]), -1)
    return replace(trees, baseline=factor * decision - trees.outputs(rows[:1])[0])


_LEAF = {"decision_type": "<=", "split_feature": 0, "threshold": 0.0, "missing_type": "None", "default_left": False}


def _lightgbm(model: Any, n_features: int) -> LevelTrees | None:
    """Return LightGBM's trees, by its public dump; None where they split by categories or take zeros for gaps."""
    dump, trees = model.booster_.dump_model(), []
    for tree in dump["tree_info"]:
        nodes, children = [tree["tree_structure"]], []
        for node in nodes:  # there are more and more of them
            inner = "left_child" in node
            children.append((len(nodes), len(nodes) + 1) if inner else (-1, -1))
            nodes += [node["left_child"], node["right_child"]] if inner else []
        nodes = [{**_LEAF, "leaf_value": 0.0, **node} for node in nodes]
        if any(node["decision_type"] != "<=" or node["missing_type"] == "Zero" for node in nodes):
            return None
        names = ("split_feature", "threshold", "default_left", "leaf_value")
        feature, threshold, default, value = (np.array([node[name] for node in nodes]) for name in names)
        # Where training saw no gap in a column, one is read as 0.
        gaps = np.array([node["missing_type"] == "NaN" for node in nodes])
        left, right = np.array(children).T
        trees.append(_Tree(left, right, feature, threshold, np.where(gaps, default, threshold >= 0.0), value[:, None]))
    return _level_trees(trees, n_features, dump["num_tree_per_iteration"], single=False)
