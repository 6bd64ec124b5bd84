"""Problem: one split of a data set as every method sees it, with its rows capped; and the data set by name."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.field.matrix import matrices
from benchmarks.tables.split import Rows, Split, Truth
from defero.core.checks.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Problem:
    """One split.

    Attributes
    ----------
    features, test_features : (n, d), (m, d)
    train, test : Rows
        Labels and answers.
    price : (m, J)
        Of a question about a test row, beside the others; 1 on average.
    n_classes, seed : int
    truth : Truth, optional
        Of the test rows.
    """

    features: FloatArray
    test_features: FloatArray
    train: Rows
    test: Rows
    price: FloatArray
    n_classes: int
    seed: int
    truth: Truth | None = None


@dataclass(frozen=True)
class FieldSet:
    """A data set of the table.

    Attributes
    ----------
    name : str
    draw : seed -> Split
    note : str
        Where the cases come from and who the experts are.
    group : str
        "people", "table", "language models" or "simulated".
    n_train, n_test : int
        The most rows of each part.
    directions : int, optional
        Many columns become so many main directions.
    fresh : bool
        Splits share few rows, so that they count as independent.
    votes : bool
        False where only right or wrong is known, so that nobody can vote.
    price : Split -> (m, J), optional
        What each question costs beside the others; all the same by default.
    """

    name: str
    draw: Callable[[int], Split]
    note: str
    group: str
    n_train: int = 1_000
    n_test: int = 2_000
    directions: int | None = None
    fresh: bool = False
    votes: bool = True
    price: Callable[[Split], FloatArray] | None = None

    def problem(self, seed: int) -> Problem:
        """Return the split of a seed."""
        split = self.draw(seed)
        rng = np.random.default_rng([seed, 23])
        learn, judged = some(len(split.train), self.n_train, rng), some(len(split.test), self.n_test, rng)
        train, test = split.train.take(learn), split.test.take(judged)
        first, second = matrices(train.features, test.features, directions=self.directions)
        price = np.ones(test.answer_idx.shape) if self.price is None else self.price(split)[judged]
        truth = split.truth
        if truth is not None:
            truth = Truth(truth.class_proba[judged], truth.expert_proba[judged])
        return Problem(first, second, train, test, price / price.mean(), split.n_classes, seed, truth)


def some(n_rows: int, most: int, rng: np.random.Generator) -> IntArray:
    """Return at most so many of the rows, drawn at random, in their order."""
    return np.sort(rng.permutation(n_rows)[:most]).astype(np.int64)
