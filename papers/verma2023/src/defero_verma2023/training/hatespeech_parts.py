"""The tweets of figure 1 in three parts, what a person said of each, and two ways to turn texts into numbers.

The paper's networks read vectors of fastText that was trained on all tweets, those of the test included; here both ways
learn from the training part alone. And its parser dropped every tweet with a comma, one in six; here all are there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike

import numpy as np

from defero.datasets import hatespeech
from defero.simulate import draw_human
from defero.training import text_scores, text_vectors
from defero_verma2023.arrays import FloatArray, IntArray
from defero_verma2023.pools.pool import ExpertPool, Variant

PARTS = ("train", "validation", "test")
SHARES = (0.6, 0.2, 0.2)
N_CLASSES = 3
N_PEOPLE = 10


@dataclass(frozen=True, eq=False)
class TweetParts:
    """One seed's split of n tweets.

    Attributes
    ----------
    texts : n tweets
    labels : (n,) int
        The class with most votes.
    human : (n,) or (n, 10) int
        A person's label, drawn once from each tweet's votes; or one of its own for each expert.
    rows : mapping
        "train", "validation" and "test" -> numbers of tweets.
    seed : int
        Of the split, the person's labels and the experts' answers.
    """

    texts: Sequence[str]
    labels: IntArray
    human: IntArray
    rows: Mapping[str, IntArray]
    seed: int

    def answers(self, pool: ExpertPool | None) -> IntArray:
        """Return the answers to all tweets, (n, J): the same in every epoch, for every method and with more experts.

        >>> TweetParts(["a", "b"], np.array([0, 1]), np.array([0, 1]), {}, 0).answers(None).shape
        (2, 0)
        """
        if pool is None:
            return np.empty((len(self.labels), 0), dtype=np.int64)
        human = self.human if self.human.ndim == 1 else self.human[:, : pool.n_experts]
        return pool.draw(
            self.labels, human=human if "human" in pool.reads else None, rng=np.random.default_rng([self.seed, 2])
        )

    @cached_property
    def vectors(self) -> FloatArray:
        """A vector for each tweet, (n, 100), in units of the coordinates' mean spread in the training part.

        The paper centres and scales every coordinate by itself. Main directions keep their order of size here: filters
        that run over the coordinates tell by it which ones they are at (seed 0, ten epochs, a third of the filters:
        82 % of the validation tweets right, and 78 % with coordinates of one size).
        """
        vectors = text_vectors(self.texts, train=self.rows["train"])
        return vectors / vectors[self.rows["train"]].std(axis=0).mean()

    @cached_property
    def word_scores(self) -> FloatArray:
        """What TF-IDF and a ridge regression say of each class, (n, K); of a training tweet without having seen it."""
        return text_scores(self.texts, self.labels, train=self.rows["train"], n_classes=N_CLASSES)


def load(
    seed: int,
    *,
    protocol: Variant = "as_published",
    folder: str | PathLike[str] | None = None,
    limit: int | None = None,
) -> TweetParts:
    """Read all 24,783 tweets, shuffle and split them, and draw a person's label for each from its votes.

    Parameters
    ----------
    seed : int
    protocol : "as_written" or "as_published"
        A person of its own for each expert, or one for all of them.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    limit : int, optional
        Keep so many tweets, to try it out.
    """
    loaded = hatespeech(folder=folder)
    order = np.random.default_rng([seed, 0]).permutation(len(loaded.labels))[:limit]
    people = _people(loaded.votes, protocol, rng=np.random.default_rng([seed, 1]))
    ends = np.round(np.cumsum(SHARES[:-1]) * len(order)).astype(np.int64)
    rows = dict(zip(PARTS, np.split(np.arange(len(order)), ends), strict=True))
    return TweetParts(loaded.features["text"].iloc[order].tolist(), loaded.labels[order], people[order], rows, seed)


def _people(votes: IntArray, protocol: Variant, *, rng: np.random.Generator) -> IntArray:
    if protocol == "as_published":
        return draw_human(votes, rng=rng)
    return np.stack([draw_human(votes, rng=rng) for _ in range(N_PEOPLE)], axis=1)
