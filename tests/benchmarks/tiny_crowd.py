"""A small simulated crowd, for the contract that every system keeps."""

import numpy as np
import pandas as pd
from benchmarks.people.crowd import Crowd, PeopleSet

from defero import ExpertTable

N, J = 160, 5


def tiny_table(*, texts=False, n_classes=2):
    """Five people, each answering half of 160 items; the first eight items have no answer, the last is silent."""
    rng = np.random.default_rng(7)
    labels = rng.integers(n_classes, size=N)
    shown = np.column_stack([labels + rng.normal(0, 0.8, N), rng.normal(0, 1, (N, 2))])
    right = rng.random((N, J)) < np.linspace(0.95, 0.55, J)
    answers = np.where(right, labels[:, None], (labels[:, None] + 1) % n_classes)
    answers[rng.random((N, J)) < 0.5] = -1
    answers[:8], answers[:, -1] = -1, -1
    names = np.array(["no", "yes", "so"])[:n_classes]
    features = pd.DataFrame({"text": [f"{names[label]} word{place % 7}" for place, label in enumerate(labels)]})
    return ExpertTable(labels, answers, features if texts else shown, classes=np.arange(n_classes))


def tiny_crowd(**options):
    return Crowd(tiny_table(**options), text=("text",) if options.get("texts") else None)


def tiny_set(name="tiny", *, agreement=False, load=tiny_crowd):
    return PeopleSet(name, load, "A tiny crowd.", agreement=agreement)
