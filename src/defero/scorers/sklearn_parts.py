"""Fitted scikit-learn objects in a model folder, without pickle: skops, and only what this package writes itself.

skops keeps code from running, but trusts every estimator of scikit-learn, some of which read files, and does not check
the numbers inside. So the archive is checked before skops reads it (`sklearn_archive`), and the objects before
anybody uses them: compiled code follows their indices without a check, and a tree whose child is node 10**9 crashes the
process.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.neighbors import BallTree, KDTree, KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree
from skops import io as skops_io

from defero.core.errors import ModelFolderError
from defero.core.wording import join_names
from defero.scorers import PARTS
from defero.scorers.sklearn_archive import TRUSTED, checked_archive, foreign_types, forged


def write_parts(parts: dict[str, Any]) -> bytes:
    """Return fitted parts as an archive; raises naming a type that a reader would refuse."""
    try:
        content = skops_io.dumps(parts)
    except Exception as error:  # skops has exceptions of its own for what it cannot write
        raise ModelFolderError(f"save: {error} {_REMEDY}") from error
    untrusted = foreign_types(content)
    if untrusted:
        raise ModelFolderError(f"save: {join_names(untrusted)} cannot be saved without trusting its code; {_REMEDY}")
    return content


def read_parts(content: bytes) -> dict[str, Any]:
    """Return the fitted parts of an archive, after checking every type, size and node link in it."""
    try:
        parts = skops_io.loads(checked_archive(content), trusted=list(TRUSTED))
        return checked_parts(parts, n_bytes=len(content))
    except ModelFolderError:
        raise
    except Exception as error:  # a damaged archive raises whatever its reader meets first
        raise ModelFolderError(
            f"{PARTS}: the parts cannot be read ({type(error).__name__}: {error}); "
            "the model folder is damaged, fit again or restore it."
        ) from error


_REMEDY = "use scikit-learn's own linear models, trees, forests or boosting, or keep the fitted object in memory."


_WORDS_OF_SET = 8
"""A set of categories is 256 bits."""
_NO_SIZE = ("samples", "iter", "jobs", "trials")


def checked_parts(parts: Any, *, n_bytes: int) -> dict[str, Any]:
    """Return parts whose numbers were checked; raises where one of them could crash or exhaust the process.

    None of them starts processes: their `n_jobs` is None, whatever it was when they were saved.

    Parameters
    ----------
    parts : dict
        "classifier" and "experts", as `TwoStageScorer` writes them.
    n_bytes : int
        The size of the archive, which no width may exceed.
    """
    if not isinstance(parts, dict) or set(parts) != {"classifier", "experts"} or type(parts["experts"]) is not list:
        raise forged("it must hold a classifier and a list of experts")
    waiting: list[Any] = [parts]
    boosted: list[GradientBoostingClassifier] = []
    while waiting:  # ends: an archive describes an object anew wherever it is used
        one = waiting.pop()
        waiting.extend(_children(one))
        if "n_jobs" in getattr(one, "__dict__", ()):
            one.n_jobs = None
        if isinstance(one, BaseEstimator):
            _check_estimator(one, n_bytes)
        if isinstance(one, GradientBoostingClassifier) and hasattr(one, "estimators_"):
            boosted.append(one)
    for model in reversed(boosted):  # what is held by a model comes after it, and is checked when it predicts
        _check_start(model)
    for model in (parts["classifier"], *parts["experts"]):
        if model is not None and not hasattr(model, "predict_proba"):
            raise forged(f"{type(model).__name__} has no predict_proba")
    return parts


def _children(one: Any) -> list[Any]:
    """Return what an object holds; plain values and arrays of numbers hold nothing."""
    if isinstance(one, dict):
        return list(one.values())
    if isinstance(one, list | tuple):
        return list(one)
    if isinstance(one, np.ndarray):
        return list(one.flat) if one.dtype == object else []
    return list(vars(one).values()) if hasattr(one, "__dict__") else []


def _check_estimator(model: Any, n_bytes: int) -> None:
    for name, value in vars(model).items():
        counts = name.lstrip("_").startswith("n_") and not any(word in name for word in _NO_SIZE)
        if counts and isinstance(value, int | np.integer) and value > n_bytes:
            raise forged(f"{name} is {value}, more than its bytes can hold")
        if name == "memory" and value is not None:
            raise forged("memory names a folder")
    if isinstance(model, DecisionTreeClassifier | DecisionTreeRegressor) and hasattr(model, "tree_"):
        _check_tree(model, n_features=int(model.n_features_in_))
    elif isinstance(model, RandomForestClassifier | ExtraTreesClassifier) and hasattr(model, "estimators_"):
        _check_trees(model, model.estimators_, DecisionTreeClassifier)
    elif isinstance(model, GradientBoostingClassifier) and hasattr(model, "estimators_"):
        width = 1 if len(model.classes_) == 2 else len(model.classes_)
        if np.shape(model.estimators_)[1:] != (width,) or model.n_trees_per_iteration_ != width:
            raise forged("boosted trees are made for other classes")
        _check_trees(model, np.asarray(model.estimators_).flat, DecisionTreeRegressor)
    elif isinstance(model, HistGradientBoostingClassifier) and hasattr(model, "_predictors"):
        _check_histogram_trees(model)
    elif isinstance(model, KNeighborsClassifier) and hasattr(model, "_fit_X"):
        _check_neighbors(model)
    elif isinstance(model, SVC) and hasattr(model, "support_vectors_"):
        _check_support_vectors(model)
    elif isinstance(model, OneHotEncoder) and hasattr(model, "categories_"):
        _check_one_hot(model)


def _check_trees(model: Any, trees: Any, kind: type) -> None:
    for tree in trees:
        if not isinstance(tree, kind):
            raise forged(f"{type(model).__name__} holds a {type(tree).__name__}")
        _check_tree(tree, n_features=int(model.n_features_in_))


def _check_tree(model: Any, *, n_features: int) -> None:
    tree = model.tree_
    if type(tree) is not Tree or tree.n_features != n_features or tree.n_outputs != 1:
        raise forged("a tree is made for other features")
    if tree.max_n_classes != (len(model.classes_) if isinstance(model, DecisionTreeClassifier) else 1):
        raise forged("a tree has other classes than its classifier")
    left, right, feature = tree.children_left, tree.children_right, tree.feature
    inner = left != -1
    _check_links(left[inner], right[inner], feature[inner], np.flatnonzero(inner), len(left), n_features)
    if len(left) == 0 or (right[~inner] != -1).any():
        raise forged("a tree has no root, or a leaf has children")


def _check_start(model: GradientBoostingClassifier) -> None:
    """Raise unless boosting starts from one column for each tree of a stage: the trees add to columns unseen."""
    start = model._raw_predict_init(np.zeros((2, int(model.n_features_in_))))
    if start.shape != (2, model.n_trees_per_iteration_):
        raise forged("boosted trees start from other classes")


def _check_links(left: Any, right: Any, feature: Any, place: Any, n_nodes: int, n_features: int) -> None:
    """Raise unless each child comes after its parent, so that there is no cycle, and each feature exists."""
    for child in (left.astype(np.int64), right.astype(np.int64)):
        if ((child <= place) | (child >= n_nodes)).any():
            raise forged("a tree's links lead out of it, or round in a circle")
    if ((feature < 0) | (feature >= n_features)).any():
        raise forged("a tree asks for a feature that does not exist")


def _check_histogram_trees(model: Any) -> None:
    n_features, categorical = int(model.n_features_in_), model._bin_mapper.is_categorical_
    if model._n_features != n_features or categorical.dtype != np.uint8 or categorical.shape != (n_features,):
        raise forged("boosted trees are made for other features")
    for predictor in [one for stage in model._predictors for one in stage]:
        if type(predictor) is not TreePredictor or predictor.nodes.dtype != PREDICTOR_RECORD_DTYPE:
            raise forged("a boosted tree has other nodes than scikit-learn's")
        nodes = predictor.nodes
        inner = nodes["is_leaf"] == 0
        place = np.flatnonzero(inner)
        split = nodes[inner]
        _check_links(split["left"], split["right"], split["feature_idx"], place, len(nodes), n_features)
        by_category = split[split["is_categorical"] != 0]
        sets = [predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets]
        if any(one.dtype != np.uint32 or one.shape[1:] != (_WORDS_OF_SET,) for one in sets):
            raise forged("a boosted tree has other sets of categories than scikit-learn's")
        n_sets = min(map(len, sets))
        if len(nodes) == 0 or (by_category["bitset_idx"] >= n_sets).any():
            raise forged("a boosted tree has no root, or a set of categories that does not exist")
        if not categorical[by_category["feature_idx"].astype(np.int64)].all():
            raise forged("a boosted tree splits numbers by category")


def _check_neighbors(model: Any) -> None:
    """Check the classes of a neighbours classifier, and build its search tree anew: its links are not looked at."""
    labels, points = np.asarray(model._y), np.asarray(model._fit_X)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or points.ndim != 2 or len(labels) != len(points):
        raise forged("its neighbours have other labels than points")
    if points.shape[1] != model.n_features_in_:
        raise forged("its neighbours have other features")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= len(model.classes_) or model.outputs_2d_:
        raise forged("its neighbours have labels that are no classes")
    kinds = {"kd_tree": KDTree, "ball_tree": BallTree}
    model._tree = None
    if model._fit_method in kinds:
        options = model.effective_metric_params_ or {}
        model._tree = kinds[model._fit_method](points, model.leaf_size, metric=model.effective_metric_, **options)


def _check_support_vectors(model: Any) -> None:
    """Raise unless the arrays of a support vector machine have the lengths that libsvm expects without looking."""
    n_classes, n_vectors = len(model.classes_), len(model.support_vectors_)
    n_pairs = n_classes * (n_classes - 1) // 2
    shapes = {
        "support_vectors_": (n_vectors, int(model.n_features_in_)),
        "support_": (n_vectors,),
        "_n_support": (n_classes,),
        "_dual_coef_": (n_classes - 1, n_vectors),
        "_intercept_": (n_pairs,),
        "class_weight_": (n_classes,),
    }
    odd = [name for name, shape in shapes.items() if np.shape(getattr(model, name)) != shape]
    sides = [np.shape(getattr(model, name)) for name in ("_probA", "_probB")]
    if odd or sides not in ([(n_pairs,)] * 2, [(0,)] * 2) or model.kernel not in ("linear", "poly", "rbf", "sigmoid"):
        raise forged("the arrays of a support vector machine do not fit together")
    if (np.asarray(model._n_support) < 0).any() or int(np.sum(model._n_support)) != n_vectors or model._sparse:
        raise forged("the counts of a support vector machine do not fit together")


def _check_one_hot(model: Any) -> None:
    """Raise unless each category has a column, and count the columns anew: sparse matrices do not look at them."""
    n_features = int(model.n_features_in_)
    mappings, infrequent = [None] * n_features, [None] * n_features
    if model._infrequent_enabled:
        mappings, infrequent = model._default_to_infrequent_mappings, model._infrequent_indices
    dropped = [None] * n_features if model._drop_idx_after_grouping is None else model._drop_idx_after_grouping
    if {len(model.categories_), len(mappings), len(infrequent), len(dropped)} != {n_features}:
        raise forged("an encoder is made for other features")
    for categories, mapping, rare, drop in zip(model.categories_, mappings, infrequent, dropped, strict=True):
        n_columns = len(categories) if rare is None else len(categories) - len(rare) + 1
        places = np.arange(len(categories)) if mapping is None else np.asarray(mapping)
        numbers = categories.dtype.kind not in "OUS"
        if (
            (numbers and not (categories[1:] >= categories[:-1])[: (~np.isnan(categories)).sum() - 1].all())
            or (mapping is None) != (rare is None)
            or places.shape != (len(categories),)
            or places.dtype.kind not in "iu"
            or (len(places) and not 0 <= places.min() <= places.max() < n_columns)
            or (drop is not None and drop not in range(n_columns))
        ):
            raise forged("an encoder has categories without a column")
    model._n_features_outs = model._compute_n_features_outs()
