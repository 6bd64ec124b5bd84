"""Columns of text: words weighted by TF-IDF, the same as scikit-learn's, learned from the training rows alone."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

from defero.core.codec import pack, unpack
from defero.core.errors import TableError
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import TextColumn, learn_words, words_of

SENTENCES = st.lists(st.sampled_from(["sea", "Sea", "öl", "Ωmega", "бор", "2", "a_b", "don't", "!", "海"]), max_size=8)
CELLS = st.lists(st.one_of(st.none(), SENTENCES.map(" ".join).map(lambda text: text or None)), min_size=1, max_size=12)


def learned(cells, **options):
    column = learn_words("note", cells, **options)
    assume(not isinstance(column, str))
    return column


@given(CELLS, CELLS)
def test_the_weights_are_those_of_scikit_learn(train, new):
    column = learned(train)
    theirs = TfidfVectorizer(token_pattern=r"(?u)\w+", min_df=2, sublinear_tf=True)
    theirs.fit([cell or "" for cell in train])
    assert list(column.words) == list(theirs.get_feature_names_out())
    assert np.array(column.idf) == pytest.approx(theirs.idf_, abs=1e-14)
    for cells in (train, new):
        expected = theirs.transform([cell or "" for cell in cells]).toarray()
        assert np.abs(column.encode(cells) - expected).max() <= 1e-14


@given(CELLS, CELLS)
def test_a_text_s_row_depends_on_that_text_alone_and_has_length_one_or_zero(train, new):
    column = learned(train)
    matrix = column.encode(new)
    lengths = np.linalg.norm(matrix, axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    for row, cell in enumerate(new):
        assert np.array_equal(column.encode([cell])[0], matrix[row])
        assert (lengths[row] == 0) == (not set(words_of(cell)) & set(column.words))
    assert column.unseen(new) == sum(
        length == 0 and cell is not None for length, cell in zip(lengths, new, strict=True)
    )


@given(CELLS, CELLS, st.integers(1, 3))
def test_scores_are_the_weighted_words_times_their_slopes(train, new, n_scores):
    column = learned(train)
    slopes = np.random.default_rng(0).normal(size=(len(column.words), n_scores))
    bias = np.arange(n_scores) + 0.5
    read = TextColumn("note", column.words, column.idf, tuple(map(tuple, slopes.tolist())), tuple(bias.tolist()))
    assert read.outputs == tuple(f"note=score{k}" for k in range(n_scores))
    assert read.encode(new) == pytest.approx(column.encode(new) @ slopes + bias, abs=1e-12)


def test_a_text_by_hand():
    column = learn_words("note", ["Sea sea bad", "the sea.", "BAD oil", None])
    assert column.words == ("bad", "sea")  # oil and the stand in one row
    idf = 1 + math.log(5 / 3)
    assert column.idf == (idf, idf)
    twice = 1 + math.log(2)
    row = column.encode(["SEA, oil, bad: sea!"])[0]
    assert row == pytest.approx(np.array([1, twice]) / math.hypot(1, twice), abs=1e-15)
    assert column.outputs == ("note=bad", "note=sea")
    assert column.sentence() == "note: 2 words of text, weighted by TF-IDF."


def test_blanks_and_new_words_are_zeros():
    frame = pd.DataFrame({"note": ["good sea", "bad sea", "bad oil", "oil"]})
    recipe = FeatureRecipe.learn(frame, text="note")
    new = pd.DataFrame({"note": [None, np.nan, "  ", "ships!", "?!", "SEA"]})
    assert recipe.apply(new).tolist() == [[0, 0, 0]] * 5 + [[0, 0, 1]]
    assert recipe.remarks(new) == {
        "note: none of its words was seen in training": 2,
        "note: blank, read as no words": 3,
    }
    assert np.array_equal(recipe.apply(pd.DataFrame({"note": pd.array([pd.NA, "sea"])})), [[0, 0, 0], [0, 0, 1]])
    assert recipe.apply(pd.DataFrame({"note": [None]})).shape == (1, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ÉTÉ naïve café", ["été", "naïve", "café"]),
        ("Привет, мир", ["привет", "мир"]),
        ("東京 は 2024年", ["東京", "は", "2024年"]),
        ("x\u00a0y\ttab\nline", ["x", "y", "tab", "line"]),
        ("🙂 ok 🙂", ["ok"]),
        ("\ud800 lone", ["lone"]),
        ("don't re-read a_b", ["don", "t", "re", "read", "a_b"]),
    ],
)
def test_words_of_any_script(text, words):
    assert words_of(text) == words


def test_the_commonest_words_are_kept_and_ties_go_by_the_alphabet():
    cells = ["c b a", "c b a", "c d d d", "d z"]
    assert learn_words("note", cells, max_words=3).words == ("a", "b", "c")
    assert learn_words("note", cells, max_words=1).words == ("c",)
    assert learn_words("note", cells).words == ("a", "b", "c", "d")


@given(CELLS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(cells, random):
    shuffled = list(cells)
    random.shuffle(shuffled)
    assert learn_words("note", shuffled) == learn_words("note", cells)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ([None, None], "blank in every row"),
        (["sea", "sea"], "the same in every row"),
        (["sea", "oil"], "no word is in 2 rows"),
        (["!", "?"], "no word is in 2 rows"),
    ],
)
def test_texts_of_no_use_say_why(cells, reason):
    recipe = FeatureRecipe.learn(pd.DataFrame({"note": cells, "age": [1, 2]}), text=["note"])
    assert recipe.dropped == {"note": reason}
    assert recipe.text == ()


@given(CELLS)
def test_a_text_survives_json_exactly(cells):
    column = learned(cells)
    slopes = tuple((0.1 * place, 1 / 3) for place in range(len(column.words)))
    for kept in (column, TextColumn("note", column.words, column.idf, slopes, (1e-300, -0.1))):
        recipe = FeatureRecipe((kept,), {})
        copy = unpack(FeatureRecipe, pack(recipe))
        assert copy == recipe
        assert np.array_equal(copy.apply(pd.DataFrame({"note": cells})), recipe.apply(pd.DataFrame({"note": cells})))


def test_a_text_beside_other_columns():
    notes = [f"case {place} is {'good' if place % 2 else 'bad'}" for place in range(60)]
    frame = pd.DataFrame({"age": range(60), "note": notes, "site": ["a", "b"] * 30, "free": notes[::-1]})
    recipe = FeatureRecipe.learn(frame, text=["note"])
    assert recipe.names == ("age", "note=bad", "note=case", "note=good", "note=is", "site=a", "site=b")
    assert recipe.text == ("note",)
    assert recipe.categorical == ("note", "site")  # what a file's reader must leave as text
    assert recipe.describe()[1] == "note: 4 words of text, weighted by TF-IDF."
    assert recipe.describe()[3] == "free: not used, free text; name it as a text to use it."
    columns = ["site", "free", "note", "age"]
    assert np.array_equal(recipe.apply(frame[columns]), recipe.apply(frame))


def test_what_is_no_text_is_said():
    frame = pd.DataFrame(
        {"note": ["a", "b"], "age": [1, 2], "day": pd.to_datetime(["2020-01-01"] * 2), "list": [[1], [2]]}
    )
    with pytest.raises(TableError, match=r"^cases\.csv: no column 'notes' for the text; did you mean 'note'\? The"):
        FeatureRecipe.learn(frame, text=["notes"], source="cases.csv")
    for name, what in {"age": "holds numbers", "day": "holds dates", "list": "its cells are neither"}.items():
        with pytest.raises(TableError, match=rf"^table: column {name} is named as text and {what}.*; remove it"):
            FeatureRecipe.learn(frame, text=name)
