"""Word vectors from the words around each word, in closed form: no training, no random numbers.

Skip-gram with negative sampling, and fastText, which is skip-gram with pieces of words, factorise a matrix of pointwise
mutual information (Levy and Goldberg, 2014). Here that matrix is counted and its best approximation of rank d taken.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

from defero.core.checks.arrays import FloatArray, IntArray
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import TextColumn, Texts, words_of
from defero.data.recipes.text_vectors import VectorColumn, packed_vectors
from defero.data.tables.cells import texts

WIDTH = 100
WINDOW = 5
SMOOTHING = 0.75
"""Contexts count by their frequency to this power, as in skip-gram's negative samples: rare ones are not overrated."""


def vectors_for_texts(recipe: FeatureRecipe, frame: Any) -> FeatureRecipe:
    """Return the recipe with a vector in place of the words of each text column, learned from these rows.

    No label is looked at, so that the vectors of the training rows are as good, and no better, than those of new ones.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"note": ["calm blue sea", "calm sea", "rough oil", "rough black oil"]})
    >>> recipe = vectors_for_texts(FeatureRecipe.learn(frame, text="note"), frame)
    >>> calm, sea, oil = (recipe.columns[0].word_vector(word) for word in ("calm", "sea", "oil"))
    >>> float(calm @ sea) > float(calm @ oil)
    True
    """
    keys = {str(column): column for column in frame.columns}
    columns = (
        learn_vectors(column, texts(frame[keys[column.name]])) if isinstance(column, TextColumn) else column
        for column in recipe.columns
    )
    return replace(recipe, columns=tuple(columns))


def learn_vectors(column: TextColumn, cells: Texts, *, width: int = WIDTH, window: int = WINDOW) -> VectorColumn:
    """Give every word of a column a vector of length 1.

    Word vectors are the rows of U S^(1/2), where U S V^T is the truncated singular value decomposition of the positive
    pointwise mutual information max(0, log P(w, c) / (P(w) P'(c))), P' being the smoothed frequency of contexts.

    Parameters
    ----------
    column : TextColumn
        With the words.
    cells : (n,) texts, None where blank
        Those that the words were learned from.
    width : int
        d; with fewer words than that the last coordinates are 0.
    window : int
        How many words away a context may be; one at distance k counts (window + 1 - k) / window.
    """
    information = positive_information(count_pairs(column, cells, window=window))
    vectors = np.zeros((len(column.words), width))
    directions = _main_directions(information, width)
    vectors[:, : directions.shape[1]] = directions
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(length > 0, length, 1.0)
    return VectorColumn(column.name, column.words, width, packed_vectors(vectors), column.missing)


def count_pairs(column: TextColumn, cells: Texts, *, window: int = WINDOW) -> csr_matrix:
    """Count how often two words are close to each other, (V, V); near pairs count more.

    A word also counts as a context of its own, so that a word that is always alone has one.

    >>> column = TextColumn("note", ("a", "b", "c"), (1.0, 1.0, 1.0))
    >>> count_pairs(column, ["a b c"], window=2).toarray().tolist()
    [[1.0, 1.0, 0.5], [1.0, 1.0, 1.0], [0.5, 1.0, 1.0]]
    """
    place = {word: number for number, word in enumerate(column.words)}
    codes = [[place.get(word, -1) for word in words_of(cell)] for cell in cells]
    word: IntArray = np.array([one for text in codes for one in text], dtype=np.int64)
    text = np.repeat(np.arange(len(codes)), [len(one) for one in codes])
    size = (len(place), len(place))
    counts = csr_matrix(size)
    for distance in range(1, window + 1):
        first, second = word[:-distance], word[distance:]
        both = (text[:-distance] == text[distance:]) & (first >= 0) & (second >= 0)
        weight = np.full(int(both.sum()), (window + 1 - distance) / window)
        counts = counts + csr_matrix((weight, (first[both], second[both])), shape=size)
    own = diags(np.bincount(word[word >= 0], minlength=len(place)).astype(np.float64))
    return (counts + counts.T + own).tocsr()


def positive_information(counts: csr_matrix) -> csr_matrix:
    """Return the positive pointwise mutual information of (V, V) counts with smoothed contexts, (V, V)."""
    total = np.asarray(counts.sum(axis=1)).ravel()
    context = total**SMOOTHING
    pairs = counts.tocoo()
    information = np.log(pairs.data) - np.log(total[pairs.row]) - np.log(context[pairs.col] / context.sum())
    positive = information > 0
    return csr_matrix((information[positive], (pairs.row[positive], pairs.col[positive])), shape=counts.shape)


def _main_directions(information: csr_matrix, width: int) -> FloatArray:
    """Return U S^(1/2) of the largest singular values, (V, at most width); each column's largest entry is positive."""
    n_words = information.shape[0]
    if n_words <= 2 * width:
        left, values, _ = np.linalg.svd(information.toarray())
    else:
        # A fixed start: the same texts give the same vectors.
        left, values, _ = svds(information, k=width, v0=np.ones(n_words))
    order = np.argsort(-values, kind="stable")[:width]
    # What is left of a matrix of lower rank is rounding, whose direction means nothing.
    order = order[values[order] > values.max(initial=0.0) * 1e-9]
    left = left[:, order]
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(len(order))])
    return left * signs * np.sqrt(values[order])
