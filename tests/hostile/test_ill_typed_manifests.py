"""model.json with one ill-typed value, sealed again: each loads, or ends in one sentence."""

import copy
import hashlib
import json
import shutil

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load, save
from scored import fitted

from defero import DeferralClassifier, Recipe, Study, Team, TwoStageDeferral
from defero.core.codec import pack
from defero.core.errors import ModelFolderError
from defero.data.model_folder import MANIFEST, WEIGHTS

WRONG = [
    None,
    [],
    {},
    "",
    "nan",
    True,
    -1,
    0.5,
    10**10,
    -(10**30),
    [[[]]],
    {"a": {"b": []}},
    ["x", 1],
    "\ud800",
    "0" * 99,
]


def seal(folder, manifest):
    """Write a manifest with the checksum that belongs to it."""
    plain = {key: value for key, value in manifest.items() if key != "checksum"}
    content = json.dumps(plain, ensure_ascii=False).encode("utf-8", "surrogatepass")
    text = json.dumps({**plain, "checksum": hashlib.sha256(content).hexdigest()})
    (folder / MANIFEST).write_text(text)


def places(value, path=()):
    """Return the path of every branch and leaf; of a list the first two entries."""
    yield path
    if isinstance(value, dict):
        for key, one in value.items():
            yield from places(one, (*path, key))
    elif isinstance(value, list):
        for at, one in enumerate(value[:2]):
            yield from places(one, (*path, at))


def put(manifest, path, value):
    changed = copy.deepcopy(manifest)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A team on a table with categories, calibrated and with panels; and one of boosted trees."""
    rng = np.random.default_rng(0)
    n = 240
    x = rng.normal(size=n)
    frame = pd.DataFrame({"age": x, "site": np.tile(["arm", "leg", None], n // 3)})
    y = (x + 0.3 * rng.normal(size=n) > 0).astype(int)
    experts = np.where(rng.random((n, 2)) < 0.8, y[:, None], 1 - y[:, None])
    folder = tmp_path_factory.mktemp("ill-typed")
    parts = [slice(0, 120), slice(120, 180), slice(180, 240)]
    team = DeferralClassifier("linear")
    fit, cal, conf = ((frame[part], y[part], experts[part]) for part in parts)
    team.fit(fit[0], fit[1], experts=fit[2])
    team.calibrate(cal[0], cal[1], experts=cal[2])
    team.conformalize(conf[0], conf[1], experts=conf[2], alpha=0.2)
    team.save(folder / "linear")
    DeferralClassifier().fit(frame, y, experts=experts).save(folder / "table")
    TwoStageDeferral().fit(x[:, None], y, experts=experts).save(folder / "two-stage")
    scored = frame.assign(a=experts[:, 0] == y, b=experts[:, 1] == y).astype({"a": float, "b": float})
    terms = {"fees": {"a": 0.1, "b": 1.0}, "error_cost": 3.0}
    fitted(scored, expert_names=["a", "b"], **terms).save(folder / "pool")
    return folder


@pytest.mark.parametrize(("kind", "least"), [("linear", 200), ("two-stage", 50), ("table", 100), ("pool", 50)])
def test_an_ill_typed_value_ends_in_one_sentence(saved, kind, least):
    folder = saved / kind
    manifest = json.loads((folder / MANIFEST).read_text())
    rng = np.random.default_rng(1)
    every = [path for path in places(manifest) if path and path[0] not in ("checksum", "files", "versions")]
    sentences = []
    for path in every * 2:
        seal(folder, put(manifest, path, WRONG[int(rng.integers(len(WRONG)))]))
        try:
            Team.load(folder)
        except ModelFolderError as error:
            sentences.append(str(error))
    seal(folder, manifest)
    Team.load(folder)
    assert 2 * len(every) >= least
    assert len(sentences) > len(every)
    assert not [one for one in sentences if "\n" in one or len(one) > 700]


@pytest.mark.parametrize(
    ("path", "value", "fact"),
    [
        (("facts",), [], "facts must be an object"),
        (("facts", "x"), 1, "facts.x is unknown"),
        (("facts", "parameters", "x"), [[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]], "nested at most 20 deep"),
        (("facts", "parameters"), [], "facts.parameters must be an object"),
        (("facts", "columns"), ["age", 3], r"facts.columns\[1\] must be a text, got 3"),
        (("facts", "columns"), "age", "facts.columns must be a list"),
        (("facts", "joined"), [{}], r"facts.joined\[0\] must be a text"),
        (("expert_names",), ["dr_a", 3], r"expert_names\[1\] must be a text, got 3"),
        (("n_features",), 10**10, "n_features must be a whole number"),
        (("item_shape",), [10**6, 10**6], "item_shape"),
        (("kind",), "forest", "kind must be team, got 'forest'"),
        (("scorer", "kind"), "forest", "scorer.kind must be one of network, "),
        (("scorer", "center"), "float64 (9,)", "scorer.center is unknown"),
        (("answer_counts",), "float64 (2,)", "answer_counts must be the type and the shape of its array"),
        (("calibrator", "temperature"), "nan", "temperature must be a number"),
        (("recipe", "columns", 0, "kind"), "code", "must be one of number, category, text, vector"),
        (("panel", "fees"), [0.1], "fees is made for 1 experts"),
        (("panel", "available"), [True] * 3, "available is made for 3 experts"),
        (("law", "errors"), [2.0, 1.0], "errors must be the type and the shape of its array"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_the_place_and_the_value_are_told(saved, path, value, fact):
    folder = saved / "linear"
    manifest = json.loads((folder / MANIFEST).read_text())
    seal(folder, put(manifest, path, value))
    try:
        with pytest.raises(ModelFolderError, match=fact):
            Team.load(folder)
    finally:
        seal(folder, manifest)


@pytest.mark.parametrize(
    ("path", "value", "fact"),
    [
        (("facts", "fees"), True, "facts.fees must be an object"),
        (("facts", "fees", "a"), [], "facts.fees.a must be a number or a text"),
        (("facts", "error_cost"), "nan", "facts.error_cost must be a number"),
        (("score_facts", "held_out"), [1.0], "score_facts.held_out must be a number"),
        (("facts", "spec", "key"), 3, "facts.spec.key must be a text"),
        (("score_facts", "chosen_map"), [1.0], "score_facts.chosen_map"),
        (("answer_counts",), [1], "answer_counts must be the type and the shape of its array"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else None,
)
def test_what_a_pool_remembers_is_checked(saved, path, value, fact):
    folder = saved / "pool"
    manifest = json.loads((folder / MANIFEST).read_text())
    seal(folder, put(manifest, path, value))
    try:
        with pytest.raises(ModelFolderError, match=fact):
            Study.load(folder)
    finally:
        seal(folder, manifest)


@pytest.mark.parametrize("value", WRONG, ids=repr)
@pytest.mark.parametrize("name", ["net", "recipe", "random_state", "recipe.hidden", "recipe.patience", "recipe.odd"])
def test_an_ill_typed_parameter_ends_in_one_sentence(saved, name, value):
    """The estimator is built from what model.json says of its parameters."""
    folder = saved / "linear"
    manifest = json.loads((folder / MANIFEST).read_text())
    path = name.split(".")
    recipe = pack(Recipe()).manifest if len(path) > 1 else None
    forged = put(manifest, ("facts", "parameters", "recipe"), recipe)
    seal(folder, put(forged, ("facts", "parameters", *path), value))
    sentence = None
    try:
        DeferralClassifier.load(folder).get_params()
    except ModelFolderError as error:
        sentence = str(error)
    finally:
        seal(folder, manifest)
    if sentence is not None:
        assert "\n" not in sentence
        assert len(sentence) < 700
    elif name == "recipe.hidden":
        assert value == []  # no hidden layer
    else:
        assert name != "recipe.odd"


def test_a_text_recipe_cannot_be_wider_than_its_bytes(saved):
    """19 KB of folder grew past 3.9 GB: no words, and vectors of 10**10 numbers."""
    folder = saved / "linear"
    manifest = json.loads((folder / MANIFEST).read_text())
    wide = {"kind": "vector", "name": "note", "words": [], "width": 10**10, "coordinates": "", "missing": False}
    try:
        for words in ([], ["sea"]):
            seal(folder, put(manifest, ("recipe", "columns"), [{**wide, "words": words}]))
            with pytest.raises(ModelFolderError, match=r"recipe\.columns"):
                Team.load(folder)
    finally:
        seal(folder, manifest)


def reweigh(folder, manifest, place, array):
    """Write other numbers in place of an array, and seal the folder."""
    arrays = {**load((folder / WEIGHTS).read_bytes()), place: array}
    (folder / WEIGHTS).write_bytes(save(arrays))
    checksum = hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()
    seal(folder, {**put(manifest, place.split("."), f"{array.dtype} {array.shape}"), "files": {WEIGHTS: checksum}})


def test_parts_for_other_experts_are_refused(saved, tmp_path):
    folder = shutil.copytree(saved / "linear", tmp_path / "linear")
    more = {**json.loads((folder / MANIFEST).read_text()), "expert_names": ["a", "b", "c"]}
    reweigh(folder, more, "answer_counts", np.array([1, 2, 3]))
    with pytest.raises(ModelFolderError, match="is made for 2 experts, not 3"):
        Team.load(folder)
    alone = {**json.loads((folder / MANIFEST).read_text()), "calibrator": None, "selection": None, "panel": None}
    whole = load((folder / WEIGHTS).read_bytes())
    rest = {name: array for name, array in whole.items() if not name.startswith(("selection.", "calibrator."))}
    (folder / WEIGHTS).write_bytes(save(rest))
    reweigh(folder, alone, "answer_counts", np.array([1, 2, 3]))
    with pytest.raises(ModelFolderError, match="3 expert columns, got 2 and 2"):
        Team.load(folder)


@pytest.mark.parametrize(
    ("place", "array", "fact"),
    [
        ("law.prior", np.array([2.0, 1.0]), "law.prior must be numbers that are finite and in their range"),
        ("law.prior", np.array([2**63] * 2, dtype=np.uint64), "law.prior must be numbers"),
        ("law.errors", np.full((2, 2), 0.5), "must be 0 on the diagonal, positive elsewhere, and sum to 1"),
        ("law.errors", np.array([[0.0, np.nan], [1.0, 0.0]]), "law.*errors must be"),
        ("selection.weights", np.array([0.0, np.nan, 0.0]), "selection.weights must be numbers that are finite"),
        ("answer_counts", np.array([-1, 5]), "answer_counts must be numbers that are finite and in their range"),
        ("stranger", np.ones(1), "stranger is unknown"),
    ],
)
def test_forged_numbers_are_refused(saved, tmp_path, place, array, fact):
    folder = shutil.copytree(saved / "linear", tmp_path / "linear")
    reweigh(folder, json.loads((folder / MANIFEST).read_text()), place, array)
    with pytest.raises(ModelFolderError, match=fact):
        Team.load(folder)


def test_an_array_that_nobody_names_is_refused(saved, tmp_path):
    folder = shutil.copytree(saved / "linear", tmp_path / "linear")
    manifest = json.loads((folder / MANIFEST).read_text())
    reweigh(folder, manifest, "panel.more", np.ones(2))
    seal(folder, {**manifest, "files": json.loads((folder / MANIFEST).read_text())["files"]})
    with pytest.raises(ModelFolderError, match=r"names no 'panel\.more'"):
        Team.load(folder)
