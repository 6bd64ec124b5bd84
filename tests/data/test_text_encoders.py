"""Encoders of texts: found by name, checked, and each text encoded once."""

import copy
import pickle
import sys
import types

import numpy as np
import pytest

from defero.core.errors import InputError
from defero.data.recipes import text_encoder
from defero.data.recipes.text_encoder import TextEncoder, find_encoder


class Counting:
    """An encoder that counts the texts it is given: length, and number of words."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return np.array([[len(text), len(text.split())] for text in texts], dtype=float)


def test_each_text_is_encoded_once():
    function = Counting()
    encoder = TextEncoder("counting", function)
    first = encoder.encode(["calm sea", "oil", "calm sea", None, "  "])
    again = encoder.encode(["oil", "new one", "calm sea"])
    assert function.texts == ["calm sea", "oil", "new one"]
    assert first.tolist() == [[8, 2], [3, 1], [8, 2], [0, 0], [0, 0]]
    assert again.tolist() == [[3, 1], [7, 2], [8, 2]]
    assert again.dtype == np.float32


def test_what_is_remembered_is_bounded_and_loses_its_oldest(monkeypatch):
    monkeypatch.setattr(text_encoder, "MOST_REMEMBERED", 3 * 2 * 4)
    function = Counting()
    encoder = TextEncoder("counting", function)
    assert encoder.encode(["a", "bb", "ccc", "dddd"]).tolist() == [[1, 1], [2, 1], [3, 1], [4, 1]]
    encoder.encode(["dddd", "bb"])
    assert len(function.texts) == 4
    assert encoder.encode(["a"]).tolist() == [[1, 1]]
    assert len(function.texts) == 5


def test_unicode_and_lone_surrogates():
    function = Counting()
    encoder = TextEncoder("counting", function)
    texts = ["Öl für 2 €", "海は静か", "👩‍🚀", "bad \ud800 half"]
    assert encoder.encode(texts).shape == (4, 2)
    assert function.texts[3] == "bad ? half"
    assert (encoder.encode(texts) == encoder.encode(list(texts))).all()
    assert len(function.texts) == 4


def test_no_texts_and_only_blanks():
    encoder = find_encoder(Counting())
    assert encoder.encode([]).shape == (0, 0)
    assert encoder.encode([None, ""]).shape == (2, 0)


@pytest.mark.parametrize(
    ("returned", "facts"),
    [
        (lambda texts: np.zeros(len(texts)), ["shape (2, d)", "(2,)"]),
        (lambda texts: np.zeros((len(texts) + 1, 3)), ["(3, 3)"]),
        (lambda texts: np.zeros((len(texts), 0)), ["(2, 0)"]),
        (lambda texts: [[1.0], [1.0, 2.0]], ["one vector"]),
        (lambda texts: [["a"], ["b"]], ["numbers"]),
        (lambda texts: [[1.0], [np.nan]], ["NaN", "'two'"]),
        (lambda texts: [[np.inf], [1.0]], ["NaN or infinity", "'one'"]),
        (lambda texts: None, ["one vector"]),
    ],
)
def test_what_an_encoder_must_return(returned, facts):
    with pytest.raises(InputError) as error:
        TextEncoder("mine", returned).encode(["one", "two"])
    assert error.value.argument == "text_encoder"
    assert all(fact in str(error.value) for fact in ["'mine'", *facts]), str(error.value)


def test_vectors_of_different_widths_are_refused():
    widths = iter([2, 3])
    encoder = TextEncoder("mine", lambda texts: np.zeros((len(texts), next(widths))))
    encoder.encode(["one"])
    with pytest.raises(InputError, match="2 and 3 numbers"):
        encoder.encode(["one", "two"])


def test_an_error_of_the_function_is_the_users_to_see():
    def broken(texts):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        find_encoder(broken).encode(["sea"])


def test_copies_share_the_model():
    encoder = find_encoder(Counting())
    assert copy.deepcopy(encoder) is encoder


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("tfdif", ["'tfdif'", "did you mean 'tfidf'"]),
        ("TFIDF", ["did you mean 'tfidf'"]),
        ("./no/such", ["no such folder"]),
        ("/no/such", ["no such folder"]),
        ("", ["owner/name"]),
        (3, ["int"]),
    ],
)
def test_bad_names(name, facts):
    with pytest.raises(InputError) as error:
        find_encoder(name)
    assert error.value.argument == "text_encoder"
    assert all(fact in str(error.value) for fact in facts), str(error.value)


def test_a_library_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(text_encoder, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install"):
        find_encoder("all-MiniLM-L6-v2")


@pytest.fixture(autouse=True)
def models():
    """Forget which models were loaded."""
    text_encoder._model.cache_clear()


@pytest.fixture
def library(monkeypatch):
    """Return a stand-in for sentence-transformers that notes which models are loaded, and how."""
    calls = []

    class SentenceTransformer:
        def __init__(self, name, *, trust_remote_code):
            calls.append((name, trust_remote_code))
            if name.startswith("nobody/"):
                raise OSError(f"{name} is not a model\nidentifier")

        def encode(self, texts, **options):
            return np.array([[len(text), 1.0] for text in texts])

    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(text_encoder, "find_spec", lambda name: module if name == "sentence_transformers" else None)
    return calls


def test_a_model_is_loaded_at_its_first_new_text_and_runs_no_code_of_its_own(library):
    encoder = find_encoder("owner/small")
    assert (encoder.name, library) == ("owner/small", [])
    assert encoder.encode(["sea", "oil"]).tolist() == [[3, 1], [3, 1]]
    assert library == [("owner/small", False)]
    find_encoder("owner/small").encode(["oil"])  # a model is loaded once
    assert len(library) == 1


def test_a_model_that_does_not_exist_gives_one_sentence(library):
    with pytest.raises(InputError, match="'nobody/small' cannot be loaded: OSError: nobody/small is not a model id"):
        find_encoder("nobody/small").encode(["sea"])


def test_a_folder_is_called_by_its_name_not_by_its_place(library, tmp_path):
    folder = tmp_path / "one" / "small"
    folder.mkdir(parents=True)
    encoder = find_encoder(folder)
    assert encoder.name == "small"
    assert encoder.encode(["sea"]).tolist() == [[3, 1]]
    assert library == [(str(folder), False)]


def test_an_encoder_goes_to_another_process(library):
    encoder = find_encoder("owner/small")
    encoder.encode(["sea"])
    assert pickle.loads(pickle.dumps(encoder)).encode(["sea"]).tolist() == [[3, 1]]


def test_fastembed_is_used_where_it_is_installed(monkeypatch):
    class TextEmbedding:
        def __init__(self, *, model_name):
            self.name = model_name

        @staticmethod
        def list_supported_models():
            return [{"model": "sentence-transformers/all-MiniLM-L6-v2"}]

        def embed(self, texts):
            return (np.array([len(self.name), len(text)]) for text in texts)

    module = types.ModuleType("fastembed")
    module.TextEmbedding = TextEmbedding
    monkeypatch.setitem(sys.modules, "fastembed", module)
    monkeypatch.setattr(text_encoder, "find_spec", lambda name: module if name == "fastembed" else None)
    assert find_encoder("all-MiniLM-L6-v2").encode(["sea"]).tolist() == [[38, 3]]
