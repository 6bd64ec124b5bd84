"""A column of free text as one vector per text, the mean of its words' vectors.

They are learned from the words around each word, in closed form: no training, no random numbers. Skip-gram with
negative sampling, and fastText, which is skip-gram with pieces of words, factorise a matrix of pointwise mutual
information (Levy and Goldberg, 2014). Here that matrix is counted and its best approximation of rank d taken.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.codec import Within
from defero.data.recipes.text_column import TextColumn, TextNumbers, Texts, words_of
from defero.data.tables.cells import texts

if TYPE_CHECKING:
    from defero.data.recipes.recipe import FeatureRecipe

NGRAM_LENGTHS = range(3, 7)
"""Characters of the pieces by which a new word is read, the marks of its two ends included."""
_STORED = np.dtype("<f2")
_TEXTS_AT_ONCE = 4_096


@dataclass(frozen=True)
class VectorColumn(TextNumbers):
    """A column of text: d numbers for each text.

    Attributes
    ----------
    name : str
    words : tuple of V str
        Those of the training rows that have a vector.
    width : int
        d.
    coordinates : str
        The vectors (V, d), each of length 1 or 0: 16 bits a number, in base64.
    missing : bool
        Training had blanks: beside the vector a 0/1 column tells where they are.

    Examples
    --------
    >>> column = VectorColumn("note", ("sea", "oil"), 2, packed_vectors(np.array([[1.0, 0.0], [0.0, 1.0]])))
    >>> column.encode(["The sea!", "oil, sea", None]).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 0.0]]
    """

    kind: ClassVar[str] = "vector"
    name: str
    words: Annotated[tuple[str, ...], Within(1)]
    width: Annotated[int, Within(1, by_bytes=True)]
    coordinates: str
    missing: bool = False

    def __post_init__(self) -> None:
        n_bytes = len(base64.b64decode(self.coordinates, validate=True))
        if n_bytes != len(self.words) * self.width * _STORED.itemsize:
            raise ValueError(f"{n_bytes} bytes are not {len(self.words)} vectors of {self.width} numbers")

    def parts(self) -> Sequence[str]:
        """Return the coordinates."""
        return [f"vector{k}" for k in range(self.width)]

    def reads(self) -> str:
        """Say what the numbers are."""
        count = f"{len(self.words):,} words have one, learned from these cases"
        return f"a vector of {self.width} numbers for each text, the mean of its words' vectors; {count}"

    @cached_property
    def vectors(self) -> FloatArray:
        """The words' vectors, (V, d)."""
        stored = np.frombuffer(base64.b64decode(self.coordinates), dtype=_STORED)
        return stored.astype(np.float64).reshape(len(self.words), self.width)

    def features(self, cells: Texts) -> FloatArray:
        """Return the vectors (n, d) of (n,) texts, None where blank.

        A text is the mean of its words' vectors. A word that training did not have is read by its pieces, see
        `word_vector`; a word of which no piece is known counts for nothing, and a text without any others is zeros.
        """
        blocks = [self._encode(cells[start : start + _TEXTS_AT_ONCE]) for start in range(0, len(cells), _TEXTS_AT_ONCE)]
        return np.concatenate([np.empty((0, self.width)), *blocks])

    def word_vector(self, word: str) -> FloatArray:
        """Return a word's vector, (d,); zeros where nothing is known of it.

        A new word has the mean of its pieces' vectors. Its pieces are the runs of 3 to 6 characters of <word>, as in
        fastText (Bojanowski et al., 2017), and a piece's vector is the mean over the words of training that hold it,
        two of them at least. It is the shorter, and counts the less, the less these words agree.
        """
        place = self._place.get(word)
        if place is not None:
            return self.vectors[place]
        known = [self._pieces[0][piece] for piece in pieces_of(word) if piece in self._pieces[0]]
        return self._pieces[1][known].mean(axis=0) if known else np.zeros(self.width)

    def unseen(self, cells: Texts) -> int:
        """Count the texts that are not blank and of whose words nothing is known."""
        filled: Texts = [cell for cell in cells if cell is not None]
        return int((~self._encode(filled).any(axis=1)).sum()) if filled else 0

    def _encode(self, cells: Texts) -> FloatArray:
        words = [words_of(cell) for cell in cells]
        own: dict[str, int] = {}
        flat = np.array([own.setdefault(word, len(own)) for text in words for word in text], dtype=np.int64)
        table = np.array([self.word_vector(word) for word in own]).reshape(len(own), self.width)
        known = (table != 0).any(axis=1)[flat]
        row = np.repeat(np.arange(len(cells)), [len(text) for text in words])[known]
        return _means(table[flat[known]], row, n_rows=len(cells))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _pieces(self) -> tuple[dict[str, int], FloatArray]:
        """Return the pieces that two words of training or more hold, and their vectors, (G, d)."""
        holders: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            for piece in pieces_of(word):
                holders.setdefault(piece, []).append(place)
        shared = {piece: places for piece, places in holders.items() if len(places) > 1}
        places = np.array([place for held in shared.values() for place in held], dtype=np.int64)
        row = np.repeat(np.arange(len(shared)), [len(held) for held in shared.values()])
        means = _means(self.vectors[places], row, n_rows=len(shared))
        return {piece: place for place, piece in enumerate(shared)}, means


def pieces_of(word: str) -> set[str]:
    """Return a word's pieces; < and > mark its ends.

    >>> sorted(pieces_of("sea"))
    ['<se', '<sea', '<sea>', 'ea>', 'sea', 'sea>']
    """
    whole = f"<{word}>"
    return {whole[start : start + n] for n in NGRAM_LENGTHS for start in range(len(whole) - n + 1)}


def packed_vectors(vectors: FloatArray) -> str:
    """Return vectors (V, d) as the text that `VectorColumn` keeps."""
    return base64.b64encode(np.ascontiguousarray(vectors, dtype=_STORED).tobytes()).decode("ascii")


def _means(vectors: FloatArray, row: IntArray, *, n_rows: int) -> FloatArray:
    """Return the mean of each row's vectors, (n_rows, d); rows are in order, one without any is zeros."""
    means = np.zeros((n_rows, vectors.shape[1]))
    if len(row):
        starts = np.flatnonzero(np.concatenate([[True], row[1:] != row[:-1]]))
        counts = np.diff(starts, append=len(row))
        means[row[starts]] = np.add.reduceat(vectors, starts, axis=0) / counts[:, None]
    return means


WIDTH = 100
WINDOW = 5
SMOOTHING = 0.75
"""Contexts count by their frequency to this power, as in skip-gram's negative samples: rare ones are not overrated."""


def vectors_for_texts(recipe: "FeatureRecipe", frame: Any) -> "FeatureRecipe":
    """Return the recipe with a vector in place of the words of each text column, learned from these rows.

    No label is looked at, so that the vectors of the training rows are as good, and no better, than those of new ones.

    >>> import pandas as pd
    >>> from defero.data.recipes.recipe import FeatureRecipe
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
