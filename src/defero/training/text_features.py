"""Texts as numbers, for nets of your own: vectors of their words, or what the words say about the classes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from defero.core.checks.arrays import FloatArray, IntArray
from defero.data.recipes.read_texts import read_texts
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_vectors import vectors_for_texts

_COLUMN = "text"


def text_vectors(texts: Sequence[str], *, train: IntArray) -> FloatArray:
    """Return a vector for each text: the mean of its words' vectors.

    The words' vectors are learned from the training texts alone, by a factorisation of the words' pointwise mutual
    information; no label is used.

    Parameters
    ----------
    texts : n texts
    train : (m,) int
        Rows of the training texts.

    Returns
    -------
    (n, d)

    Examples
    --------
    >>> text_vectors(["calm sea", "calm blue sea", "blue"], train=np.array([0, 1])).shape
    (3, 100)
    """
    frame = pd.DataFrame({_COLUMN: list(texts)})
    learn = frame.iloc[train]
    return vectors_for_texts(FeatureRecipe.learn(learn, text=_COLUMN), learn).apply(frame)


def text_scores(texts: Sequence[str], labels: ArrayLike, *, train: IntArray, n_classes: int) -> FloatArray:
    """Return what TF-IDF and a ridge regression say about the classes of each text.

    Parameters
    ----------
    texts : n texts
    labels : (n,) int
        Class numbers 0..K-1; only those of the training texts are used.
    train : (m,) int
        Rows of the training texts. Each is scored by a regression that has not seen it, across five folds, so that its
        scores are as good as those of a new text.
    n_classes : int
        K.

    Returns
    -------
    (n, K), or (n, 1) for two classes: log-odds of the second

    Examples
    --------
    >>> texts = ["calm sea", "rough oil", "calm blue sea", "rough black oil"]
    >>> text_scores(texts, [0, 1, 0, 1], train=np.arange(4), n_classes=2).shape
    (4, 1)
    """
    frame = pd.DataFrame({_COLUMN: list(texts)})
    learn = frame.iloc[train]
    recipe = FeatureRecipe.learn(learn, text=_COLUMN)
    label_idx = np.asarray(labels)[train]
    across, learned = read_texts(recipe, learn, label_idx, n_classes=n_classes, weight=np.ones(len(train)))
    scores = learned.apply(frame)
    scores[train] = across
    return scores
