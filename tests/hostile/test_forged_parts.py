"""parts.skops of a stranger: it reads no file, runs nothing, crashes nothing and takes no more memory than it has."""

import io
import json
import zipfile

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier
from skops import io as skops_io

from defero.core.errors import ModelFolderError
from defero.scorers.sklearn_parts import read_parts, write_parts

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=80) > 0).astype(int)


def archive_of(classifier):
    """Return what skops itself writes, without our list."""
    return skops_io.dumps({"classifier": classifier, "experts": []})


def rewritten(content, edit, *, compression=zipfile.ZIP_STORED):
    """Return an archive whose members went through `edit(name, bytes)`."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", compression) as new:
        for name in old.namelist():
            new.writestr(name, edit(name, old.read(name)))
    return made.getvalue()


def refused(content, message):
    with pytest.raises(ModelFolderError, match=message) as error:
        read_parts(content)
    assert "parts.skops" in str(error.value)
    assert "\n" not in str(error.value)


def reads_files():
    return CountVectorizer(input="filename", vocabulary={"root": 0, "x": 1})


@pytest.mark.parametrize("way", ["pipeline", "columns", "stack"])
def test_no_estimator_reads_a_file(way, tmp_path):
    text, last = reads_files(), LogisticRegression().fit(X[:, :2], Y)
    if way == "pipeline":
        model = make_pipeline(text, last)
    elif way == "columns":
        columns = ColumnTransformer([("file", text, 0)])
        columns.transformers_ = [("file", text, 0)]
        model = Pipeline([("columns", columns), ("last", last)])
    else:
        model = StackingClassifier([("file", text)], final_estimator=last)
        model.estimators_, model.final_estimator_ = [text], last
    refused(archive_of(model), r"types that are not trusted: sklearn\.feature_extraction\.text\.CountVectorizer")


def test_no_function_is_called():
    content = archive_of(LogisticRegression().fit(X, Y))

    def edit(name, old):
        if name != "schema.json":
            return old
        schema = json.loads(old)
        attributes = schema["content"]["classifier"]["content"]["content"]
        attributes["C"] = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}
        return json.dumps(schema)

    refused(rewritten(content, edit), r"types that are not trusted: os\.system")


@pytest.mark.parametrize("loader", ["MethodNode", "PartialNode", "OperatorFuncNode", "TypeNode", "FunctionNode"])
def test_callables_of_any_loader_are_refused(loader):
    def edit(name, old):
        if name != "schema.json":
            return old
        schema = json.loads(old)
        schema["content"]["experts"] = {"__class__": "system", "__module__": "os", "__loader__": loader, "content": {}}
        return json.dumps(schema)

    refused(rewritten(archive_of(GaussianNB().fit(X, Y)), edit), r"os\.system")


def test_another_protocol_is_refused():
    def edit(name, old):
        return json.dumps({**json.loads(old), "protocol": 0}) if name == "schema.json" else old

    refused(rewritten(archive_of(GaussianNB().fit(X, Y)), edit), "protocol is unknown; fit again")


def forged_nodes(content, change):
    """Return an archive in which every array of tree nodes went through `change`."""

    def edit(name, old):
        if not name.endswith(".npy"):
            return old
        array = np.load(io.BytesIO(old))
        if array.dtype.names is None:
            return old
        change(array)
        made = io.BytesIO()
        np.save(made, array)
        return made.getvalue()

    return rewritten(content, edit)


def put(field, place, value):
    def change(nodes):
        nodes[field][place] = value

    return change


TREES = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "forest": RandomForestClassifier(3, max_depth=3),
    "boosting": GradientBoostingClassifier(n_estimators=2),
}


@pytest.mark.parametrize("kind", TREES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("left_child", 0, 10**9), "links lead out of it"),
        (put("right_child", 0, -7), "links lead out of it"),
        (put("right_child", 0, 0), "round in a circle"),
        (put("feature", 0, 10**9), "a feature that does not exist"),
        (put("feature", 0, -3), "a feature that does not exist"),
    ],
    ids=["far", "before", "circle", "feature", "negative feature"],
)
def test_a_forged_tree_is_refused(kind, change, message):
    refused(forged_nodes(archive_of(TREES[kind].fit(X, Y)), change), message)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("left", 0, 10**9), "links lead out of it"),
        (put("right", 0, 0), "round in a circle"),
        (put("feature_idx", 0, 10**9), "a feature that does not exist"),
        (put("is_categorical", 0, 1), "categor"),
        (put("bitset_idx", 0, 10**6), None),
    ],
    ids=["far", "circle", "feature", "category", "bits of a number"],
)
def test_a_forged_histogram_tree_is_refused(change, message):
    content = forged_nodes(archive_of(HistGradientBoostingClassifier(max_iter=2).fit(X, Y)), change)
    if message is None:  # no bits are looked up where numbers are compared
        assert read_parts(content)["classifier"].predict_proba(X).shape == (80, 2)
    else:
        refused(content, message)


def with_attribute(model, name, value):
    setattr(model, name, value)
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (with_attribute(DecisionTreeClassifier().fit(X, Y), "n_features_in_", 1), "other features"),
        (with_attribute(RandomForestClassifier(2).fit(X, Y), "n_features_in_", 2), "other features"),
        (with_attribute(RandomForestClassifier(2).fit(X, Y), "estimators_", [GaussianNB().fit(X, Y)]), "a GaussianNB"),
        (with_attribute(DummyClassifier().fit(X, Y), "n_classes_", 10**11), "n_classes_ is 100000000000"),
        (with_attribute(make_pipeline(GaussianNB().fit(X, Y)), "memory", "/tmp/cache"), "memory names a folder"),
        (with_attribute(KNeighborsClassifier().fit(X, Y), "_y", np.full(80, 10**9)), "labels that are no classes"),
    ],
    ids=["tree", "forest", "type", "classes", "memory", "neighbours"],
)
def test_forged_attributes_are_refused(model, message):
    refused(archive_of(model), message)


def test_a_forged_search_tree_is_built_anew():
    honest = KNeighborsClassifier(3).fit(X, Y)
    content = write_parts({"classifier": honest, "experts": []})

    def edit(name, old):
        if not name.endswith(".npy"):
            return old
        array = np.load(io.BytesIO(old))
        if array.dtype.kind != "i" or array.shape != (80,) or set(array) <= {0, 1}:
            return old
        made = io.BytesIO()
        np.save(made, np.full_like(array, 10**9))  # the order of the points in the search tree
        return made.getvalue()

    forged = rewritten(content, edit)
    assert forged != content
    assert np.array_equal(read_parts(forged)["classifier"].predict_proba(X), honest.predict_proba(X))


def test_an_object_costs_its_bytes_wherever_it_is_used_again():
    """A short reference to an object elsewhere would make pipelines of pipelines that take for ever."""

    def edit(name, old):
        if name != "schema.json":
            return old
        schema = json.loads(old)
        model = schema["content"]["classifier"]
        kind = {key: model[key] for key in ("__class__", "__module__", "__loader__", "__id__")}
        schema["content"]["experts"]["content"] = [kind] * 10
        return json.dumps(schema)

    parts = read_parts(rewritten(archive_of(GaussianNB().fit(X, Y)), edit))
    assert not any(hasattr(expert, "theta_") for expert in parts["experts"])


def compressed(content):
    return rewritten(content, lambda name, old: old, compression=zipfile.ZIP_DEFLATED)


def longer_shape(content):
    def edit(name, old):
        if not name.endswith(".npy") or b"(2, 3)" not in old:
            return old
        return old.replace(b"'shape': (2, 3), ", b"'shape': (9999999999,), ")[:128].ljust(128, b" ") + old[128:]

    return rewritten(content, edit)


def read_twice(content):
    def edit(name, old):
        if name != "schema.json":
            return old
        schema = json.loads(old)
        array = schema["content"]["classifier"]["content"]["content"]["theta_"]
        copies = [{**array, "__id__": 10**15 + k} for k in range(200)]
        schema["content"]["experts"]["content"] = copies
        return json.dumps(schema)

    return rewritten(content, edit)


@pytest.mark.parametrize(
    ("forge", "message"),
    [(compressed, "compressed"), (longer_shape, "9999999999"), (read_twice, "read again and again")],
    ids=["compressed", "shape", "again"],
)
def test_sizes_are_bounded_by_the_bytes(forge, message):
    wide = np.zeros((80, 5000)) if forge is read_twice else X
    refused(forge(archive_of(GaussianNB().fit(wide, Y))), message)


def test_one_id_does_not_stand_for_another_object():
    """skops takes the first object of an id for all: a tree that was checked would be read as another one."""

    def edit(name, old):
        if name != "schema.json":
            return old
        schema = json.loads(old)
        attributes = schema["content"]["classifier"]["content"]["content"]
        attributes["classes_"]["__id__"] = attributes["theta_"]["__id__"]
        return json.dumps(schema)

    model = read_parts(rewritten(archive_of(GaussianNB().fit(X, Y)), edit))["classifier"]
    assert model.classes_.tolist() == [0, 1]


def test_a_random_generator_with_a_huge_pool_is_refused():
    def edit(name, old):
        return old.replace(b'"content": "4"', b'"content": "4000000000"') if name == "schema.json" else old

    content = archive_of(HistGradientBoostingClassifier(max_iter=1).fit(X, Y))
    refused(rewritten(content, edit), "pool has another size")
