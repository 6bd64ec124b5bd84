"""`--text-encoder`: a model by its name, in fit and in the commands that read texts later; typing errors."""

import sys
import types

import numpy as np
import pandas as pd
import pytest
from clinic import run

from defero.data.recipes import text_encoder

FIT = ["--label", "truth", "--experts", "ann,bob", "--text", "note", "--net", "linear"]
TOPICS = {"sea": ["sail", "wave", "shore", "tide"], "home": ["cook", "stove", "table", "bread"]}


class SentenceTransformer:
    def __init__(self, name, *, trust_remote_code):
        if name != "owner/small":
            raise OSError(f"{name} is not a valid model identifier")

    def encode(self, texts, **options):
        counts = [[sum(word in words for word in text.split()) for words in TOPICS.values()] for text in texts]
        return np.array([[*row, 1.0] for row in counts])


@pytest.fixture
def desk(tmp_path, monkeypatch):
    module = types.ModuleType("sentence_transformers")
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    text_encoder._model.cache_clear()
    monkeypatch.setattr(text_encoder, "find_spec", lambda name: module if name == "sentence_transformers" else None)
    rng = np.random.default_rng(0)
    truth = rng.choice(list(TOPICS), size=300)
    frame = pd.DataFrame({"note": [" ".join(rng.choice(TOPICS[topic], size=3)) for topic in truth], "truth": truth})
    for name, skill in (("ann", 0.9), ("bob", 0.6)):
        frame[name] = np.where(rng.random(300) < skill, truth, np.where(truth == "sea", "home", "sea"))
    frame.to_csv(tmp_path / "cases.csv", index=False)
    frame.iloc[:40].assign(note=lambda cells: cells["note"] + " now").to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def test_fit_and_every_command_after_it(desk):
    given = ["--text-encoder", "owner/small"]
    done = run("fit", desk / "cases.csv", *FIT, *given, "--out", desk / "model")
    assert done.code == 0, done.err
    assert "text encoder owner/small" in done.out
    routed = run("route", desk / "model", desk / "new.csv", *given, "--out", desk / "decisions.csv")
    assert routed.code == 0, routed.err
    assert (pd.read_csv(desk / "decisions.csv")["model_says"] == pd.read_csv(desk / "new.csv")["truth"]).mean() > 0.9
    judged = run("evaluate", desk / "model", desk / "new.csv", *given, "--against", desk / "model")
    assert judged.code == 0, judged.err
    page = run("report", desk / "model", desk / "new.csv", *given, "--out", desk / "report.html")
    assert page.code == 0, page.err
    assert "--text-encoder owner/small" in (desk / "report.html").read_text()
    missing = run("route", desk / "model", desk / "new.csv", "--out", desk / "decisions2.csv")
    assert missing.code == 2
    assert "--text-encoder owner/small" in missing.err
    assert not (desk / "decisions2.csv").exists()


@pytest.mark.parametrize(
    ("name", "fact"),
    [("tfdif", "did you mean 'tfidf'?"), ("owner/smal", "cannot be loaded"), ("./nowhere", "no such folder")],
)
def test_a_typing_error_is_one_sentence(desk, name, fact):
    done = run("fit", desk / "cases.csv", *FIT, "--text-encoder", name, "--out", desk / "model")
    assert done.code == 2
    assert "--text-encoder" in done.err
    assert fact in done.err
    assert "Traceback" not in done.err
    assert not (desk / "model").exists()


def test_an_encoder_without_a_column_of_text(desk):
    options = [one for one in FIT if one not in ("--text", "note")]
    done = run("fit", desk / "cases.csv", *options, "--text-encoder", "owner/small", "--out", desk / "model")
    assert done.code == 2
    assert "--text." in done.err
