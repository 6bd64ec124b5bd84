"""The pools on the real labels and votes, where DEFERO_DATA has them."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from paper_pools import HAM_COUNTS, HATESPEECH_COUNTS, PUBLISHED, WRITTEN

from defero.simulate import draw_human
from defero_verma2023.pools.annotators import galaxyzoo_pool, hatespeech_pool
from defero_verma2023.pools.ham10000 import ham10000_pool
from defero_verma2023.pools.picture_sets import HAM10000_CLASSES
from defero_verma2023.pools.stand_in import stand_in_human

N_DRAWS = 1_000_000
WITHIN = 0.005


def data_file(name):
    path = Path(os.environ.get("DEFERO_DATA", "")) / name
    if "DEFERO_DATA" not in os.environ or not path.is_file():
        pytest.skip(f"needs {name} in the folder that DEFERO_DATA names")
    return path


@pytest.mark.parametrize("variant", [PUBLISHED, WRITTEN])
def test_ham10000_on_its_labels(variant):
    with data_file("ham10000/HAM10000_metadata.csv").open(newline="") as file:
        labels = np.array([HAM10000_CLASSES.index(row["dx"]) for row in csv.DictReader(file) if row["age"]])
    assert np.bincount(labels).tolist() == HAM_COUNTS.tolist()
    pool = ham10000_pool(variant=variant).take([0, 1, 2, 3, 4, 5, 6, 8, 9])
    drawn = np.random.default_rng(0).choice(labels, size=N_DRAWS)
    right = (pool.draw(drawn, rng=np.random.default_rng(1)) == drawn[:, None]).mean(axis=0)
    np.testing.assert_allclose(right, pool.expected_accuracy(HAM_COUNTS / HAM_COUNTS.sum()), rtol=0, atol=WITHIN)
    if variant == PUBLISHED:
        quoted = [14.3, 16.4, 22.9, 38.2, 15.1, 37.7, 65.2, 80, 80]
        np.testing.assert_allclose(100 * right, quoted, rtol=0, atol=100 * WITHIN)


@pytest.mark.parametrize("variant", [PUBLISHED, WRITTEN])
def test_hatespeech_on_its_votes(variant):
    with gzip.open(data_file("hatespeech/labeled_data.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    votes = np.array([[int(row[k]) for k in ("hate_speech", "offensive_language", "neither")] for row in rows])
    labels = np.array([int(row["class"]) for row in rows])
    assert np.bincount(labels).tolist() == HATESPEECH_COUNTS.tolist()
    vote_shares = votes / votes.sum(axis=1, keepdims=True)
    confusion = np.array([vote_shares[labels == y].mean(axis=0) for y in range(3)])
    rng = np.random.default_rng(0)
    items = rng.integers(len(labels), size=N_DRAWS)
    pool = hatespeech_pool(variant=variant)
    answers = pool.draw(labels[items], human=draw_human(votes[items], rng=rng), rng=rng)
    right = (answers == labels[items][:, None]).mean(axis=0)
    expected = pool.expected_accuracy(HATESPEECH_COUNTS / len(labels), human_confusion=confusion)
    np.testing.assert_allclose(right, expected, rtol=0, atol=WITHIN)
    assert abs(expected[7] - 0.903) < 0.005  # the human's accuracy in the authors' runs, on their 4,096 tweets


def test_galaxyzoo_on_its_labels_with_the_stand_in():
    with np.load(data_file("galaxyzoo_2000/galaxyzoo_2000_64.npz")) as stored:
        labels = stored["y"].astype(int)
    rng = np.random.default_rng(0)
    drawn = rng.choice(labels, size=N_DRAWS)
    pool = galaxyzoo_pool(variant=PUBLISHED)
    answers = pool.draw(drawn, human=stand_in_human(drawn, rng=rng), rng=rng)
    confusion = [[0.765, 0.235], [0.235, 0.765]]
    expected = pool.expected_accuracy(np.bincount(labels) / len(labels), human_confusion=confusion)
    np.testing.assert_allclose((answers == drawn[:, None]).mean(axis=0), expected, rtol=0, atol=WITHIN)
    # By hand: 0.5 + p * 0.265 for "h with probability p, else a guess", 0.5 + (1 - 2 p) * 0.265 for a flip.
    by_hand = 0.5 + 0.265 * np.array([0, 0.1, 0, 0.75, 0.4, 0.6, 0.85, 1, 0.5, 1])
    np.testing.assert_allclose(expected, by_hand)
