"""Vectors of texts: counted company of words, its main directions, and new words read by their pieces."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError
from defero.data.recipes import text_vectors
from defero.data.recipes.recipe import FeatureRecipe
from defero.data.recipes.text_column import TextColumn, learn_words, words_of
from defero.data.recipes.text_vectors import (
    SMOOTHING,
    VectorColumn,
    count_pairs,
    learn_vectors,
    packed_vectors,
    pieces_of,
    positive_information,
    vectors_for_texts,
)

WORDS = ["sea", "seas", "seaside", "oil", "oily", "öl", "海", "a", "2"]
SENTENCES = st.lists(st.sampled_from([*WORDS, "Sea", "!", "undersea", "new"]), max_size=9).map(" ".join)
CELLS = st.lists(st.one_of(st.none(), SENTENCES.map(lambda text: text or None)), min_size=1, max_size=12)
TOPICS = {
    "sea": ["sailing", "sailed", "sails", "wave", "shore", "tide", "boat", "harbour"],
    "home": ["cooking", "cooked", "cooks", "kitchen", "table", "stove", "bread", "oven"],
}


def column_of(vectors, words=tuple(WORDS), **options):
    return VectorColumn("note", words, vectors.shape[1], packed_vectors(vectors), **options)


def some_vectors(seed=0, width=3):
    return np.random.default_rng(seed).normal(size=(len(WORDS), width)).round(1)


def stories(n=400, *, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(TOPICS), size=n)
    return topics, [
        " ".join([*rng.choice(TOPICS[topic], size=4), *rng.choice(["the", "and", "it"], 2)]) for topic in topics
    ]


def test_texts_by_hand():
    column = column_of(np.array([[1.0, 0.0], [0.0, 0.5]]), ("sea", "oil"), missing=True)
    assert column.encode(["Sea, sea, oil!", "xyz", None, ""]).tolist() == [
        [2 / 3, 0.5 / 3, 0],
        [0, 0, 0],
        [0, 0, 1],
        [0, 0, 0],
    ]
    assert column.outputs == ("note=vector0", "note=vector1", "note=missing")
    assert re.match(r"note: a vector of 2 numbers .*2 words .*blanks are marked", column.sentence())
    assert column.encode([]).shape == (0, 3)


def test_a_new_word_is_the_mean_of_its_pieces_by_hand():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    column = column_of(vectors, ("seas", "seat", "oil"))
    # <se, sea, <sea are pieces of both; all others of one word alone, or of none.
    assert column.word_vector("sea").tolist() == [0.5, 0.5]
    assert column.word_vector("oily").tolist() == [0.0, 0.0]
    assert column.word_vector("oil").tolist() == [-1.0, 0.0]


def slow_word(column, word):
    if word in column.words:
        return column.vectors[column.words.index(word)]
    found = []
    for piece in pieces_of(word):
        held = [vector for one, vector in zip(column.words, column.vectors, strict=True) if piece in pieces_of(one)]
        if len(held) > 1:
            found.append(np.mean(held, axis=0))
    return np.mean(found, axis=0) if found else np.zeros(column.width)


@given(CELLS, st.integers(0, 5))
def test_encoding_against_a_slow_twin(cells, seed):
    column = column_of(some_vectors(seed))
    for cell, row in zip(cells, column.encode(cells), strict=True):
        heard = [vector for vector in (slow_word(column, word) for word in words_of(cell)) if vector.any()]
        expected = np.mean(heard, axis=0) if heard else np.zeros(column.width)
        assert row == pytest.approx(expected, abs=1e-12)
        assert np.array_equal(column.encode([cell])[0], row)  # whoever stands beside it
    said = [cell for cell in cells if cell is not None]
    assert column.unseen(cells) == sum(
        not any(slow_word(column, word).any() for word in words_of(cell)) for cell in said
    )


def test_blocks_of_texts_change_nothing(monkeypatch):
    column, (_, cells) = column_of(some_vectors()), stories(50)
    cells = [f"{cell} sea undersea oil" if row % 3 else None for row, cell in enumerate(cells)]
    whole = column.encode(cells)
    monkeypatch.setattr(text_vectors, "_TEXTS_AT_ONCE", 7)
    assert np.array_equal(column.encode(cells), whole)


@given(CELLS, st.integers(1, 4))
def test_pairs_against_a_slow_twin(cells, window):
    column = TextColumn("note", tuple(WORDS), (1.0,) * len(WORDS))
    expected = np.zeros((len(WORDS), len(WORDS)))
    for cell in cells:
        said = words_of(cell)
        for here, word in enumerate(said):
            for there, other in enumerate(said):
                if word in WORDS and other in WORDS and abs(here - there) <= window:
                    near = 1.0 if here == there else (window + 1 - abs(here - there)) / window
                    expected[WORDS.index(word), WORDS.index(other)] += near
    found = count_pairs(column, cells, window=window).toarray()
    assert found == pytest.approx(expected, abs=1e-12)


def information_of(counts):
    """Write the formula down as it stands."""
    p_word, p_pair = counts.sum(axis=1) / counts.sum(), counts / counts.sum()
    p_context = counts.sum(axis=0) ** SMOOTHING / (counts.sum(axis=0) ** SMOOTHING).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.nan_to_num(np.log(p_pair / np.outer(p_word, p_context)), neginf=0.0), 0.0)


@given(CELLS)
def test_information_against_the_formula(cells):
    column = learn_words("note", cells)
    assume(not isinstance(column, str))
    counts = count_pairs(column, cells)
    assert positive_information(counts).toarray() == pytest.approx(information_of(counts.toarray()), abs=1e-12)


@pytest.mark.parametrize("width", [4, 12, 40])  # the first by Lanczos, the others whole; there are 19 words
def test_vectors_are_the_main_directions(width):
    _, cells = stories()
    column = learn_words("note", cells)
    information = information_of(count_pairs(column, cells).toarray())
    squares, directions = np.linalg.eigh(information @ information.T)  # P P' = U S^2 U'
    rank = min(width, len(column.words))
    kept = directions[:, -rank:] * np.maximum(squares[-rank:], 0.0) ** 0.25
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    found = learn_vectors(column, cells, width=width)
    assert found.vectors.shape == (len(column.words), width)
    assert found.vectors @ found.vectors.T == pytest.approx(kept @ kept.T, abs=3e-3)  # they are kept in 16 bits
    assert not found.vectors[:, rank:].any()


def test_the_same_texts_give_the_same_vectors_in_any_order():
    _, cells = stories()
    first = learn_vectors(learn_words("note", cells), cells, width=6)
    assert learn_vectors(learn_words("note", cells), cells, width=6) == first
    turned = learn_vectors(learn_words("note", cells[::-1]), cells[::-1], width=6)
    assert turned.vectors == pytest.approx(first.vectors, abs=2e-3)


def test_words_of_one_topic_are_close_and_so_is_a_new_one_of_their_kind():
    topics, cells = stories()
    column = learn_vectors(learn_words("note", cells), cells, width=10)
    sea, home = (np.mean([column.word_vector(word) for word in words], axis=0) for words in TOPICS.values())
    for topic, new in (("sea", "sailor"), ("home", "cookery")):
        assert new not in column.words
        near, far = (sea, home) if topic == "sea" else (home, sea)
        for word in [*TOPICS[topic], new]:
            assert column.word_vector(word) @ near > column.word_vector(word) @ far
    closer = column.encode(cells) @ (sea - home) > 0
    assert ((topics == "sea") == closer).mean() == 1.0


@pytest.mark.parametrize("cells", [["yes", "yes", "no", "no"], ["a a", "a"], ["x y", None, "x y"]])
def test_few_words_have_vectors_too(cells):
    column = learn_vectors(learn_words("note", cells), cells)
    lengths = np.linalg.norm(column.vectors, axis=1)
    assert column.vectors.shape[1] == 100
    assert np.all(np.isclose(lengths, 1, atol=2e-3) | (lengths == 0))
    if "no" in cells:  # words that always stand alone are told apart
        assert column.word_vector("yes") @ column.word_vector("no") == pytest.approx(0, abs=1e-3)
        assert lengths == pytest.approx(np.ones(2), abs=2e-3)


def recipe_of_stories():
    _, cells = stories(60)
    frame = pd.DataFrame({"note": [None, *cells[1:]], "age": np.arange(60.0)})
    return frame, vectors_for_texts(FeatureRecipe.learn(frame, text="note"), frame)


def test_in_a_recipe():
    _, recipe = recipe_of_stories()
    assert recipe.text == ("note",)
    assert recipe.names[99:] == ("note=vector99", "note=missing", "age")
    new = pd.DataFrame({"age": [1.0, 2.0, 3.0], "note": ["tide", None, "xyz"]})
    matrix = recipe.apply(new)
    assert matrix[:, 100:].tolist() == [[0, 1], [1, 2], [0, 3]]
    assert np.linalg.norm(matrix[:, :100], axis=1) == pytest.approx([1, 0, 0], abs=2e-3)
    assert recipe.remarks(new) == {
        "note: none of its words was seen in training": 1,
        "note: blank, read as no words": 1,
    }


def test_saved_and_read_again_bit_for_bit_without_pandas(tmp_path):
    frame, recipe = recipe_of_stories()
    stored = json.dumps(pack(recipe).manifest)
    again = unpack(FeatureRecipe, Packed(json.loads(stored)))
    assert again == recipe
    assert np.array_equal(again.apply(frame), recipe.apply(frame))
    (tmp_path / "recipe.json").write_text(stored)
    code = (
        "import sys, json; sys.modules.update(dict.fromkeys(['pandas', 'sklearn', 'torch']))\n"
        "from defero.core.codec import Packed, unpack\n"
        "from defero.data.recipes.recipe import FeatureRecipe\n"
        f"recipe = unpack(FeatureRecipe, Packed(json.load(open({str(tmp_path / 'recipe.json')!r}))))\n"
        "print(recipe.columns[0].encode(['tide boat'])[0, 0])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) == recipe.columns[0].encode(["tide boat"])[0, 0]


@pytest.mark.parametrize("coordinates", ["AAAA", "not base64!"])
def test_damaged_vectors_are_told(coordinates):
    _, recipe = recipe_of_stories()
    values = pack(recipe).manifest
    values["columns"][0]["coordinates"] = coordinates
    with pytest.raises(ModelFolderError, match=r"columns\[0\] is damaged"):
        unpack(FeatureRecipe, Packed(values))
