"""From what a user passes to `fit` to training data: labels, answers, weights and features, checked and encoded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from defero.core.checks.arrays import FloatArray
from defero.core.labels import Labels, encode_labels
from defero.data.recipes.learn_vectors import vectors_for_texts
from defero.data.recipes.read_texts import read_texts, summed_columns
from defero.data.recipes.recipe import FeatureRecipe
from defero.estimators.tables.tree_columns import columns_of
from defero.estimators.training_data import TrainingData, coded_experts, fees_of_items, group_numbers, raw_columns


@dataclass(frozen=True, eq=False)
class Encoded:
    """Training data, what its numbers mean, and how new features are made.

    Attributes
    ----------
    data : TrainingData
    classes : (K,)
    expert_names : J names
    recipe : FeatureRecipe, optional
    text_features : (n, d), optional
        Of texts, made out of fold, for checks that must not use a text's own label.
    """

    data: TrainingData
    classes: Labels
    expert_names: tuple[str, ...]
    recipe: FeatureRecipe | None
    text_features: FloatArray | None


def encode(
    X: Any,
    y: ArrayLike,
    experts: object,
    *,
    matrix: FloatArray,
    recipe: FeatureRecipe | None,
    known_classes: Callable[[Labels], Labels],
    deep: bool,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    fees: object,
) -> Encoded:
    """Check and encode the arguments of `fit`; `matrix` and `recipe` are those of `training_matrix`.

    With `deep`, texts become word vectors; else scores that need the labels.
    """
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    check_classification_targets(labels)
    classes = known_classes(labels)
    label_idx = encode_labels(labels, classes)
    answers, names = coded_experts(experts, classes, n_items=len(labels))
    weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64, ensure_non_negative=True)
    group_idx = None if groups is None else group_numbers(groups, n_items=len(labels))
    text_features = None
    if recipe is not None and recipe.text and deep:
        recipe = vectors_for_texts(recipe, X)
        matrix = recipe.apply(X, source="X")
    elif recipe is not None and recipe.text:
        matrix, recipe = read_texts(recipe, X, label_idx, n_classes=len(classes), weight=weight, groups=group_idx)
        text_features = matrix
    data = TrainingData(
        features=matrix,
        labels=labels,
        label_idx=label_idx,
        n_classes=len(classes),
        answers=answers,
        weight=weight,
        weighted=sample_weight is not None,
        groups=group_idx,
        summed=None if recipe is None else summed_columns(recipe),
        columns=None if recipe is None else columns_of(recipe),
        raw=None if recipe is None else raw_columns(recipe),
        fees=fees_of_items(fees, names, n_items=len(labels)),
    )
    return Encoded(data, classes, names, recipe, text_features)
