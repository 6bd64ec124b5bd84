"""The tweets of figure 1 in three parts, what a person said of each, and two ways to turn texts into numbers.

The paper's networks read vectors of fastText that was trained on all tweets, those of the test included; here both ways
learn from the training part alone. And its parser dropped every tweet with a comma, one in six; here all are there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from defero.core.checks import FloatArray, IntArray
from defero.data.recipes.learn_vectors import vectors_for_texts
from defero.data.recipes.recipe import FeatureRecipe
from defero.datasets import hatespeech
from defero.estimators.read_texts import read_texts
from defero.experts import ExpertPool, Variant, draw_human

PARTS = ("train", "validation", "test")
SHARES = (0.6, 0.2, 0.2)
N_CLASSES = 3
N_PEOPLE = 10


@dataclass(frozen=True, eq=False)
class TweetParts:
    """One seed's split of n tweets.

    Attributes
    ----------
    frame : DataFrame
        With the column "text".
    labels : (n,) int
        The class with most votes.
    human : (n,) or (n, 10) int
        A person's label, drawn once from each tweet's votes; or one of its own for each expert.
    rows : mapping
        "train", "validation" and "test" -> numbers of tweets.
    seed : int
        Of the split, the person's labels and the experts' answers.
    """

    frame: Any
    labels: IntArray
    human: IntArray
    rows: Mapping[str, IntArray]
    seed: int

    def answers(self, pool: ExpertPool | None) -> IntArray:
        """Return the answers to all tweets, (n, J): the same in every epoch, for every method and with more experts.

        >>> TweetParts(None, np.array([0, 1]), np.array([0, 1]), {}, 0).answers(None).shape
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
        learn = self.frame.iloc[self.rows["train"]]
        recipe = vectors_for_texts(FeatureRecipe.learn(learn, text="text"), learn)
        vectors = recipe.apply(self.frame)
        return vectors / vectors[self.rows["train"]].std(axis=0).mean()

    @cached_property
    def word_scores(self) -> FloatArray:
        """What TF-IDF and a ridge regression say of each class, (n, K); of a training tweet without having seen it."""
        train = self.rows["train"]
        learn = self.frame.iloc[train]
        across, recipe = read_texts(
            FeatureRecipe.learn(learn, text="text"),
            learn,
            self.labels[train],
            n_classes=N_CLASSES,
            weight=np.ones(len(train)),
        )
        scores = recipe.apply(self.frame)
        scores[train] = across
        return scores


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
    return TweetParts(loaded.features.iloc[order], loaded.labels[order], people[order], rows, seed)


def _people(votes: IntArray, protocol: Variant, *, rng: np.random.Generator) -> IntArray:
    if protocol == "as_published":
        return draw_human(votes, rng=rng)
    return np.stack([draw_human(votes, rng=rng) for _ in range(N_PEOPLE)], axis=1)
