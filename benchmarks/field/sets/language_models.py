"""Language models on questions, of which only right or wrong is known.

Such a pool becomes a classification that no model can solve: the label of each question is drawn, an expert answers it
where the language model was right, and another one where it was wrong. P(expert is right | x) is the language model's,
and P(y | x) is 1/5, so that a method must ask. A fractional score is the probability of being right.
"""

from functools import lru_cache, partial

import numpy as np
import pandas as pd

from benchmarks.field.problem import FieldSet, some
from benchmarks.pools.sets import load
from benchmarks.pools.systems import features
from benchmarks.tables.split import Rows, Split
from defero.core.checks.arrays import FloatArray, IntArray

N_WORDS, ALL_WORDS, MOST_ROWS, N_CLASSES = 24, 128, 3_000, 5


@lru_cache(maxsize=2)
def drawn(name: str, seed: int) -> tuple[Split, FloatArray]:
    """Return a split with equal questions on one side, and the prices (m, J) of its test questions."""
    data, rng = load(name), np.random.default_rng([seed, 9])
    parts = [rows[some(len(rows), MOST_ROWS, rng)] for rows in data.split(seed)]
    words = features(*(data.table.iloc[rows] for rows in parts))
    learn, judged = (
        drawn_labels(as_columns(matrix), data.scores[rows], rng) for matrix, rows in zip(words, parts, strict=True)
    )
    prices = np.ones(judged.answer_idx.shape) if data.prices is None else data.prices[parts[1]]
    return Split(learn, judged, n_classes=N_CLASSES, seed=seed), prices


def as_columns(matrix: FloatArray) -> pd.DataFrame:
    """Return the first directions of the words, and the task."""
    return pd.DataFrame(np.delete(matrix, np.arange(N_WORDS, ALL_WORDS), axis=1)).add_prefix("x")


def drawn_labels(features: pd.DataFrame, scores: FloatArray, rng: np.random.Generator) -> Rows:
    """Return cases with labels at random, which an expert gets right with the probability of their score."""
    right = rng.random(scores.shape) < scores
    labels: IntArray = rng.integers(0, N_CLASSES, len(scores))
    wrong = (labels[:, None] + rng.integers(1, N_CLASSES, scores.shape)) % N_CLASSES
    return Rows(features, labels, np.where(right, labels[:, None], wrong))


def draw(name: str, seed: int) -> Split:
    """Return the split of a seed."""
    return drawn(name, seed)[0]


def price(name: str, split: Split) -> FloatArray:
    """Return what each test question costs each member; 1 where there are no prices."""
    return drawn(name, split.seed)[1]


SETS = tuple(
    FieldSet(
        name,
        partial(draw, name),
        f"{what}; features: {N_WORDS} directions of the words, and the task.",
        "language models",
        votes=False,
        price=partial(price, name),
    )
    for name, what in (
        ("llm_routing_9", "Nine language models on 14 tasks, right or wrong; fees in proportion to their prices"),
        ("llm_routing_7", "Seven language models on 16 tasks, right or wrong; one price"),
    )
)
