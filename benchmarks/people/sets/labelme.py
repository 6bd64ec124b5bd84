"""Scenes of eight kinds, answered by 59 people."""

from typing import Any

import numpy as np
from sklearn.decomposition import PCA

from benchmarks.people.crowd import Crowd, PeopleSet
from defero.datasets import labelme_crowd

DIRECTIONS = 64


def load() -> Crowd:
    return Crowd(labelme_crowd(part="train"), reduce=main_directions)


def main_directions(train: Any, test: Any) -> tuple[Any, Any]:
    """Return the main directions of log(1 + VGG feature): 512 columns are many for 700 pictures."""
    directions = PCA(DIRECTIONS, random_state=0).fit(np.log1p(train))
    return directions.transform(np.log1p(train)), directions.transform(np.log1p(test))


SET = PeopleSet(
    "labelme-crowd",
    load,
    "The 1,000 answered pictures of scenes of 8 kinds, each answered by 2.5 of 59 people. Features: the 64 main "
    "directions of VGG features, found in the training part. Truth: the source's.",
    most_splits=10,
    place=30,
)
