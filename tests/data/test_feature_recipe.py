"""The recipe: learned from training rows, applied to anything, never a gap."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import InputError, ModelFolderError, TableError
from defero.data.recipes.columns import LARGEST_NUMBER, remark_sentences
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.tables.read import first_row, read_chunks, read_frame

TRAIN = pd.DataFrame(
    {
        "age": [30, 50, np.nan, 70],
        "dose": [1, 2, 3, 4],
        "smokes": [True, False, True, True],
        "site": ["a", "b", "a", None],
        "grade": pd.Categorical([1, 2, 1, 1]),
        "unit": ["mm"] * 4,
        "zero": [0.0] * 4,
        "gap": [np.nan] * 4,
        "day": pd.to_datetime(["2020-01-01"] * 4),
    }
)
FLOATS = st.floats(-LARGEST_NUMBER, LARGEST_NUMBER)
NUMBERS = st.one_of(st.none(), st.just(np.nan), FLOATS, st.booleans(), st.integers(-5, 5))
WORDS = st.one_of(st.none(), st.sampled_from(["a", "b", " b", "other", "missing", "1", "1.0", "", "NA"]))


FOUR = {"n0": "n", "n1": "n", "w0": "w", "w1": "w"}


@st.composite
def frames(draw, columns=None):
    n_rows = draw(st.integers(1, 12))
    kinds = columns or {f"c{place}": draw(st.sampled_from("nw")) for place in range(draw(st.integers(1, 5)))}
    cells = {
        "n": st.lists(NUMBERS, min_size=n_rows, max_size=n_rows),
        "w": st.lists(WORDS, min_size=n_rows, max_size=n_rows),
    }
    return pd.DataFrame({name: pd.Series(draw(cells[kind]), dtype=object) for name, kind in kinds.items()})


def learned(frame, **options):
    try:
        return FeatureRecipe.learn(frame, **options)
    except TableError:  # every column is constant or blank
        assume(False)


@given(frames(), st.integers(1, 3))
def test_training_rows_have_no_gaps(frame, max_categories):
    recipe = learned(frame, max_categories=max_categories)
    matrix = recipe.apply(frame)
    assert matrix.shape == (len(frame), len(recipe.names))
    assert np.isfinite(matrix).all()
    assert len(set(recipe.names)) == len(recipe.names)
    assert {*recipe.inputs, *recipe.dropped} == set(frame.columns)
    assert len(recipe.describe()) == frame.shape[1]
    assert not {f"{one.name}: {one.new}" for one in recipe.columns} & set(recipe.remarks(frame))


@given(frames(FOUR), frames(FOUR), st.randoms(use_true_random=False))
def test_new_rows_have_no_gaps_in_any_order_of_columns(train, new, random):
    recipe = learned(train)
    matrix = recipe.apply(new)
    assert np.isfinite(matrix).all()
    columns = list(new.columns)
    random.shuffle(columns)
    assert np.array_equal(recipe.apply(new[columns].assign(extra=1)), matrix)
    rows = np.arange(len(new))[::-1]
    assert np.array_equal(recipe.apply(new.iloc[rows]), matrix[rows])


@given(frames(FOUR), frames(FOUR))
def test_a_recipe_survives_json_exactly(train, new):
    recipe = learned(train)
    packed = pack(recipe)
    copy = unpack(FeatureRecipe, replace(packed, manifest=json.loads(json.dumps(packed.manifest))))
    assert copy == recipe
    assert np.array_equal(copy.apply(new), recipe.apply(new))


@given(frames(FOUR))
def test_a_category_row_has_at_most_one_one(frame):
    recipe = learned(frame, max_categories=2)
    matrix = recipe.apply(frame)
    for name in recipe.categorical:
        block = matrix[:, [place for place, column in enumerate(recipe.names) if column.startswith(f"{name}=")]]
        assert (block.sum(axis=1) == 1).all()


def test_a_table_by_hand():
    recipe = FeatureRecipe.learn(TRAIN)
    assert recipe.names == (
        "age", "age=missing", "dose", "smokes", "site=a", "site=b", "site=missing", "grade=1", "grade=2",
    )  # fmt: skip
    assert recipe.apply(TRAIN).tolist() == [
        [30, 0, 1, 1, 1, 0, 0, 1, 0],
        [50, 0, 2, 0, 0, 1, 0, 0, 1],
        [50, 1, 3, 1, 1, 0, 0, 1, 0],
        [70, 0, 4, 1, 0, 0, 1, 1, 0],
    ]
    assert recipe.inputs == ("age", "dose", "smokes", "site", "grade")
    assert recipe.categorical == ("site", "grade")
    assert recipe.extra(TRAIN.assign(more=1)) == ("more",)
    assert dict(recipe.dropped) == {
        "unit": "the same in every row",
        "zero": "the same in every row",
        "gap": "blank in every row",
        "day": "dates are not used",
    }
    assert recipe.describe() == [
        "age: a number; blank cells become 50, which are marked.",
        "dose: a number; blank cells become 2.5.",
        "smokes: a number; blank cells become 1.",
        "site: 2 categories (a, b), blank as one more.",
        "grade: 2 categories (1, 2).",
        "unit: not used, the same in every row.",
        "zero: not used, the same in every row.",
        "gap: not used, blank in every row.",
        "day: not used, dates are not used.",
    ]


def test_new_rows_by_hand():
    recipe = FeatureRecipe.learn(TRAIN[["age", "dose", "site"]])
    new = pd.DataFrame(
        {"site": ["c", None, "b"], "age": [None, 1.0, 2.0], "dose": ["7", "", " 8.5"], "more": [1, 2, 3]}
    )
    assert recipe.apply(new).tolist() == [[50, 1, 7, 0, 0, 0], [1, 0, 2.5, 0, 0, 1], [2, 0, 8.5, 0, 1, 0]]
    assert recipe.remarks(new) == {
        "site: a category never seen in training": 1,
        "age: blank, filled with the training median": 1,
        "dose: blank, filled with the training median": 1,
    }
    assert recipe.extra(new) == ("more",)


def test_blanks_in_a_column_that_had_none_become_zeros_and_medians():
    recipe = FeatureRecipe.learn(pd.DataFrame({"site": ["a", "b", "a"], "dose": [1, 2, 9]}))
    assert recipe.apply(pd.DataFrame({"site": [None], "dose": [None]})).tolist() == [[0, 0, 2]]


def test_rare_categories_share_a_column_and_ties_go_by_the_alphabet():
    recipe = FeatureRecipe.learn(pd.DataFrame({"site": list("dcbadz")}), max_categories=3)
    assert recipe.names == ("site=d", "site=a", "site=b", "site=other")
    new = pd.DataFrame({"site": ["a", "c", "never", None]})
    assert recipe.apply(new).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert not any("never seen" in remark for remark in recipe.remarks(new))
    assert recipe.describe() == ["site: 3 categories (d, a, b), the rarer ones together."]


def test_levels_called_other_and_missing_have_names_of_their_own():
    recipe = FeatureRecipe.learn(pd.DataFrame({"a": ["other", "missing", None, "x"]}), max_categories=2)
    assert recipe.names == ("a='missing'", "a='other'", "a=other", "a=missing")
    new = pd.DataFrame({"a": ["other", "missing", None, "never"]})
    assert recipe.apply(new).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]


def test_one_category_with_gaps_is_used():
    recipe = FeatureRecipe.learn(pd.DataFrame({"a": ["x", None]}))
    assert recipe.apply(pd.DataFrame({"a": [None, "x", "y"]})).tolist() == [[0, 1], [1, 0], [0, 0]]


def test_a_constant_with_gaps_keeps_its_gaps():
    recipe = FeatureRecipe.learn(pd.DataFrame({"a": [5.0, None, 5.0]}))
    assert recipe.names == ("a=missing",)
    assert recipe.apply(pd.DataFrame({"a": [None, 7.0]})).tolist() == [[1], [0]]
    assert recipe.describe() == ["a: constant, of use only by its blanks; blank cells become 5, which are marked."]


@pytest.mark.parametrize("huge", [1e308, -1e308, 1e155, "1e308", math.inf])
def test_a_number_too_large_to_compute_with_raises_with_its_row_and_column(huge):
    facts = r"cases\.csv: row 3, column size: .* at most 1e\+100; leave the cell blank"
    with pytest.raises(TableError, match=facts):
        FeatureRecipe.learn(pd.DataFrame({"size": [1.0, float(huge)]}), source="cases.csv", first_row=2)
    recipe = FeatureRecipe.learn(pd.DataFrame({"size": [1.0, LARGEST_NUMBER]}))
    with pytest.raises(TableError, match=facts):
        recipe.apply(pd.DataFrame({"size": [1.0, huge]}), source="cases.csv", first_row=2)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([f"€{place}.45" for place in range(60)], "looks like numbers with separators or signs; write them as 1234.5"),
        ([f"$ 1,{place + 100}.50" for place in range(60)], "looks like numbers with separators or signs; write"),
        (
            [f"1.{place + 100},50\u00a0€" for place in range(59)] + ["n/a"],
            "looks like numbers with separators or signs; w",
        ),
        ([f"{place},5 %" for place in range(60)], "looks like numbers with separators or signs; write them as 1234.5"),
        (
            [f"12 {place + 100}" for place in range(60)],
            "looks like numbers with separators or signs; write them as 1234.5",
        ),
        ([f"the patient said {place}" for place in range(60)], "free text; name it as a text to use it"),
        ([f"{place / 7:.3f}" for place in range(60)], "numbers stored as text; convert them to numbers"),
        (
            ["NA"] + [f"{place / 7:.3f}" for place in range(60)],
            "numbers beside 'NA'; leave a cell blank where the number",
        ),
        (
            ["NA", "<1", "n/a", "x", "y"] + [f"{place / 7:.3f}" for place in range(60)],
            "numbers beside 'NA', '<1', 'n/a' and 2 more; leave a cell blank where the number",
        ),
        ([[place] for place in range(60)], "its cells are neither numbers nor text"),
    ],
)
def test_columns_that_are_not_used_say_why(cells, reason):
    recipe = FeatureRecipe.learn(pd.DataFrame({"a": cells, "b": np.arange(len(cells))}))
    assert recipe.names == ("b",)
    assert recipe.dropped["a"].startswith(reason)


def test_numbers_beside_a_word_are_categories():
    recipe = FeatureRecipe.learn(pd.DataFrame({"a": ["1", "2", "NA", "2"]}))
    assert recipe.describe() == ["a: 3 categories (2, 1, NA)."]


@pytest.mark.parametrize(
    ("cells", "columns"),
    [
        ([f"word {place}" for place in range(49)], 21),  # too few rows to tell
        ([f"word {place % 20}" for place in range(60)], 20),  # no more than 20 levels
        ([f"word {place % 30}" for place in range(60)], 21),  # half of the values distinct, not more
    ],
)
def test_words_that_come_again_are_categories(cells, columns):
    assert len(FeatureRecipe.learn(pd.DataFrame({"a": cells})).names) == columns


def test_categories_match_whatever_type_they_arrive_in():
    recipe = FeatureRecipe.learn(pd.DataFrame({"code": ["01", "2.0", "x", "true"]}))
    expected = recipe.apply(pd.DataFrame({"code": ["01", "2.0"]}))
    assert expected.sum() == 2
    for cells in ([1, 2], [1.0, 2.0], pd.Categorical([1, 2]), pd.array([1, 2], dtype="Int64"), ["1", "2"]):
        assert np.array_equal(recipe.apply(pd.DataFrame({"code": cells})), expected)
    assert recipe.apply(pd.DataFrame({"code": [True]})).sum() == 1


def test_columns_may_be_numbered():
    recipe = FeatureRecipe.learn(pd.DataFrame(np.array([[1.0, 2.0], [3.0, 5.0]])))
    assert recipe.names == ("0", "1")
    assert recipe.apply(pd.DataFrame(np.array([[7.0, 8.0]]))).tolist() == [[7, 8]]


def test_a_dictionary_of_arrays_with_columns_is_frame_enough():
    class Plain(dict):
        @property
        def columns(self):
            return list(self)

        def __len__(self):
            return 2

    recipe = FeatureRecipe.learn(Plain(age=np.array([1.0, 2.0]), site=np.array(["a", "b"])))
    assert recipe.apply(Plain(site=["b", None], age=[3, None])).tolist() == [[3, 0, 1], [1.5, 0, 0]]


def test_a_file_in_pieces_gives_the_matrix_of_the_whole(tmp_path):
    rng = np.random.default_rng(0)
    n_rows = 200
    # Sorted, so that pieces differ in type: blanks before numbers, digits before words, True before other words.
    frame = pd.DataFrame(
        {
            "age": [""] * 60 + [str(value) for value in rng.normal(size=n_rows - 60).tolist()],
            "code": ["01", "02"] * 60 + ["x", "3.0"] * 40,
            "flag": ["True", "False"] * 60 + ["maybe", ""] * 40,
            "count": [str(place % 7) for place in range(n_rows)],
        }
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.replace("", None).to_json(tmp_path / "t.jsonl", orient="records", lines=True)
    frame.replace("", None).to_parquet(tmp_path / "t.parquet")
    recipe = FeatureRecipe.learn(read_frame(tmp_path / "t.csv"))
    whole = recipe.apply(read_frame(tmp_path / "t.csv"))
    assert recipe.inputs == ("age", "code", "flag", "count")
    assert recipe.categorical == ("code", "flag")
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        pieces = [recipe.apply(piece) for piece in read_chunks(tmp_path / name, rows=17)]
        assert np.array_equal(np.concatenate(pieces), whole)


def test_a_cell_that_is_no_number_is_named_by_the_row_of_the_file(tmp_path):
    recipe = FeatureRecipe.learn(TRAIN[["age", "dose"]])
    path = tmp_path / "new.csv"
    path.write_text("age,dose\n1,2\n2,3\n\n3,NA\n")
    words = r"new\.csv: row 5, column dose: 'NA' is not a number; leave the cell blank if it is unknown\."
    with pytest.raises(TableError, match=words):
        recipe.apply(read_frame(path), source="new.csv", first_row=first_row(path))
    *_, last = read_chunks(path, rows=2)
    with pytest.raises(TableError, match=words):
        recipe.apply(last, source="new.csv", first_row=first_row(path))


def test_what_cannot_be_used_is_said():
    recipe = FeatureRecipe.learn(TRAIN)
    with pytest.raises(TableError, match=r"^table: row 1, column dose: 'inf' is not a finite number"):
        recipe.apply(TRAIN.assign(dose=[1, np.inf, 2, 3]))
    with pytest.raises(TableError, match=r"^cases\.csv: row 5, column a: '-inf' is not a finite number"):
        FeatureRecipe.learn(pd.DataFrame({"a": [0.0, 1.0, 2.0, -np.inf]}), source="cases.csv", first_row=2)
    with pytest.raises(
        TableError, match=r"^new\.csv: no column 'age', 'dose', which training had; did you mean 'Age'\?"
    ):
        recipe.apply(TRAIN.drop(columns=["age", "dose"]).assign(Age=1), source="new.csv")
    with pytest.raises(TableError, match=r"^table: no column 'age', which training had\.$"):
        recipe.apply(TRAIN.drop(columns="age"))
    with pytest.raises(TableError, match=r"table: no column can be used as a feature \(unit: the same in every row\)"):
        FeatureRecipe.learn(TRAIN[["unit"]])
    with pytest.raises(TableError, match=r"table: has no rows to learn from"):
        FeatureRecipe.learn(TRAIN.iloc[:0])
    with pytest.raises(TableError, match=r"table: two columns are called 'a'; rename one of them"):
        FeatureRecipe.learn(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(InputError, match=r"max_categories must be at least 1, got 0"):
        FeatureRecipe.learn(TRAIN, max_categories=0)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"columns": [{"kind": "number", "name": "a"}], "dropped": {}},
        {"columns": [{"kind": "image", "name": "a"}], "dropped": {}},
        {"columns": 3, "dropped": {}},
    ],
)
def test_a_damaged_recipe_is_refused(values):
    with pytest.raises(ModelFolderError, match=r"model\.json: .*columns.* fit again or restore it"):
        unpack(FeatureRecipe, Packed(values))


def test_a_part_of_a_table_names_the_rows_of_the_whole():
    recipe = FeatureRecipe.learn(TRAIN[["dose"]])
    part = pd.DataFrame({"dose": [1, 2, "x", 3]}).iloc[[3, 2]]
    with pytest.raises(TableError, match=r"row 4, column dose: 'x' is not a number"):
        recipe.apply(part, first_row=2)
    named = part.set_axis(["p", "q"], axis=0)
    with pytest.raises(TableError, match=r"row 3, column dose: 'x' is not a number"):
        recipe.apply(named, first_row=2)


def test_learning_without_the_texts_raises_the_same_and_reads_none(monkeypatch):
    monkeypatch.setattr("defero.data.recipes.recipe.learn_words", None)
    frame = pd.DataFrame({"age": [30, 40], "letter": ["dear", "sir"]})
    FeatureRecipe.learn(frame, text=["letter"], reads_texts=False)
    FeatureRecipe.learn(frame[["letter"]], text=["letter"], reads_texts=False)
    FeatureRecipe.learn(frame.assign(age=1)[["age", "letter"]], reads_texts=False)
    for bad, message in [
        (frame.assign(age=[1, np.inf]), "a.csv: row 3, column age: 'inf' is not a finite number"),
        (frame.assign(letter=[1, 2]), "a.csv: column letter is named as text and holds numbers"),
        (frame.rename(columns={"letter": "text"}), "a.csv: no column 'letter' for the text"),
    ]:
        with pytest.raises(TableError, match=message):
            FeatureRecipe.learn(bad, text="letter", reads_texts=False, source="a.csv", first_row=2)
    with pytest.raises(TableError, match=r"no column can be used as a feature \(age: the same in every row\)"):
        FeatureRecipe.learn(pd.DataFrame({"age": [1, 1]}), reads_texts=False)


def test_filled_cells_of_many_columns_are_one_sentence_after_the_others():
    train = pd.DataFrame({f"x{i}": [1.0, 2.0, 3.0] for i in range(9)} | {"site": ["a", "b", "a"]})
    recipe = FeatureRecipe.learn(train)
    new = train.assign(site="c", **{f"x{i}": [None, 1.0, 2.0] for i in range(9)})
    first, last = remark_sentences(recipe.remarks(new))
    assert all(fact in first for fact in ("site", "never seen", "3 rows"))
    assert all(fact in last for fact in ("blank", "median", "x0 in 1 row", "9 in all"))
