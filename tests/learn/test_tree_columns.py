"""TreeColumns: categories are one column again, marked gaps are NaN, rotations keep distances."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from defero import InputError
from defero.core.codec import pack, unpack
from defero.data.recipes.recipe import FeatureRecipe
from defero.estimators.training_data import columns_of
from defero.learn.classes import TreeColumns, oblique

FRAME = pd.DataFrame({"age": [30.0, None, 50.0, 70.0], "site": ["a", "b", "a", None], "size": [1.0, 2.0, 3.0, 4.0]})


def test_a_table_becomes_one_column_for_each_of_its_own():
    recipe = FeatureRecipe.learn(FRAME)
    columns = columns_of(recipe)
    matrix = columns.of_matrix(recipe.apply(FRAME))
    assert matrix.shape == (4, 3)
    np.testing.assert_array_equal(matrix[:, 0], [0, 1, 0, 2])  # blank is a category of its own where training had some
    np.testing.assert_array_equal(matrix[:, 1], [30, np.nan, 50, 70])
    unseen = columns.of_matrix(recipe.apply(FRAME.assign(site="z")))
    assert np.isnan(unseen[:, 0]).all()


def test_rotations_keep_distances_on_the_scale_of_the_rows():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 2)) * [1, 100]
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    turned = TreeColumns.of(2).rotated(rows, turn).of_matrix(rows)
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    np.testing.assert_allclose((turned[:, 2:] ** 2).sum(axis=1), (standard**2).sum(axis=1))
    np.testing.assert_array_equal(turned[:, :2], rows)


def test_packed_columns_come_back_and_odd_ones_are_refused():
    columns = TreeColumns.of(4, categories=[(0, 2)], numbers=[2], missing=[3])
    rows = np.array([[0.0, 1.0, 30.0, 0.0], [0.0, 0.0, 50.0, 1.0]])
    np.testing.assert_array_equal(unpack(TreeColumns, pack(columns)).of_matrix(rows), columns.of_matrix(rows))
    with pytest.raises(InputError, match=r"columns 0\.\.3"):
        replace(columns, numbers=np.array([9]))
    for name, value in (("scale", 0.0), ("center", np.nan)):
        with pytest.raises(InputError, match=name):
            replace(columns, **{name: np.array([value])})


@pytest.mark.parametrize(("n_numbers", "n_more"), [(1, 0), (2, 8), (4, 16), (5, 0)])
def test_two_to_four_numbers_are_looked_at_aslant(n_numbers, n_more):
    rows = np.random.default_rng(0).normal(size=(30, n_numbers))
    columns = oblique(TreeColumns.of(n_numbers), rows)
    assert columns.n_columns == n_numbers + n_more
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    for turn in np.split(columns.rotation, 4, axis=1) if n_more else []:
        np.testing.assert_allclose(turn.T @ turn, np.eye(n_numbers), atol=1e-12)
    np.testing.assert_allclose(columns.of_matrix(rows)[:, n_numbers:], standard @ columns.rotation, atol=1e-12)
