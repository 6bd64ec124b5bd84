"""Shapes that compiled code believes: each forged archive is read in another process, which none of them may end."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from skops import io as skops_io

from defero.scorers.sklearn_parts import read_parts

RNG = np.random.default_rng(0)
X = RNG.integers(0, 5, size=(80, 3)).astype(float)
Y = (X[:, 0] + RNG.normal(size=80) > 2).astype(int)

READER = """
import json, pathlib, sys
import numpy as np
from defero.core.errors import ModelFolderError
from defero.scorers.sklearn_parts import read_parts
X = np.load(sys.argv[1] + "/X.npy")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.skops")):
    print(path.stem, end=" ", flush=True)
    try:
        read_parts(path.read_bytes())["classifier"].predict_proba(X)
        print("was used", flush=True)
    except ModelFolderError as error:
        print(error, flush=True)
"""


def boosted(y=Y):
    return GradientBoostingClassifier(n_estimators=2, random_state=0).fit(X, y)


def encoded(**options):
    return make_pipeline(OneHotEncoder(**options), LogisticRegression()).fit(X, Y)


def boosted_on_bins():
    return HistGradientBoostingClassifier(max_iter=2).fit(X, Y)


def more_trees_a_stage():
    model = boosted()
    model.estimators_ = np.tile(model.estimators_, (1, 64))
    return model


def more_trees_counted():
    model = more_trees_a_stage()
    model.n_trees_per_iteration_ = 64
    return model


def start_of_another_model():
    model = boosted((X[:, 0] // 2).astype(int))
    model.init_ = boosted().init_
    return model


def leaves_without_values():
    model = boosted()
    state = model.estimators_[0, 0].tree_.__getstate__()
    tree = type(model.estimators_[0, 0].tree_)(3, np.zeros(1, dtype=np.intp), 1)
    tree.__setstate__({**state, "values": np.zeros((len(state["nodes"]), 1, 0))})
    model.estimators_[0, 0].tree_ = tree
    return model


def rare_categories_far_away():
    model = encoded()
    model[0]._infrequent_enabled = True
    model[0]._default_to_infrequent_mappings = [np.full(len(model[0].categories_[0]), 2**28), None, None]
    model[0]._infrequent_indices = [np.array([0]), None, None]
    return model


def rare_categories_without_a_place():
    model = encoded(handle_unknown="infrequent_if_exist")
    model[0]._infrequent_enabled = True
    model[0]._default_to_infrequent_mappings = [None] * 3
    model[0]._infrequent_indices = [np.array([2**28]), None, None]
    return model


def more_categories_than_columns():
    model = encoded(sparse_output=False)
    model[0].categories_[0] = np.arange(100_000.0)
    model[0]._n_features_outs = [5, 5, 5]
    return model


def categories_out_of_order():
    model = encoded()
    model[0].categories_[2] = model[0].categories_[2][::-1].copy()
    return model


def a_dropped_column_that_is_not():
    model = encoded(drop="first")
    model[0]._drop_idx_after_grouping = np.array([7, 7, 7], dtype=object)
    return model


def no_column_is_a_category():
    model = boosted_on_bins()
    model._bin_mapper.is_categorical_ = np.zeros(0, dtype=np.uint8)
    return model


def short_sets_of_categories():
    model = boosted_on_bins()
    for stage in model._predictors:
        for tree in stage:
            tree.raw_left_cat_bitsets = np.zeros((len(tree.raw_left_cat_bitsets), 1), dtype=np.uint32)
    return model


def trees_of_a_wider_table():
    model = boosted_on_bins()
    model._n_features = 2
    return model


def neighbours_of_a_wider_table():
    model = KNeighborsClassifier(algorithm="brute").fit(X, Y)
    model._fit_X = np.zeros((80, 30_000))
    return model


FORGED = {
    more_trees_a_stage: "boosted trees are made for other classes",
    more_trees_counted: "boosted trees are made for other classes",
    start_of_another_model: "boosted trees start from other classes",
    leaves_without_values: "a tree has other classes",
    rare_categories_far_away: "an encoder has categories without a column",
    rare_categories_without_a_place: "an encoder has categories without a column",
    categories_out_of_order: "an encoder has categories without a column",
    a_dropped_column_that_is_not: "an encoder has categories without a column",
    no_column_is_a_category: "boosted trees are made for other features",
    short_sets_of_categories: "other sets of categories",
    trees_of_a_wider_table: "boosted trees are made for other features",
    neighbours_of_a_wider_table: "its neighbours have other features",
}


@pytest.fixture(scope="module")
def sentences(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forged")
    np.save(folder / "X.npy", X)
    for forge in FORGED:
        content = skops_io.dumps({"classifier": forge(), "experts": []})
        (folder / f"{forge.__name__}.skops").write_bytes(content)
    done = subprocess.run([sys.executable, "-c", READER, str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout[-200:], done.stderr)
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__)
def test_forged_shapes_are_refused(sentences, forge):
    assert FORGED[forge] in sentences[forge.__name__]
    assert "parts.skops: was not written by defero" in sentences[forge.__name__]


def read(model):
    return read_parts(skops_io.dumps({"classifier": model, "experts": []}))["classifier"]


def test_columns_are_counted_anew():
    honest = encoded(sparse_output=False)
    forged = encoded(sparse_output=False)
    forged[0]._n_features_outs = [1, 1, 1]
    assert np.array_equal(read(forged).predict_proba(X), honest.predict_proba(X))


def test_more_categories_than_columns_fail_in_the_next_step():
    with pytest.raises(ValueError, match="features"):
        read(more_categories_than_columns()).predict_proba(X)


HONEST = {
    "boosting": boosted,
    "boosting of three classes": lambda: boosted((X[:, 0] // 2).astype(int)),
    "boosting from zero": lambda: GradientBoostingClassifier(n_estimators=2, init="zero").fit(X, Y),
    "boosting from boosting": lambda: GradientBoostingClassifier(n_estimators=2, init=boosted()).fit(X, Y),
    "rare": lambda: encoded(min_frequency=17, handle_unknown="infrequent_if_exist"),
    "dropped": lambda: encoded(drop="first"),
    "dropped and rare": lambda: encoded(drop="if_binary", max_categories=3),
    "bins": lambda: make_pipeline(KBinsDiscretizer(2), LogisticRegression()).fit(X, Y),
    "boosting on bins": boosted_on_bins,
    "neighbours": lambda: KNeighborsClassifier(algorithm="brute").fit(X, Y),
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_models_are_read_and_predict_as_before(kind):
    model = HONEST[kind]()
    assert np.array_equal(read(model).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("table", [np.where(X == 4, np.nan, X), X.astype(str).astype(object)], ids=["gaps", "texts"])
def test_an_honest_encoder_of_gaps_or_texts_is_read(table):
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(table, Y)
    assert np.array_equal(read(model).predict_proba(table), model.predict_proba(table))


def test_reading_starts_no_process():
    forest = RandomForestClassifier(3, n_jobs=2, random_state=0).fit(X, Y)
    union = FeatureUnion([(f"{k}", StandardScaler()) for k in range(3)], n_jobs=2)
    model = make_pipeline(union, BaggingClassifier(LogisticRegression(), 3, n_jobs=2, random_state=0)).fit(X, Y)
    assert read(forest).n_jobs is None
    assert read(model)[0].n_jobs is None
    assert read(model)[1].n_jobs is None
    assert json.dumps(read(model).predict_proba(X).tolist()) == json.dumps(model.predict_proba(X).tolist())
