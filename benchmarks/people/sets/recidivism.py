"""Defendants judged by 400 laypeople, with what happened in the two years after."""

import numpy as np

from benchmarks.people.crowd import Crowd, PeopleSet
from defero import ExpertTable
from defero.datasets import recidivism_people

COUNTED_RACES = ("black", "white", "hispanic")
"""All others together are a handful of the 1,000 defendants."""


def load() -> Crowd:
    table = recidivism_people(features="all")
    race, sex = (table.features[name].to_numpy(dtype=object) for name in ("race", "sex"))
    shown = table.features.drop(columns=["race", "compas_decile_score", "charge"])
    return Crowd(
        ExpertTable(table.labels, table.answers, shown, classes=table.classes, expert_names=table.expert_names),
        strata={"race": np.where(np.isin(race, COUNTED_RACES), race, "other"), "sex": sex},
    )


SET = PeopleSet(
    "recidivism-people",
    load,
    "1,000 defendants, each judged by 20 of 400 laypeople who were not shown the race. Features: sex, age, counts of "
    "earlier offences, degree of the charge; not the race, nor the text of the charge. Truth: arrested again within "
    "two years. Sensitive data: for comparing methods only.",
    place=25,
)
