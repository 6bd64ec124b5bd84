"""Encoders of texts: found by name, checked, and their vectors cached."""

import copy
import multiprocessing
import pickle
import sqlite3
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from defero.core.errors import InputError
from defero.data import TEXT_ENCODERS, TextEncoder, find_encoder
from defero.data.encoders import libraries
from defero.data.encoders.cache import VARIABLE, EmbeddingCache, cache_file, text_key
from defero.data.encoders.find import installed_encoder


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


class Counting:
    """An encoder that counts the texts it is given: length, and number of words."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return np.array([[len(text), len(text.split())] for text in texts], dtype=float)


def stored(function, name="counting", **options):
    return TextEncoder(name, function, on_disk=True, **options)


@pytest.mark.parametrize("on_disk", [False, True])
def test_each_text_is_encoded_once(on_disk):
    function = Counting()
    encoder = TextEncoder("counting", function, on_disk=on_disk)
    first = encoder.encode(["calm sea", "oil", "calm sea", None, "  "])
    again = encoder.encode(["oil", "new one", "calm sea"])
    assert function.texts == ["calm sea", "oil", "new one"]
    assert first.tolist() == [[8, 2], [3, 1], [8, 2], [0, 0], [0, 0]]
    assert again.tolist() == [[3, 1], [7, 2], [8, 2]]
    assert again.dtype == np.float32


def test_the_next_process_finds_what_is_on_disk_and_another_version_does_not():
    first, second, third = Counting(), Counting(), Counting()
    stored(first).encode(["calm sea"])
    stored(second).encode(["calm sea"])
    stored(third, version="2").encode(["calm sea"])
    assert (first.texts, second.texts, third.texts) == (["calm sea"], [], ["calm sea"])


def test_nothing_is_written_for_a_function_or_where_the_cache_is_off(cache_folder, monkeypatch):
    find_encoder(Counting()).encode(["sea"])
    assert not cache_folder.exists()
    monkeypatch.setenv(VARIABLE, "off")
    function = Counting()
    encoder = stored(function)
    encoder.encode(["sea"])
    encoder.encode(["sea"])
    assert cache_file() is None
    assert function.texts == ["sea"]


def test_unicode_and_lone_surrogates():
    function = Counting()
    encoder = stored(function)
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
        ("all-MiniLM-L6-v3", ["did you mean 'all-MiniLM-L6-v2'"]),
        ("zzz", ["'zzz'", "tfidf", "owner/name", "folder"]),
        ("./no/such", ["no such folder"]),
        ("/no/such", ["no such folder"]),
        ("a/b/c", ["'a/b/c'"]),
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
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install"):
        find_encoder("all-MiniLM-L6-v2")


def test_a_folder_without_a_model(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "find_spec", lambda name: object())
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"modules\.json"):
        find_encoder(tmp_path / "empty")


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
    monkeypatch.setattr(libraries, "find_spec", lambda name: module if name == "sentence_transformers" else None)
    return calls


def test_a_model_is_loaded_at_its_first_new_text_and_runs_no_code_of_its_own(library):
    encoder = find_encoder("owner/small")
    assert (encoder.name, encoder.kind, library) == ("owner/small", "model", [])
    assert encoder.encode(["sea", "oil"]).tolist() == [[3, 1], [3, 1]]
    assert library == [("owner/small", False)]
    find_encoder("owner/small").encode(["oil"])  # from the cache
    assert len(library) == 1


def test_a_model_that_does_not_exist_gives_one_sentence(library):
    with pytest.raises(InputError, match="'nobody/small' cannot be loaded: OSError: nobody/small is not a model id"):
        find_encoder("nobody/small").encode(["sea"])


def test_a_folder_is_known_by_its_files_not_by_its_place(library, tmp_path):
    folders = [tmp_path / "one" / "small", tmp_path / "two" / "small", tmp_path / "three" / "small"]
    for folder, weights in zip(folders, (b"1", b"1", b"2"), strict=True):
        folder.mkdir(parents=True)
        (folder / "modules.json").write_text("[]")
        (folder / "model.safetensors").write_bytes(weights)
    first, same, other = (find_encoder(folder) for folder in folders)
    assert first.name == "small"
    assert first.version == same.version != other.version
    assert str(tmp_path) not in repr(first.name + first.version)


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
    monkeypatch.setattr(libraries, "find_spec", lambda name: module if name == "fastembed" else None)
    assert find_encoder("all-MiniLM-L6-v2").encode(["sea"]).tolist() == [[38, 3]]
    with pytest.raises(InputError, match="sentence-transformers reads"):
        find_encoder(Path(__file__).parent)


def test_a_saved_name_finds_encoders_of_installed_packages_alone(library, monkeypatch):
    monkeypatch.setattr(TEXT_ENCODERS, "_values", {"ours": lambda: TextEncoder("ours", Counting(), kind="package")})
    monkeypatch.setattr(TEXT_ENCODERS, "_asked_others", True)
    assert installed_encoder("ours").name == find_encoder("ours").name == "ours"
    for name in ("all-MiniLM-L6-v2", "owner/small", ".", "/", "tfidf"):
        assert installed_encoder(name) is None
    assert library == []


def test_a_damaged_file_is_begun_anew(cache_folder):
    cache_folder.mkdir()
    (cache_folder / "embeddings.sqlite").write_bytes(b"no database" * 500)
    function = Counting()
    stored(function).encode(["sea"])
    stored(function).encode(["sea"])
    assert function.texts == ["sea"]


def test_a_damaged_vector_is_computed_again(cache_folder):
    function = Counting()
    stored(function).encode(["sea", "oil"])
    with sqlite3.connect(cache_folder / "embeddings.sqlite") as database:
        key = text_key(stored(function)._identity, "sea")
        database.execute("UPDATE vectors SET data = ? WHERE key = ?", (b"\x00" * 8, key))
    assert stored(function).encode(["sea", "oil"]).tolist() == [[3, 1], [3, 1]]
    assert function.texts == ["sea", "oil", "sea"]


def test_the_file_is_bounded_and_loses_its_oldest(tmp_path):
    cache = EmbeddingCache(tmp_path / "small.sqlite", most_bytes=100_000)
    for number in range(40):
        cache.put({text_key("e", f"{number}-{k}"): np.full(64, number, dtype=np.float32) for k in range(20)})
    assert (tmp_path / "small.sqlite").stat().st_size < 300_000
    assert not cache.get([text_key("e", "0-0")])
    assert cache.get([text_key("e", "39-0")])


def test_only_the_user_may_read_the_file(cache_folder):
    stored(Counting()).encode(["sea"])
    assert (cache_folder / "embeddings.sqlite").stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="cannot be kept"):
        assert stored(Counting()).encode(["sea"]).tolist() == [[3, 1]]


def _write_many(path, start):
    cache = EmbeddingCache(Path(path))
    for number in range(start, start + 40):
        cache.put({text_key("e", str(number)): np.array([number], dtype=np.float32)})


def test_two_processes_write_together(tmp_path):
    path = tmp_path / "both.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(str(path), start)) for start in (0, 40)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    assert len(EmbeddingCache(path).get([text_key("e", str(number)) for number in range(80)])) == 80
