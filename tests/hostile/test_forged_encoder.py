"""A column that an encoder reads, forged and sealed again: it loads nothing, and ends in one sentence."""

import json

import numpy as np
import pandas as pd
import pytest
from test_ill_typed_manifests import WRONG, put, seal

from defero import DeferralClassifier, Team
from defero.core.errors import InputError, ModelFolderError
from defero.data.model_folder import MANIFEST

COLUMN = ("recipe", "columns", 0)


def two_numbers(texts):
    return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=float)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder") / "model"
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 60)
    frame = pd.DataFrame({"note": [f"{'ab'[y] * 3} row {k}" for k, y in enumerate(labels)]})
    team = DeferralClassifier("linear", text="note", text_encoder=two_numbers, random_state=0)
    team.fit(frame, labels, experts=labels[:, None]).save(folder)
    return folder, json.loads((folder / MANIFEST).read_text())


def load(folder, manifest):
    seal(folder, manifest)
    return Team.load(folder, text_encoder=two_numbers).scores(pd.DataFrame({"note": ["a", None]}))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("width", 10**9),
        ("width", 3),
        ("scale", 0),
        ("slopes", [[1.0]]),
        ("slopes", [[1.0, 2.0], [1.0, 2.0]]),
        ("bias", []),
        ("source", "os.system"),
        ("encoder", 7),
        ("probe", "x"),
    ],
)
def test_a_forged_column_is_refused(saved, key, value):
    folder, manifest = saved
    assert np.isfinite(load(folder, manifest).class_proba).all()
    with pytest.raises(ModelFolderError):
        load(folder, put(manifest, (*COLUMN, key), value))


def test_each_ill_typed_value_ends_in_one_sentence(saved):
    folder, manifest = saved
    for key in manifest["recipe"]["columns"][0]:
        for value in WRONG:
            try:
                assert np.isfinite(load(folder, put(manifest, (*COLUMN, key), value)).class_proba).all()
            except InputError as error:
                assert "\n" not in str(error)  # noqa: PT017 - values that are taken are fine too


@pytest.mark.parametrize("name", ["owner/name", "all-MiniLM-L6-v2", ".", "/", "../model", "tfidf", "os.system"])
def test_a_name_in_a_folder_loads_nothing(saved, monkeypatch, name):
    folder, manifest = saved
    monkeypatch.setattr("defero.data.recipes.text_encoder._named", lambda given: pytest.fail(f"{given} was loaded"))
    seal(folder, put(manifest, (*COLUMN, "encoder"), name))
    router = Team.load(folder)
    with pytest.raises(InputError) as error:
        router.scores(pd.DataFrame({"note": ["a"]}))
    assert error.value.argument == "text_encoder"
