"""CIFAR-10's test pictures: eleven networks, and people drawn from the counts of CIFAR-10H."""

import numpy as np

from benchmarks.people.crowd import Crowd, PeopleSet
from defero import ExpertTable, InputError
from defero.datasets import cifar10h, cifar10h_networks
from defero.datasets.folder import data_folder
from defero.simulate.experts import draw_human

N_PEOPLE = 3


def load() -> Crowd:
    path = data_folder() / "cifar10h" / "features.npy"
    votes, networks = cifar10h(), cifar10h_networks()
    if not path.is_file():
        raise InputError(
            "there are no features of CIFAR-10's pictures yet; put some for the 10,000 test pictures, (10000, d) in "
            "their order, learned without these pictures, into cifar10h/features.npy of the data folder."
        )
    features = np.load(path, allow_pickle=False)
    if features.ndim != 2 or len(features) != len(votes):
        raise InputError(f"cifar10h/features.npy must have the shape ({len(votes)}, d), got {features.shape}.")
    rng = np.random.default_rng(0)
    people = [draw_human(votes.votes, rng=rng) for _ in range(N_PEOPLE)]
    table = ExpertTable(
        votes.labels,
        np.column_stack([networks.answer_idx, *people]),
        features=features.astype(np.float32),
        classes=np.arange(votes.n_classes),
        expert_names=[*networks.expert_names, *(f"person_{number + 1}" for number in range(N_PEOPLE))],
    )
    return Crowd(table)


SET = PeopleSet(
    "cifar10h",
    load,
    "The 10,000 test pictures of CIFAR-10. Experts: eleven networks, and three people, each of whose answers is drawn "
    "from the picture's 51 votes (who gave which vote is not known). Features: cifar10h/features.npy.",
    most_splits=6,
    place=50,
)
