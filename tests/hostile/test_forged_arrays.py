"""Arrays of trees and linear models from a stranger: refused, or harmless; no walk leaves them or goes on for ever."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from defero import Team, TwoStageDeferral
from defero.core.codec import Packed, pack, unpack
from defero.core.errors import InputError, ModelFolderError
from defero.data.model_folder import MANIFEST, WEIGHTS
from defero.learn.kept import MOST_LEVELS, LevelTrees
from defero.learn.two_stage import TwoStageScorer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=120) > 0).astype(int) + (X[:, 1] > 1)
ANSWERS = np.where(RNG.random((120, 2)) < 0.8, Y[:, None], (Y[:, None] + 1) % 3)


@pytest.fixture(scope="module")
def packed():
    """What a folder keeps of boosted trees, forests of the experts, and linear models."""
    boosted = GradientBoostingClassifier(n_estimators=2, max_depth=2)
    models = {"trees": (boosted, RandomForestClassifier(2, max_depth=3)), "linear": (LogisticRegression(),) * 2}
    fitted = {name: TwoStageDeferral(*pair).fit(X, Y, experts=ANSWERS) for name, pair in models.items()}
    return {name: pack(team.team_.scorer.base) for name, team in fitted.items()}


def changed(packed, name, change):
    """Return the same with another array: the manifest says its type and shape, as a forger would."""
    arrays = {**packed.arrays, name: change(packed.arrays[name].copy())}
    manifest = json.loads(json.dumps(packed.manifest))
    *path, last = name.replace("[", ".").replace("]", "").split(".")
    inner = manifest
    for step in path:
        inner = inner[int(step)] if step.isdigit() else inner[step]
    inner[last] = f"{arrays[name].dtype} {arrays[name].shape}"
    return Packed(manifest, arrays)


def at(place, value):
    def change(array):
        array[place] = value
        return array

    return change


FORGED = {
    "column far away": ("body.feature", at(0, 10**9), "feature must name one of 3 columns"),
    "next column": ("body.feature", at(0, 3), "feature must name one of 3 columns"),
    "negative column": ("body.feature", at(0, -2), "feature must be numbers that are finite and in their range"),
    "no split": ("body.feature", at(0, -1), "feature must be of 6 trees of at most 1000 levels, one level after"),
    "one split more": ("body.feature", at(-1, 0), "feature must be of 6 trees"),
    "leaves first": ("body.feature", lambda feature: feature[::-1].copy(), "feature must be of 6 trees"),
    "fewer nodes": ("body.feature", lambda feature: feature[:-1], "threshold must have shape"),
    "table of nodes": ("body.feature", lambda feature: feature[:, None], "feature must have shape"),
    "type": ("body.feature", lambda feature: feature.astype(np.float64), "feature must be an array of int64"),
    "fewer thresholds": ("body.threshold", lambda threshold: threshold[:-1], "threshold must have shape"),
    "fewer gaps": ("body.missing_left", lambda missing: missing[:-1], "missing_left must have shape"),
    "leaf": ("body.value", at((0, 0), np.nan), "value must be numbers that are finite"),
    "fewer leaves": ("body.value", lambda value: value[:-1], "value must have shape"),
    "wide leaves": ("body.value", lambda value: np.repeat(value, 64, axis=1), "value must be a part of 3 outputs"),
    "no leaves": ("body.value", lambda value: value[:, :0], "value must be a part of 3 outputs"),
    "flat leaves": ("body.value", lambda value: value[:, 0], "value must have shape"),
    "table of outputs": ("body.baseline", lambda baseline: baseline[:, None], "baseline must have shape"),
    "scale": ("scale", at(0, 0.0), "scale must be 3 numbers that are not 0"),
    "fewer columns": ("center", lambda center: center[:-1], "scale must be 3 numbers"),
}


@pytest.mark.parametrize("how", FORGED)
def test_a_forged_tree_is_refused(packed, how):
    name, change, words = FORGED[how]
    with pytest.raises(ModelFolderError, match=words):
        unpack(TwoStageScorer, changed(packed["trees"], f"classifier.{name}", change))


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("body.slopes", lambda slopes: slopes[:-1], "scale must be 2 numbers"),
        ("body.slopes", lambda slopes: slopes[:, 0], "slopes must have two axes"),
        ("body.bias", lambda bias: bias[:1], "bias must have shape"),
        ("body.slopes", at((0, 0), np.inf), "slopes must be numbers that are finite"),
    ],
)
def test_a_forged_linear_model_is_refused(packed, name, change, words):
    with pytest.raises(ModelFolderError, match=words):
        unpack(TwoStageScorer, changed(packed["linear"], f"classifier.{name}", change))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("link", "tanh", "link must be one of identity, sigmoid"),
        ("link", None, "link must be one of"),
        ("kind", "forest", "classifier.kind must be one of kept, given"),
        ("body", {"kind": "network"}, "body.kind must be one of linear, trees"),
    ],
)
def test_a_forged_name_is_refused(packed, name, value, words):
    manifest = packed["trees"].manifest
    manifest = {**manifest, "classifier": {**manifest["classifier"], name: value}}
    with pytest.raises(ModelFolderError, match=words):
        unpack(TwoStageScorer, Packed(manifest, packed["trees"].arrays))


@pytest.mark.parametrize("count", ["n_trees", "n_features"])
@pytest.mark.parametrize("value", [0, 5, 7, 30_000, 2**40, -1])
def test_forged_counts_are_refused(packed, count, value):
    manifest = json.loads(json.dumps(packed["trees"].manifest))
    manifest["classifier"]["body"][count] = value
    with pytest.raises(
        ModelFolderError, match=rf"{count} must be a whole number|must be of {value} trees|numbers|name"
    ):
        unpack(TwoStageScorer, Packed(manifest, packed["trees"].arrays))


def trees(feature, **changes):
    feature = np.asarray(feature, dtype=np.int64)
    m = len(feature)
    arrays = {
        **{"n_features": 2, "n_trees": 1, "feature": feature, "threshold": np.zeros(m)},
        **{"missing_left": np.zeros(m, dtype=np.bool_), "value": np.ones((m, 1)), "baseline": np.zeros(1)},
        **{"single": True, "averaged": False},
    }
    return LevelTrees(**{**arrays, **changes})


def test_a_chain_has_a_bounded_number_of_levels():
    assert trees([0, -1] * (MOST_LEVELS - 1) + [-1]).outputs(np.array([[1.0, 0.0]])).tolist() == [[1.0]]
    with pytest.raises(InputError, match=f"at most {MOST_LEVELS} levels"):
        trees([0, -1] * MOST_LEVELS + [-1])


def test_a_value_too_large_for_single_precision_goes_right():
    one = trees([1, -1, -1], value=np.array([[0.0], [-9.0], [9.0]]))
    assert one.outputs(np.array([[0.0, 1e300], [0.0, -1e300]])).ravel().tolist() == [9.0, -9.0]


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_arrays_are_refused_or_predict_inside_of_them(data):
    feature = data.draw(st.lists(st.integers(-2, 2), max_size=9))
    n_outputs, width = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    changes = {"baseline": np.zeros(n_outputs), "value": np.ones((len(feature), width))}
    try:
        one = trees(feature, n_trees=data.draw(st.integers(0, 9)), **changes)
    except InputError:
        return
    outputs = one.outputs(np.array([[-1.0, 1.0], [1.0, np.nan]]))
    assert outputs.shape == (2, n_outputs)
    assert np.array_equal(outputs.sum(axis=1), [one.n_trees * width] * 2)  # every tree ends at one of its leaves


@pytest.mark.parametrize("wide", [1, 5])
def test_a_folder_of_models_for_other_columns_ends_in_one_sentence(tmp_path, wide):
    team = TwoStageDeferral(RandomForestClassifier(2), LogisticRegression()).fit(X, Y, experts=ANSWERS)
    other = TwoStageDeferral(RandomForestClassifier(2), LogisticRegression())
    other = other.fit(np.tile(X[:, :1], wide) + RNG.normal(size=(120, wide)), Y, experts=ANSWERS)
    team.team_.scorer = other.team_.scorer
    team.save(tmp_path / "model")
    with pytest.raises(ModelFolderError, match="model") as error:
        Team.load(tmp_path / "model")
    assert "\n" not in str(error.value)


def test_changed_weights_end_in_one_sentence_or_decide(tmp_path):
    folder = tmp_path / "model"
    model = RandomForestClassifier(2, max_depth=3), GradientBoostingClassifier(n_estimators=2)
    TwoStageDeferral(*model).fit(X, Y, experts=ANSWERS).save(folder)
    honest, manifest = load((folder / WEIGHTS).read_bytes()), json.loads((folder / MANIFEST).read_text())
    names = [name for name in honest if ".classifier." in name or ".experts[" in name]
    refused = 0
    for trial in range(200):
        rng = np.random.default_rng(trial)
        name = names[rng.integers(len(names))]
        array = honest[name].copy()
        if not array.size:
            continue
        array.flat[rng.integers(array.size)] = (
            rng.choice([0, 1, 2, 7]) if array.dtype == bool else rng.choice([-(2**31), -2, -1, 0, 1, 5, 2**31, 2**52])
        )
        content = save({**honest, name: array})
        (folder / WEIGHTS).write_bytes(content)
        plain = {key: value for key, value in manifest.items() if key != "checksum"}
        plain["files"] = {WEIGHTS: hashlib.sha256(content).hexdigest()}
        sealed = hashlib.sha256(json.dumps(plain, ensure_ascii=False).encode()).hexdigest()
        (folder / MANIFEST).write_text(json.dumps({**plain, "checksum": sealed}))
        sentence = sentence_of(folder)
        assert "\n" not in sentence
        refused += "model.json" in sentence
        assert "model.json" in sentence or "proba" in sentence or not sentence
    assert refused > 20


def sentence_of(folder):
    """Return the sentence in which a folder ends; none where it decides."""
    try:
        Team.load(folder).decide(X)
    except (ModelFolderError, InputError) as error:
        return str(error)
    return ""
