"""A column of free text as weighted words: TF-IDF from words and numbers that a saved model holds.

A word is a run of letters, digits and underscores of any script, in lower case: "Don't" is `don` and `t`.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix

from defero.core.checks.arrays import BoolArray, FloatArray
from defero.core.codec import Within

MAX_WORDS = 10_000
MIN_ROWS = 2  # a word of one training row says nothing about another one
_WORD = re.compile(r"\w+")

SAME, BLANK = "the same in every row", "blank in every row"
"""Why a column is left out without loss."""

Texts = list[str | None]
Features: TypeAlias = csr_matrix | FloatArray
"""Weighted words (n, V) are sparse, vectors of an encoder (n, d) dense."""


class TextNumbers:
    """What the columns of texts have in common: their numbers, or scores of these, and a 0/1 column of blanks."""

    new: ClassVar[str] = "none of its words was seen in training"
    filled: ClassVar[str] = "blank, read as no words"
    name: str
    missing: bool
    slopes: tuple[tuple[float, ...], ...] | None = None
    bias: tuple[float, ...] = ()

    @property
    def marks_blanks(self) -> bool:
        """Whether a 0/1 column tells where texts are blank: where training had some."""
        return self.missing

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns this one becomes."""
        names = self.parts() if self.slopes is None else [f"score{k}" for k in range(len(self.bias))]
        return tuple(f"{self.name}={one}" for one in [*names, *["missing"] * self.marks_blanks])

    def parts(self) -> Sequence[str]:
        """Return what the numbers are called that have no slopes."""
        raise NotImplementedError

    def features(self, cells: Texts) -> Features:
        """Return the numbers of (n,) texts, None where blank, before any slopes."""
        raise NotImplementedError

    def encode(self, cells: Texts) -> FloatArray:
        """Turn (n,) texts, None where blank, into (n, outputs)."""
        numbers = self.features(cells)
        if self.slopes is not None:
            numbers = numbers @ self._slope_matrix + np.array(self.bias)
        matrix: FloatArray = numbers if isinstance(numbers, np.ndarray) else numbers.toarray()
        return np.column_stack([matrix, [cell is None for cell in cells]]) if self.marks_blanks else matrix

    def reads(self) -> str:
        """Say what the numbers are, after the name of the column."""
        raise NotImplementedError

    def sentence(self) -> str:
        """Return one sentence: how the column is used."""
        count = "one score" if len(self.bias) == 1 else f"{len(self.bias)} numbers"
        summed = "" if self.slopes is None else f" and summed up in {count}"
        return f"{self.name}: {self.reads()}{summed}{'; blanks are marked' * self.marks_blanks}."

    def check_slopes(self, n_numbers: int) -> None:
        """Raise unless the slopes, if there are any, turn so many numbers into as many scores as there are biases."""
        rows = ((),) * n_numbers if self.slopes is None else self.slopes
        if len(rows) != n_numbers or any(len(row) != len(self.bias) for row in rows):
            raise ValueError(f"slopes that are not of {n_numbers} numbers and {len(self.bias)} scores")

    def unusual(self, block: FloatArray) -> BoolArray:
        """Return which rows of `encode` (n, outputs) have no known word, (n,); not blanks, if training had some."""
        if self.missing and not self.marks_blanks:  # a blank looks like a text without a known word
            return np.zeros(len(block), dtype=np.bool_)
        n_numbers = block.shape[1] - self.marks_blanks
        nothing = 0.0 if self.slopes is None else np.array(self.bias)
        return (block[:, :n_numbers] == nothing).all(axis=1) & ~block[:, n_numbers:].any(axis=1)

    @cached_property
    def _slope_matrix(self) -> FloatArray:
        return np.array(self.slopes, dtype=np.float64).reshape(-1, len(self.bias))


@dataclass(frozen=True)
class TextColumn(TextNumbers):
    """A column of text: one column per word, or a few scores once the words have been given slopes.

    Attributes
    ----------
    name : str
    words : tuple of V str
        Those of the training rows, in the order of the alphabet.
    idf : tuple of V float
        1 + log((1 + n) / (1 + rows with the word)), as in scikit-learn.
    slopes : tuple of V tuples, or None
        What each word adds to each of the scores; None: every word stays a column of its own.
    bias : tuple
        What each score starts from.
    missing : bool
        Training had blanks: beside the scores a 0/1 column tells where they are.
    """

    kind: ClassVar[str] = "text"
    name: str
    words: Annotated[tuple[str, ...], Within(1)]
    idf: tuple[float, ...]
    slopes: tuple[tuple[float, ...], ...] | None = None
    bias: tuple[float, ...] = ()
    missing: bool = False

    def __post_init__(self) -> None:
        if len(self.idf) != len(self.words):
            raise ValueError(f"{len(self.idf)} weights for {len(self.words)} words")
        self.check_slopes(len(self.words))

    @property
    def marks_blanks(self) -> bool:
        """Whether a 0/1 column tells where texts are blank: beside scores, not beside words."""
        return self.missing and self.slopes is not None

    def parts(self) -> Sequence[str]:
        """Return the words."""
        return self.words

    def reads(self) -> str:
        """Say what the numbers are."""
        return f"{len(self.words):,} words of text, weighted by TF-IDF"

    def features(self, cells: Texts) -> csr_matrix:
        """Return the weights (n, V) of the words of (n,) texts, None where blank.

        A word that stands c times weighs (1 + log c) * idf, and each row is scaled to length 1. Words that training
        did not have count for nothing; a text without known words has no entries.
        """
        counts = [Counter(self._place[word] for word in words_of(cell) if word in self._place) for cell in cells]
        row = np.repeat(np.arange(len(cells)), [len(one) for one in counts])
        word = np.array([place for one in counts for place in sorted(one)], dtype=np.int64)
        times = np.array([one[place] for one in counts for place in sorted(one)], dtype=np.float64)
        weight = (1.0 + np.log(times)) * np.array(self.idf)[word]
        length = np.sqrt(np.bincount(row, weight**2, minlength=len(cells)))
        return csr_matrix((weight / length[row], (row, word)), shape=(len(cells), len(self.words)))

    def unseen(self, cells: Texts) -> int:
        """Count the texts that are not blank and have no word of the training rows."""
        return sum(cell is not None and not any(word in self._place for word in words_of(cell)) for cell in cells)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}


def words_of(cell: str | None) -> list[str]:
    """Return a text's words in their order; none where it is blank.

    >>> words_of("The sea, the SEA!"), words_of("Öl für 2 €"), words_of(None)
    (['the', 'sea', 'the', 'sea'], ['öl', 'für', '2'], [])
    """
    return [] if cell is None else _WORD.findall(cell.lower())


def learn_words(name: str, cells: Texts, *, max_words: int = MAX_WORDS) -> TextColumn | str:
    """Learn a column from (n,) texts, None where blank; return the reason where it cannot be used.

    The words are those of at least two rows; of more than `max_words` those of most rows, ties in alphabetical order.

    >>> learn_words("note", ["good sea", "bad sea", "bad"]).words
    ('bad', 'sea')
    """
    if len(set(cells)) == 1:
        return SAME if cells[0] is not None else BLANK
    in_rows: Counter[str] = Counter()
    for cell in cells:
        in_rows.update(set(words_of(cell)))
    ranked = sorted((word for word in in_rows if in_rows[word] >= MIN_ROWS), key=lambda word: (-in_rows[word], word))
    if not ranked:
        return f"no word is in {MIN_ROWS} rows"
    words = tuple(sorted(ranked[:max_words]))
    idf = tuple(1.0 + math.log((1 + len(cells)) / (1 + in_rows[word])) for word in words)
    return TextColumn(name, words, idf, missing=None in cells)
