"""CIFAR-10's test pictures, seen through the published outputs of one network; the other ten are experts."""

import numpy as np

from benchmarks.people.crowd import Crowd, PeopleSet
from benchmarks.people.sets.cifar10h import N_PEOPLE
from defero import ExpertTable
from defero.datasets import cifar10h
from defero.simulate.experts import draw_human

READ = "vgg_15_BN_64"
_LEAST = 1e-4


def load() -> Crowd:
    votes = cifar10h()
    outputs = dict(votes.network_proba)
    read = outputs.pop(READ)
    rng = np.random.default_rng(0)
    people = [draw_human(votes.votes, rng=rng) for _ in range(N_PEOPLE)]
    table = ExpertTable(
        votes.labels,
        np.column_stack([*(proba.argmax(axis=1) for proba in outputs.values()), *people]),
        features=np.log(np.maximum(read.astype(np.float32), _LEAST)),
        classes=np.arange(votes.n_classes),
        expert_names=[*outputs, *(f"person_{number + 1}" for number in range(N_PEOPLE))],
    )
    return Crowd(table)


SET = PeopleSet(
    "cifar10h-vgg",
    load,
    "The 10,000 test pictures of CIFAR-10. Experts: ten networks, and three people, each of whose answers is drawn "
    "from the picture's 51 votes. Features: the log-probabilities of an eleventh network, as published.",
    most_splits=6,
    place=51,
)
