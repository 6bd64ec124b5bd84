"""Rows are put in an order that is theirs: no order of rows, columns, experts or classes enters it."""

import time

import numpy as np
import pandas as pd
import pytest

from defero.core import ExpertTable
from defero.core.answers import Answers
from defero.core.order import row_order

N = 200


def table(seed=0, *, copies=1):
    """Return features with a number, a category and gaps, labels, and the answers of three experts."""
    rng = np.random.default_rng(seed)
    size = pd.Series(rng.integers(0, N // copies, N).astype(float)).mask(rng.random(N) < 0.1)
    features = pd.DataFrame({"size": size, "site": rng.choice(["arm", "leg", None], N), "age": rng.integers(20, 30, N)})
    labels = rng.choice(["ill", "well"], N)
    answers = pd.DataFrame(
        {name: np.where(rng.random(N) < 0.7, labels, "ill") for name in ("bob", "ann", "cem")}, dtype=object
    ).mask(rng.random((N, 3)) < 0.3)
    return features, labels, answers


def parts_of(features, labels, answers, **options):
    """Return the rows of three parts, by their index."""
    cases = ExpertTable(labels, answers, features=features)
    return [set(part.features.index) for part in cases.split(0.5, 0.3, 0.2, random_state=1, **options)]


@pytest.mark.parametrize("copies", [1, 50])
@pytest.mark.parametrize("group", [None, "age"])
def test_a_split_does_not_depend_on_any_order_or_on_the_names_of_classes(copies, group):
    features, labels, answers = table(copies=copies)
    groups = None if group is None else features[group].to_numpy()
    golden = parts_of(features, labels, answers, groups=groups)
    rng = np.random.default_rng(5)
    rows = rng.permutation(N)
    shuffled = features.iloc[rows][["age", "size", "site"]]
    flipped = {"ill": "z", "well": "a"}
    others = answers.iloc[rows][["cem", "ann", "bob"]].replace(flipped)
    renamed = np.array([flipped[label] for label in labels[rows]])
    again = parts_of(shuffled, renamed, others, groups=None if groups is None else groups[rows])
    identity = features.assign(label=labels, **answers).map(str).agg("|".join, axis=1)
    for one, other in zip(golden, again, strict=True):  # rows that are the same are interchangeable
        assert sorted(identity[list(one)]) == sorted(identity[list(other)])


def test_sparse_answers_are_ordered_as_dense_ones():
    features, labels, answers = table(copies=100)
    dense = ExpertTable(labels, answers, features=features)
    sparse = Answers.from_triplets(*dense.coded.triplets(), n_items=N, n_experts=3, expert_names=dense.expert_names)
    assert np.array_equal(row_order(features, dense.label_idx, sparse), dense.row_order())
    turned = np.array([2, 0, 1])
    assert np.array_equal(sparse.of_experts(turned).dense(), dense.coded.of_experts(turned).dense())
    assert np.array_equal(row_order(features, dense.label_idx, sparse.of_experts(turned)), dense.row_order())


def test_answers_and_weights_tell_apart_what_cells_do_not():
    same, label_idx, rng = np.zeros((N, 2)), np.zeros(N, dtype=np.int64), np.random.default_rng(0)
    rows = rng.permutation(N)
    for kind in (rng.random(N), rng.integers(0, 5, N)):
        order, other = row_order(same, label_idx, weight=kind), row_order(same, label_idx, weight=kind[rows])
        assert np.array_equal(kind[order], kind[rows][other])


def test_a_table_without_features_has_an_order_of_its_own_too():
    rng = np.random.default_rng(1)
    label_idx, codes = rng.integers(0, 2, N), rng.integers(-1, 2, (N, 4))
    rows = rng.permutation(N)
    first = row_order(None, label_idx, Answers.from_cells(codes))
    second = row_order(None, label_idx[rows], Answers.from_cells(codes[rows]))
    assert np.array_equal(codes[first], codes[rows][second])


@pytest.mark.slow
def test_a_million_rows_take_seconds():
    rng = np.random.default_rng(0)
    features, label_idx = rng.normal(size=(1_000_000, 20)), rng.integers(0, 2, 1_000_000)
    answers = Answers.from_cells(rng.integers(-1, 2, (1_000_000, 4)).astype(np.int8))
    start = time.perf_counter()
    row_order(features, label_idx, answers)
    assert time.perf_counter() - start < 10  # 1 to 2 on one core that has nothing else to do
