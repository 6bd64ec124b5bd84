"""Chest films read by three radiologists and eight networks; five other radiologists are the truth."""

import numpy as np
import pandas as pd

from benchmarks.people.crowd import Crowd, PeopleSet
from defero import ExpertTable
from defero.datasets import chexpert_tables
from defero.datasets.tables import READ_BY_NETWORKS


def load() -> Crowd:
    tables = chexpert_tables()
    read = {finding: tables[finding] for finding in READ_BY_NETWORKS}
    features = pd.concat([table.features.assign(finding=finding) for finding, table in read.items()])
    table = ExpertTable(
        np.concatenate([table.labels for table in read.values()]),
        pd.concat([table.answers for table in read.values()], ignore_index=True),
        features=features.reset_index(drop=True),
        classes=[0, 1],
    )
    return Crowd(table, groups=features.index.to_numpy(dtype=object))


SET = PeopleSet(
    "chexpert-readers",
    load,
    "500 chest films, one row for each of the five findings that the networks decide; the rows of a film are on one "
    "side of a split. Experts: the radiologists bc4, bc6, bc8 and eight networks, all on every row. Features: the "
    "scores of ten networks, and which finding is asked. Truth: the majority of five other radiologists.",
    most_splits=10,
    place=40,
)
