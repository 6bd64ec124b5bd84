"""Labels by majority: the most frequent answer, a stated rule for ties, and who is left without."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import read_long

from defero.core.errors import TableError
from defero.data.answers.class_codes import parse_labels
from defero.data.answers.log import known_labels, log_from_columns, majority_labels
from defero.data.answers.read_log import join_answers
from defero.data.tables.cells import is_blank
from defero.data.tables.read import read_frame

DATA = Path(os.environ.get("DEFERO_DATA", ""))


def answers(rows, n_items):
    frame = pd.DataFrame(
        [(item, f"w{number}", said) for number, (item, said) in enumerate(rows)],
        columns=["item", "worker", "label"],
        dtype=object,
    )
    return join_answers(pd.DataFrame({"item": range(n_items)}), frame)


def test_a_case_by_hand():
    found = majority_labels(answers([(0, "b"), (0, "b"), (0, "a"), (2, "a"), (2, "b"), (3, "c")], 4))
    assert found.labels.tolist() == ["b", None, "b", "c"]  # item 2 is tied; b is more frequent over all
    assert found.tied.tolist() == [False, False, True, False]
    assert found.known.tolist() == [True, False, True, True]
    assert found.n_tied == 1


def test_a_tie_that_is_a_tie_over_all_goes_by_the_alphabet():
    assert majority_labels(answers([(0, "b"), (0, "a")], 1)).labels.tolist() == ["a"]


@pytest.mark.parametrize(
    ("cells", "classes"),
    [(["1", "0"], [0, 1]), ([1.0, "1", 0], ["0", "1"]), (["01", "1"], ["01", "1"]), (["true", "false"], [False, True])],
)
def test_answers_become_the_classes_they_mean(cells, classes):
    found = majority_labels(answers([(item, cell) for item, cell in enumerate(cells)], len(cells)))
    assert set(found.labels.tolist()) == set(classes)


def test_without_answers_there_is_no_majority():
    with pytest.raises(TableError, match="no answer to take labels from"):
        majority_labels(answers([], 2))


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abcd")), min_size=1, max_size=40))
def test_the_slow_twin_agrees(rows):
    found = majority_labels(answers(rows, 6))
    total = Counter(said for _, said in rows)
    for item in range(6):
        votes = Counter(said for one, said in rows if one == item)
        best = [said for said, count in votes.items() if count == max(votes.values())]
        expected = min(best, key=lambda said: (-total[said], said)) if best else None
        assert found.labels[item] == expected
        assert found.tied[item] == (len(best) > 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=20), st.randoms())
def test_the_order_of_answers_does_not_matter(rows, random):
    other = list(rows)
    random.shuffle(other)
    assert majority_labels(answers(rows, 4)).labels.tolist() == majority_labels(answers(other, 4)).labels.tolist()


def test_the_majority_of_a_published_crowd():
    folder = DATA / "lewidi"
    if not os.environ.get("DEFERO_DATA") or not folder.is_dir():
        pytest.skip("DEFERO_DATA does not point at the public data sets")
    n_checked = 0
    for path in sorted(folder.glob("*items*.csv*")):
        items = read_frame(path, as_text=["item"])
        found = majority_labels(read_long(path.with_name(path.name.replace("items", "annotations")), items))
        clear = found.known & ~found.tied
        assert np.array_equal(found.labels[clear].astype(int), items["majority"].to_numpy()[clear].astype(int))
        n_checked += int(clear.sum())
    assert n_checked > 10_000


def test_a_majority_is_written_as_the_labels_are():
    said = answers([(0, "1"), (1, "1"), (2, "2"), (3, "3")], 5)
    found = known_labels(said, {"column": ["01", None, None, None, None]}, majority=True)
    assert found.labels.tolist() == ["01", "01", 2, 3, None]
    assert found.sources.tolist() == ["column", "majority", "majority", "majority", None]
    found = known_labels(answers([(0, "b"), (0, "a"), (1, "a")], 2), {}, majority=True)
    assert (found.labels.tolist(), found.n_tied) == (["a", "a"], 1)
    found = known_labels(answers([(0, "b"), (0, "a"), (1, "a")], 2), {"column": ["b", None]}, majority=True)
    assert (found.labels.tolist(), found.n_tied) == (["b", "a"], 0)


@pytest.mark.parametrize(
    ("cells", "meant"),
    [
        (["0", 1], [0, 1]),
        (["x", 1], ["x", 1]),
        ([1.0, 2.0], [1.0, 2.0]),
        (["true", False], [True, False]),
        (["01", 1], ["01", 1]),
    ],
)
def test_labels_of_mixed_types_are_meant_alike(cells, meant):
    found = parse_labels(pd.Series(cells, dtype=object)).tolist()
    assert (found, list(map(type, found))) == (meant, list(map(type, meant)))


@given(st.lists(st.lists(st.sampled_from(["x", "y", None, " ", 1.5]), min_size=2, max_size=2), min_size=1, max_size=12))
def test_answers_in_columns_are_the_same_as_one_by_one(rows):
    frame = pd.DataFrame(rows, columns=["r10", "r2"], dtype=object)
    found = log_from_columns(frame, ["r10", "r2"], source="a.csv")
    cells = [(row, name, frame.loc[row, name]) for row in range(len(rows)) for name in ("r10", "r2")]
    expected = [one for one in cells if not is_blank(one[2])]
    assert found.expert_names == ("r10", "r2")
    assert [
        (item, found.expert_names[expert], said)
        for item, expert, said in zip(found.item_idx, found.expert_idx, found.answers, strict=True)
    ] == expected
    assert found.rows.tolist() == found.item_idx.tolist()


def test_answers_in_columns_may_be_odd():
    frame = pd.DataFrame({"a": [["x"], None], "b": [{"x": 1}, "y"]}, dtype=object)
    assert len(log_from_columns(frame, ["a", "b"], source="a.jsonl")) == 3
