"""A column of free text as one vector per text, the mean of its words' vectors: in numpy alone, for saved models.

How the vectors are learned is in `learn_vectors`; words are those of `text_column`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.codec import Within
from defero.data.recipes.text_column import TextNumbers, Texts, words_of

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
