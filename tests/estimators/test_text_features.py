"""Texts inside fit: read by a ridge regression across folds, from the training rows alone."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_validate

from defero import DeferralClassifier, ExpertTable, TwoStageDeferral
from defero.core.errors import InputError, TableError
from defero.data.recipes.read_texts import fit_ridge, folds_of, log_loss, read_texts
from defero.data.recipes.recipe import FeatureRecipe
from defero.estimators.baselines import BestExpert, ConfidenceThreshold, ModelOnly, RandomExpert
from defero.team import Team

SAYS = {"fine": ["good", "sunny", "calm"], "poor": ["bad", "grey", "rough"], "odd": ["strange", "queer", "weird"]}
FILLER = [f"word{place}" for place in range(40)]
# A label's own word stands in 4 of 5 notes, and a word of a random label in all: with two of the three labels in use
# 0.8 * (2/3 + 1/3 * 1/2) + 0.2 * 1/2 can be told right, with three 0.8 * (1/3 + 2/3 * 1/2) + 0.2 * 1/3.
BEST = {2: 23 / 30, 3: 0.6}


def story(label, rng):
    own = rng.choice(SAYS[label], size=1 if rng.random() < 0.8 else 0)
    other = rng.choice([word for words in SAYS.values() for word in words], size=1)
    return " ".join(rng.permutation([*own, *other, *rng.choice(FILLER, size=5)]))


def cases(n_items, *, classes=("fine", "poor"), seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.choice(classes, size=n_items)
    frame = pd.DataFrame({"note": [story(label, rng) for label in labels], "age": rng.normal(size=n_items)})
    skill = {"ann": 0.9, "bob": 0.6}
    answers = {
        name: [label if rng.random() < right else rng.choice(classes) for label in labels]
        for name, right in skill.items()
    }
    return frame, labels, pd.DataFrame(answers)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("ridge", [0.1, 2.0])
def test_the_ridge_is_that_of_scikit_learn(n_classes, ridge):
    rng = np.random.default_rng(7)
    features = csr_matrix(rng.normal(size=(90, 5)) * (rng.random((90, 5)) < 0.5))
    label_idx = np.arange(90) % n_classes  # even classes: the bias is shrunk to nought, as a column of ones is
    weight = rng.random(90 // n_classes).repeat(n_classes)
    found = fit_ridge(features, label_idx, n_classes=n_classes, weight=weight, ridge=ridge)
    ones = np.hstack([features.toarray(), np.ones((90, 1))])
    theirs = LogisticRegression(C=1 / ridge, fit_intercept=False, tol=1e-9, max_iter=5_000)
    theirs.fit(ones, label_idx, sample_weight=weight)
    expected = ones @ theirs.coef_.T
    scores = found.scores(features)
    if n_classes > 2:
        scores, expected = (part - part.mean(axis=1, keepdims=True) for part in (scores, expected))
    assert scores == pytest.approx(expected, abs=2e-3)


def test_the_ridge_starts_from_the_classes_shares():
    empty = csr_matrix((6, 2))
    label_idx = np.array([0, 0, 0, 0, 1, 1])
    weak = fit_ridge(empty, label_idx, n_classes=2, weight=np.ones(6), ridge=1e6)
    assert weak.bias == pytest.approx([np.log(3 / 5)], abs=1e-4)
    assert fit_ridge(empty[:0], label_idx[:0], n_classes=3, weight=np.ones(0), ridge=1.0).bias == pytest.approx(
        [np.log(1 / 3)] * 3
    )
    never = fit_ridge(empty, label_idx, n_classes=3, weight=np.ones(6), ridge=0.01)
    assert np.isfinite(never.bias).all()
    assert never.bias[2] == never.bias.min()
    assert fit_ridge(empty, 0 * label_idx, n_classes=1, weight=np.ones(6), ridge=1.0).weight.tolist() == [[0], [0]]


def test_training_rows_are_scored_by_slopes_that_never_saw_them():
    frame, labels, _ = cases(400)
    label_idx = (labels == "poor").astype(np.int64)
    recipe = FeatureRecipe.learn(frame, text="note")
    weight = np.ones(400)
    matrix, read = read_texts(recipe, frame, label_idx, n_classes=2, weight=weight)
    assert matrix.shape == (400, 2)
    assert read.names == ("note=score0", "age")
    assert np.array_equal(matrix[:, 1], frame["age"])
    # A row's own label changes the slopes of all rows, but not that row's score.
    row = 17
    turned = label_idx.copy()
    turned[row] = 1 - turned[row]
    other, _ = read_texts(recipe, frame, turned, n_classes=2, weight=weight)
    share = folds_of(frame["note"].tolist(), label_idx)
    assert np.array_equal(other[share == share[row], 0], matrix[share == share[row], 0])
    assert not np.isclose(other[share != share[row], 0], matrix[share != share[row], 0]).any()
    # Scores across folds are as honest as those of new rows; those of the rows' own slopes are not.
    new, new_labels, _ = cases(2_000, seed=1)
    across = log_loss(matrix[:, :1], label_idx, weight=weight)
    inside = log_loss(read.apply(frame)[:, :1], label_idx, weight=weight)
    fresh = log_loss(read.apply(new)[:, :1], (new_labels == "poor").astype(np.int64), weight=np.ones(2_000))
    assert inside < across - 0.03
    assert across == pytest.approx(fresh, abs=0.06)


def repeated(n_items, *, text, share, seed=0):
    """Texts without signal, class 1 in three of ten; a share of them is one text, class 1 in nine of ten."""
    rng = np.random.default_rng(seed)
    same = rng.random(n_items) < share
    label_idx = (rng.random(n_items) < np.where(same, 0.91, 0.3)).astype(np.int64)
    notes = [text if one else " ".join(rng.choice(FILLER, size=6)) for one in same]
    return pd.DataFrame({"note": pd.Series(notes, dtype=object)}), label_idx, same


@pytest.mark.parametrize("text", ["as before", None])
def test_a_frequent_text_is_read_alike_in_training_and_after(text):
    frame, label_idx, same = repeated(400, text=text, share=0.2)
    recipe = FeatureRecipe.learn(frame, text="note")
    matrix, read = read_texts(recipe, frame, label_idx, n_classes=2, weight=np.ones(400))
    training, later = matrix[same, 0], read.apply(frame)[same, 0]
    assert len(set(later)) == 1
    if text is None:
        assert np.array_equal(training, later)  # the regression's constant, which no blank text has touched
        said = label_idx[~same].mean()
        assert later[0] == pytest.approx(np.log(said / (1 - said)), abs=0.2)
    else:
        assert np.abs(training - later).max() < 0.25
        assert later[0] > 1.5
    for team in (TwoStageDeferral(text="note"), DeferralClassifier("linear", loss="ova", text="note")):
        team.fit(frame, label_idx)
        assert (team.predict(frame[same]) == 1).all()
        assert team.predict_proba(frame[same])[:, 1] == pytest.approx(label_idx[same].mean(), abs=0.1)


def test_folds():
    label_idx = np.arange(600) % 2
    rare = [f"text {row // 3}" for row in range(500)]
    cells = [*rare, *["often"] * 100]
    folds = folds_of(cells, label_idx)
    for row in range(0, 498, 3):
        assert len(set(folds[row : row + 3])) == 1
    assert np.bincount(folds[500:][label_idx[500:] == 1]).tolist() == [10] * 5
    order = np.random.default_rng(0).permutation(600)
    moved = folds_of([cells[row] for row in order], label_idx[order])
    assert np.array_equal(moved[order < 500], folds[order[order < 500]])
    assert np.array_equal(np.bincount(moved), np.bincount(folds))
    few = folds_of(["often"] * 10 + [f"other {row}" for row in range(90)], np.arange(100) % 2)
    assert len(set(few[:10])) == 1
    groups = np.arange(600) // 8
    grouped = folds_of(cells, label_idx, groups=groups)
    assert all(len(set(grouped[groups == group])) == 1 for group in range(75))


def grouped_cases(n_groups, *, seed):
    """Rows of a group share a word of their own and, mostly, a label; other words say a little."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n_groups).repeat(8)
    label_idx = np.where(rng.random(8 * n_groups) < 0.9, kind, 1 - kind)
    groups = np.arange(n_groups).repeat(8)
    hint = [rng.choice(SAYS["poor" if label else "fine"]) if rng.random() < 0.3 else "plain" for label in label_idx]
    notes = [
        f"group{seed}x{group} {word} {' '.join(rng.choice(FILLER, size=3))}"
        for group, word in zip(groups, hint, strict=True)
    ]
    return pd.DataFrame({"note": notes}), label_idx, groups


def test_groups_are_read_as_groups_never_seen():
    frame, label_idx, groups = grouped_cases(60, seed=0)
    new, new_label_idx, _ = grouped_cases(60, seed=1)
    recipe = FeatureRecipe.learn(frame, text="note")

    def accuracy(**options):
        matrix, read = read_texts(recipe, frame, label_idx, n_classes=2, weight=np.ones(480), **options)
        training = ((matrix[:, 0] > 0) == label_idx).mean()
        return training, ((read.apply(new)[:, 0] > 0) == new_label_idx).mean()

    training, later = accuracy(groups=groups)
    assert training == pytest.approx(later, abs=0.08)
    training, later = accuracy()
    assert training > later + 0.1


def test_fit_takes_groups():
    frame, label_idx, groups = grouped_cases(40, seed=0)
    named = np.array([f"g{group:02d}" for group in groups], dtype=object)
    plain = TwoStageDeferral(text="note").fit(frame, label_idx)
    team = TwoStageDeferral(text="note").fit(frame, label_idx, groups=named)
    sure, honest = (np.abs(one.predict_proba(frame)[:, 1] - 0.5).mean() for one in (plain, team))
    assert honest < sure
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            ModelOnly(text="note"), frame, label_idx, params={"groups": named}, cv=GroupKFold(3), error_score="raise"
        )
    assert np.isfinite(found["test_score"]).all()
    with pytest.raises(InputError, match=r"^groups must have 320 items like the other arguments, got 5\."):
        ModelOnly(text="note").fit(frame, label_idx, groups=named[:5])
    named[7] = None
    with pytest.raises(InputError, match=r"^groups must be given in every row, got none in row 7; fill it"):
        ModelOnly(text="note").fit(frame, label_idx, groups=named)


def test_noise_is_read_as_noise():
    frame, _, _ = cases(300)
    label_idx = np.random.default_rng(3).integers(2, size=300)
    recipe = FeatureRecipe.learn(frame, text="note")
    matrix, _ = read_texts(recipe, frame, label_idx, n_classes=2, weight=np.ones(300))
    assert log_loss(matrix[:, :1], label_idx, weight=np.ones(300)) == pytest.approx(np.log(2), abs=0.03)


@pytest.mark.parametrize("net", ["linear", "mlp"])
@pytest.mark.parametrize("classes", [("fine", "poor"), ("fine", "odd", "poor")])
def test_a_team_reads_texts_and_comes_back_from_disk(net, classes, tmp_path):
    frame, labels, answers = cases(500, classes=classes)
    new, new_labels, new_answers = cases(600, classes=classes, seed=1)
    team = DeferralClassifier(net, loss="auto", text=["note"], random_state=0).fit(frame, labels, experts=answers)
    alone = (team.predict(new) == new_labels).mean()
    assert alone > BEST[len(classes)] - 0.04
    assert team.score(new, new_labels, experts=new_answers) > alone + 0.03
    team.save(tmp_path / "model")
    again = DeferralClassifier.load(tmp_path / "model")
    assert again.text == ("note",)
    assert np.array_equal(again.predict_expert_proba(new), team.predict_expert_proba(new))
    assert np.array_equal(Team.load(tmp_path / "model").scores(new).class_proba, team.predict_proba(new))
    repeated = DeferralClassifier(net, loss="auto", text="note", random_state=0).fit(frame, labels, experts=answers)
    assert np.array_equal(repeated.predict_proba(new), team.predict_proba(new))


def test_words_of_other_rows_never_enter():
    frame, labels, answers = cases(200)
    team = ModelOnly(text="note").fit(frame[:100], labels[:100], experts=answers[:100])
    unseen = frame[100:].assign(note="zzz yyy")
    assert set(team.team_.recipe.columns[1].words) <= {word for note in frame["note"][:100] for word in note.split()}
    team.calibrate(frame[100:], labels[100:], experts=answers[100:])
    assert team.team_.recipe.remarks(unseen) == {"note: none of its words was seen in training": 100}
    assert len(np.unique(team.team_.features(unseen)[:, 1])) == 1
    assert team.team_.recipe.describe()[1].endswith("weighted by TF-IDF and summed up in one score.")


@pytest.mark.parametrize("build", [TwoStageDeferral, ModelOnly, BestExpert, RandomExpert, ConfidenceThreshold])
def test_every_estimator_reads_texts(build):
    frame, labels, answers = cases(300)
    new, new_labels, _ = cases(300, seed=1)
    team = build(text=["note"]).fit(frame, labels, experts=answers, sample_weight=np.ones(300))
    assert (team.predict(new) == new_labels).mean() > BEST[2] - 0.06


def test_odd_tables_of_text():
    frame, labels, answers = cases(60)
    one = ModelOnly(text="note").fit(frame, np.full(60, "fine"))
    assert set(one.predict(frame)) == {"fine"}
    rare = labels.astype(object).copy()
    rare[0] = "odd"  # a class that some folds do not have
    assert np.isfinite(TwoStageDeferral(text="note").fit(frame, rare, experts=answers).predict_proba(frame)).all()
    half = frame.assign(note=[None, "same words"] * 30)
    assert np.isfinite(TwoStageDeferral(text="note").fit(half, labels, experts=answers).predict_proba(frame)).all()
    two = frame.assign(second=frame["note"].to_numpy()[::-1])
    team = TwoStageDeferral(text=["note", "second"]).fit(two, labels, experts=answers)
    assert team.team_.recipe.names == ("age", "note=score0", "second=score0")


def test_what_is_wrong_is_said():
    frame, labels, answers = cases(60)
    with pytest.raises(InputError, match=r"^text names columns, but X is ndarray; pass a DataFrame\."):
        DeferralClassifier("linear", loss="ova", text="note").fit(frame[["age"]].to_numpy(), labels, experts=answers)
    with pytest.raises(TableError, match=r"^X: no column 'notes' for the text; did you mean 'note'\?"):
        DeferralClassifier("linear", loss="ova", text=["notes"]).fit(frame, labels, experts=answers)


@pytest.mark.filterwarnings("ignore:no answer of")
@pytest.mark.parametrize(
    ("name", "model", "gain"),
    [
        pytest.param("keswani_toxicity", 0.8, 0.02, marks=pytest.mark.slow),
        pytest.param("sentiment_polarity_crowd", 0.72, 0.05, marks=pytest.mark.slow),
    ],
)
def test_crowds_that_read_texts(name, model, gain):
    folder = Path(os.environ.get("DEFERO_DATA", "absent")) / name
    if not folder.is_dir():
        pytest.skip(f"needs {name} in $DEFERO_DATA")
    items = pd.read_csv(folder / "items.csv.gz")
    answers = pd.read_csv(folder / "annotations.csv.gz").drop_duplicates(["item", "annotator"], keep="last")
    wide = answers.pivot(index="item", columns="annotator", values="label").reindex(items["item"]).astype(object)
    wide = wide.where(wide.notna(), None).rename(columns=str).reset_index(drop=True)
    table = ExpertTable(items["gold"].to_numpy(), wide, features=items[["text"]])
    train, _, test = table.split(0.5, 0.3, 0.2, random_state=0)
    team = DeferralClassifier("mlp", loss="auto", text="text", random_state=0)
    team.fit(train.features, train.labels, experts=train.answers)
    alone = (team.predict(test.features) == test.labels).mean()
    assert alone > model
    assert team.score(test.features, test.labels, experts=test.answers) > alone + gain
