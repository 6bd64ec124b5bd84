"""The chance that two different cases look alike, with independent and with correlated columns."""

import numpy as np
import pandas as pd
import pytest

from defero.router.rows.look_alikes import chance_alike


def test_of_independent_columns_it_is_that_of_pairs():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, (40, 2))
    equal = [(table[i] == table[j]) for i in range(40) for j in range(i)]
    assert chance_alike(table) == pytest.approx(np.prod(np.mean(equal, axis=0)))
    assert chance_alike(pd.DataFrame(table)) == pytest.approx(chance_alike(table))
    assert chance_alike(rng.normal(size=(40, 2))) == 0.0


def patients(rng, n, *, n_columns=8, noise=0.1):
    """Whole numbers that follow one another, as the tests of one patient do."""
    first = rng.integers(0, 40, n)
    shift = (rng.random((n, n_columns)) < noise) * rng.integers(-2, 3, (n, n_columns))
    return first[:, None] // np.arange(1, n_columns + 1) + shift


@pytest.mark.parametrize("n", [300, 3_000])
def test_correlated_columns_raise_it_to_what_happens(n):
    rng = np.random.default_rng(1)
    table, others = patients(rng, n), patients(rng, 20_000)
    _, counts = np.unique(others, axis=0, return_counts=True)
    true = (counts * (counts - 1)).sum() / (20_000 * 19_999)
    alone = np.prod([np.mean(table[:, k][:, None] == table[:, k]) for k in range(table.shape[1])])
    assert alone < true / 1_000
    assert true / 3 < chance_alike(table) < 3 * true


def test_copies_of_cases_hardly_raise_it():
    table = np.random.default_rng(2).integers(0, 30, (1_000, 6))
    with_copies = np.vstack([table, table[:500]])
    assert chance_alike(with_copies) < 10 * chance_alike(table) < 1e-7  # of the pairs 0.0004 are equal


def test_pictures_with_a_dark_border_are_compared_by_all_their_pixels():
    pictures = np.zeros((300, 12, 12, 1), dtype=np.uint8)
    pictures[:, 3:9, 3:9] = np.random.default_rng(0).integers(256, size=(300, 6, 6, 1))
    assert chance_alike(pictures) < 1e-12
