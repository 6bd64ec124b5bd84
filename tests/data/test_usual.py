"""Which numbers are far beyond the training range, and which cells a recipe calls unusual."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from study_results import write_study

from defero.core.codec import pack, unpack
from defero.core.errors import TableError
from defero.data.recipes.columns import UsualRanges, usual_bounds
from defero.data.recipes.recipe import FeatureRecipe
from defero.datasets.tables import credit_default, recidivism_people

SPLITS = 20

values = arrays(np.float64, st.integers(2, 60), elements=st.floats(-1e100, 1e100))


@given(values)
def test_no_training_value_is_unusual(column):
    low, high = usual_bounds(column)
    assert low < column.min()
    assert column.max() < high


@given(values, st.floats(0.0, 1.0))
def test_a_number_inside_the_range_is_never_unusual(column, share):
    ranges = UsualRanges.learn(column[:, None])
    inside = column.min() * (1 - share) + column.max() * share
    inside = min(max(inside, column.min()), column.max())
    assert not ranges.outside(np.array([[inside]])).any()


@given(values, arrays(np.float64, 5, elements=st.floats(-1e100, 1e100)))
def test_what_is_clipped_stays_unusual_and_nothing_else_changes(column, new):
    ranges = UsualRanges.learn(column[:, None])
    before, clipped = ranges.outside(new[:, None]), ranges.clip(new[:, None])
    np.testing.assert_array_equal(ranges.outside(clipped), before)
    np.testing.assert_array_equal(clipped[~before], new[:, None][~before])


def test_bounds_by_hand():
    uniform = np.linspace(0.0, 100.0, 2001)  # the middle is 90 wide, the tails 5 long
    assert np.allclose(usual_bounds(uniform), (-90.0, 190.0))
    long_tail = np.concatenate([uniform, [1000.0]])  # 1000 is 905 beyond the 95 % quantile
    assert np.allclose(usual_bounds(long_tail), (-90.0, 1000.0 + 4 * 905), atol=1.0)
    rare = np.concatenate([np.zeros(1999), [1.0]])  # no middle and one tail: the range decides below
    assert np.allclose(usual_bounds(rare), (-1.0, 5.0))


def test_fewer_values_give_wider_bounds():
    few, many = np.linspace(0.0, 1.0, 11), np.linspace(0.0, 1.0, 1001)
    assert usual_bounds(few)[1] > 5 * usual_bounds(many)[1]


@pytest.mark.parametrize("n", [100, 300, 1000])
@pytest.mark.parametrize("law", ["normal", "lognormal", "counts", "pareto"])
def test_honest_new_rows_are_rarely_unusual(law, n):
    rng = np.random.default_rng(3)
    draw = {
        "normal": lambda: rng.standard_normal((n, 20)),
        "lognormal": lambda: np.exp(1.5 * rng.standard_normal((n, 20))),
        "counts": lambda: rng.negative_binomial(0.3, 0.2, (n, 20)).astype(float),
        "pareto": lambda: rng.pareto(2.0, (n, 20)),
    }[law]
    flagged = [UsualRanges.learn(draw()).outside(draw()).any(axis=1).mean() for _ in range(30)]
    assert np.mean(flagged) < 0.01


TRAIN = pd.DataFrame(
    {
        "age": np.linspace(20, 80, 300),
        "amount": np.exp(np.linspace(0, 6, 300)),
        "site": ["north", "south", "east"] * 100,
        "ward": [f"w{place % 25}" for place in range(300)],
        "note": ["the lung is clear", "a shadow in the lung"] * 150,
    }
)


def named(recipe, frame):
    marks = recipe.unusual(recipe.apply(frame))
    return [[name for name, mark in zip(recipe.inputs, row, strict=True) if mark] for row in marks]


def test_cells_unlike_those_of_training_are_named_in_any_order_of_the_columns():
    recipe = FeatureRecipe.learn(TRAIN, text="note")
    row = {"age": 50.0, "amount": 30.0, "site": "south", "ward": "w3", "note": "a clear lung"}
    new = pd.DataFrame(
        [
            row,
            {**row, "age": 999.0},
            {**row, "age": -999.0, "site": "west"},
            {**row, "amount": 800.0},  # a tail goes on
            {**row, "ward": "w99"},  # has rare levels: a new one is one of them
            {**row, "note": "xyzzy plugh"},
            {**row, "site": None},  # no training row was blank
            {**row, "age": None},  # filled with the median
        ]
    )
    expected = [[], ["age"], ["age", "site"], [], [], ["note"], ["site"], []]
    assert named(recipe, new) == expected
    assert named(recipe, new[["note", "ward", "site", "amount", "age"]]) == expected
    assert not recipe.unusual(recipe.apply(TRAIN)).any()
    assert {"age: far beyond the training range": 2, "site: blank, which no training row was": 1}.items() <= (
        recipe.remarks(new).items()
    )


def test_a_recipe_from_json_knows_what_is_unusual():
    recipe = FeatureRecipe.learn(TRAIN.drop(columns="note"))
    again = unpack(FeatureRecipe, pack(recipe))
    new = TRAIN.head(3).assign(age=[50, 999, 90], site=["x", "north", "north"])
    np.testing.assert_array_equal(again.unusual(again.apply(new)), recipe.unusual(recipe.apply(new)))
    assert named(again, new) == [["site"], ["age"], []]


def test_a_constant_column_is_never_unusual():
    recipe = FeatureRecipe.learn(pd.DataFrame({"x": [1.0, 2.0, 3.0], "gap": [5.0, None, 5.0]}))
    assert named(recipe, pd.DataFrame({"x": [2.0], "gap": [1e9]})) == [[]]
    ranges = UsualRanges.learn(np.array([[1.0, 5.0], [2.0, 5.0]]))
    assert not ranges.outside(np.array([[1.5, 1e9]])).any()


@pytest.mark.slow
def test_rows_of_real_tables_are_rarely_unusual():
    """Writes ../statistical/results/unusual_rows.json."""
    started, rates = time.process_time(), {}
    tables = {
        "credit-default": credit_default().drop(columns="default_next_month"),
        "recidivism-people": recidivism_people(part="all", features="all").features,
    }
    for name, table in tables.items():
        for n in (100, 300, 1_000, 5_000):
            rates[f"{name}, {n} training rows"] = unusual_shares(table, n=n)
    write_study("unusual_rows", splits=SPLITS, seed=0, cpu_seconds=time.process_time() - started, shares=rates)
    assert all(one["numbers"]["mean"] < 0.005 for one in rates.values())


def unusual_shares(table, *, n):
    """Return the share of up to 5,000 other rows that are unusual by a number, and by any column, over the splits."""
    rng, shares = np.random.default_rng(0), {"numbers": [], "any column": []}
    for _ in range(SPLITS):
        rows = rng.permutation(len(table))
        recipe = FeatureRecipe.learn(table.iloc[rows[:n]])
        marks = recipe.unusual(recipe.apply(table.iloc[rows[n : n + 5_000]]))
        shares["numbers"].append(
            marks[:, [name not in recipe.categorical for name in recipe.inputs]].any(axis=1).mean()
        )
        shares["any column"].append(marks.any(axis=1).mean())
    return {name: {"mean": float(np.mean(one)), "largest": float(np.max(one))} for name, one in shares.items()}


def test_a_number_too_large_is_bad_though_the_training_range_reaches_beyond_it():
    recipe = FeatureRecipe.learn(pd.DataFrame({"size": [-1e100, 0.0, 1e100]}))
    new = pd.DataFrame({"size": [1.0, 2e100]})
    assert [cell.row for cell in recipe.bad_cells(new)] == [1]
    with pytest.raises(TableError, match=r"row 1, column size: '2e\+100' is not a finite number of at most 1e\+100"):
        recipe.apply(new)
