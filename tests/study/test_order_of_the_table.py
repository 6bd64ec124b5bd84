"""A study learns the same from a table whatever the order of its rows, columns and experts, and its classes' names."""

import os
import warnings
from importlib.resources import files
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from benchmarks.tables.sets import SETTINGS

from defero import Study, read_cases
from defero.datasets import chexpert_tables, digits_team, recidivism_people

DOCTORS = ["dr_adams", "dr_baker", "dr_chen"]
CLINIC, NEW = (pd.read_csv(files("defero.datasets") / name) for name in ("clinic.csv", "clinic_new.csv"))


def decided(frame, experts, new, *, groups=None, net="auto", **reading):
    """Return who decides each new case, and the model's label, after a fit on a table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = Study(read_cases(frame, label="truth", expert_names=experts, **reading), groups=groups)
        team = study.fit(net)
    return np.array(team.decide(new).name), team.predict(new)


def in_another_order(frame, experts):
    """Return the table with its rows, columns and experts permuted."""
    rng = np.random.default_rng(7)
    rows = frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)
    return rows[list(rng.permutation(rows.columns))], experts[::-1]


def with_flipped_classes(frame):
    """Return the table with its classes renamed so that their order turns, and their old names by the new ones."""
    classes = sorted(frame["truth"].unique())
    names = {name: f"class{len(classes) - place:02d}" for place, name in enumerate(classes)}
    return frame.replace(names), {new: old for old, new in names.items()}


OPTIONS = {"key": "case", "groups": "patient"}


@pytest.fixture(scope="module")
def clinic():
    """Return who decides each new case, and the labels."""
    return decided(CLINIC, DOCTORS, NEW, **OPTIONS)


def test_the_clinic_in_another_order_has_the_same_routes_and_labels(clinic):
    route, label = decided(*in_another_order(CLINIC, DOCTORS), NEW, **OPTIONS)
    assert (route == clinic[0]).all()
    assert (label == clinic[1]).all()


def test_the_names_of_the_clinics_classes_hardly_matter(clinic):
    flipped, old = with_flipped_classes(CLINIC)
    route, label = decided(flipped, DOCTORS, NEW, **OPTIONS)
    assert (route != clinic[0]).mean() <= 0.02
    assert clinic[1].tolist() == [old[name] for name in label]


def test_a_table_without_keys_in_another_order_has_the_same_routes():
    options = {"features": ["age", "size_mm", "site"]}
    route, label = decided(CLINIC, DOCTORS, NEW, **options)
    again, label_again = decided(*in_another_order(CLINIC, DOCTORS), NEW, **options)
    assert (route == again).all()
    assert (label == label_again).all()


def test_a_split_by_key_stays_where_cells_are_corrected():
    cases = read_cases(CLINIC, label="truth", expert_names=DOCTORS, key="case")
    corrected = CLINIC.assign(age=CLINIC["age"] + 1)
    other = read_cases(corrected, label="truth", expert_names=DOCTORS, key="case")
    for one, two in zip(Study(cases).parts, Study(other).parts, strict=True):
        assert one.features.index.equals(two.features.index)


def credit_with_experts():
    """Return 1,500 clients with four simulated experts."""
    rows = SETTINGS["credit-ring-4-full"].draw(0).train.take(np.arange(1_500))
    names, classes = tuple("abcd"), np.array(["pays", "defaults"], dtype=object)
    own = {"label_idx": rows.label_idx, "answer_idx": rows.answer_idx}
    return SimpleNamespace(features=rows.features, expert_names=names, classes=classes, **own)


SETS = {
    "chexpert": lambda: chexpert_tables()["Edema"],
    "recidivism": lambda: recidivism_people().take(np.arange(0, 1_000, 2)),
    "credit": credit_with_experts,
    "digits": lambda: digits_team(random_state=0),
}


def as_frame(table):
    """Return a set as one table with named columns, and the names of its experts."""
    cells = table.features
    cells = cells.reset_index(drop=True) if hasattr(cells, "columns") else pd.DataFrame(cells.reshape(len(table), -1))
    names = [f"expert {name}" for name in table.expert_names]
    spelled = np.append(np.array([f"c{name}" for name in table.classes], dtype=object), None)
    answers = pd.DataFrame(spelled[table.answer_idx], columns=names)
    named = cells.rename(columns=lambda name: f"feature {name}")
    return pd.concat([named, answers], axis=1).assign(truth=spelled[table.label_idx]), names


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("DEFERO_DATA"), reason="DEFERO_DATA names no folder with the real data")
@pytest.mark.parametrize("name", SETS)
def test_sets_in_another_order_have_the_same_routes_and_labels(name):
    frame, experts = as_frame(SETS[name]())
    new = frame.iloc[::3]
    frame = frame.drop(index=new.index)
    route, label = decided(frame, experts, new)
    again, label_again = decided(*in_another_order(frame, experts), new)
    assert (route == again).all()
    assert (label == label_again).all()
    flipped, old = with_flipped_classes(frame)
    again, label_again = decided(flipped, experts, new)
    assert (route != again).mean() <= 0.02
    assert (label != np.array([old[name] for name in label_again])).mean() <= 0.02
