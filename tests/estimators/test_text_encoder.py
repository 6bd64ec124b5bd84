"""Texts read by an encoder: fit, save, load and route, with an encoder that is given again."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from defero import (
    BestExpert,
    DeferralClassifier,
    InputError,
    Study,
    Team,
    TwoStageDeferral,
    read_cases,
)
from defero.data import FeatureRecipe
from defero.data.recipes import text_encoder as encoders
from defero.data.recipes.text_encoder import TextEncoder, find_encoder

SEA, HOME = ["sail", "wave", "shore", "tide"], ["cook", "stove", "table", "bread"]
WORDS = SEA + HOME


def topics(texts):
    """Encode the meaning of a text: how many words are of the sea, how many of a home, and a constant."""
    return np.array([[sum(w in SEA for w in t.split()), sum(w in HOME for w in t.split()), 1.0] for t in texts])


def swapped(texts):
    return topics(texts)[:, ::-1]


def desk(n=240, *, seed=0, blanks=0):
    """Return notes of words that hardly repeat between rows; the answers of two people depend on the topic."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["sea", "home"], n)
    notes = [" ".join(rng.choice(SEA if topic == "sea" else HOME, 3)) for topic in truth]
    frame = pd.DataFrame({"note": notes, "size": rng.normal(size=n)})
    frame.loc[frame.index[:blanks], "note"] = None
    wrong = np.where(truth == "sea", "home", "sea")
    answers = np.stack([np.where(rng.random(n) < skill, truth, wrong) for skill in (0.9, 0.6)], axis=1)
    return frame, truth, answers


def fitted(text_encoder=topics, **options):
    frame, truth, answers = desk()
    team = DeferralClassifier("linear", text="note", text_encoder=text_encoder, random_state=0, **options)
    return team.fit(frame, truth, experts=answers)


def test_fit_save_load_and_route_with_a_function(tmp_path):
    team = fitted()
    new, truth, _ = desk(60, seed=1)
    assert (team.predict(new) == truth).mean() > 0.95
    team.save(tmp_path / "model")
    router = Team.load(tmp_path / "model", text_encoder=topics)
    assert (router.scores(new).class_proba == team.team_.scores(new).class_proba).all()
    again = DeferralClassifier.load(tmp_path / "model", text_encoder=topics)
    assert (again.predict(new) == team.predict(new)).all()
    assert again.text_encoder is topics


def test_without_the_encoder_a_model_loads_and_says_what_is_missing(tmp_path):
    fitted().save(tmp_path / "model")
    router = Team.load(tmp_path / "model")
    assert router.expert_names == ("expert_0", "expert_1")
    with pytest.raises(InputError) as error:
        router.scores(desk(5)[0])
    assert error.value.argument == "text_encoder"
    assert all(fact in str(error.value) for fact in ("note", "'topics'", "same function")), str(error.value)


@pytest.mark.parametrize(
    "other", [swapped, lambda texts: topics(texts)[:, :2], lambda texts: 2 * topics(texts), "tfidf"]
)
def test_another_encoder_is_refused(tmp_path, other):
    fitted().save(tmp_path / "model")
    with pytest.raises(InputError, match="topics"):
        Team.load(tmp_path / "model", text_encoder=other)


def test_a_model_of_plain_columns_needs_no_encoder(tmp_path):
    frame, truth, answers = desk()
    DeferralClassifier("linear", text="note", random_state=0).fit(frame, truth, experts=answers).save(
        tmp_path / "model"
    )
    assert Team.load(tmp_path / "model", text_encoder="tfidf").recipe.text == ("note",)
    with pytest.raises(InputError, match="not needed"):
        Team.load(tmp_path / "model", text_encoder=topics)


def test_a_folder_names_its_encoder_and_never_loads_one(tmp_path, monkeypatch):
    fitted(TextEncoder("owner/small", topics)).save(tmp_path / "model")
    monkeypatch.setattr(encoders, "_named", None)  # would raise if it were called
    router = Team.load(tmp_path / "model")
    with pytest.raises(InputError, match="text_encoder='owner/small'"):
        router.scores(desk(5)[0])


def test_the_folder_holds_no_text_and_no_path(tmp_path):
    fitted(TextEncoder("small", topics)).save(tmp_path / "model")
    manifest = (tmp_path / "model" / "model.json").read_text()
    column = next(one for one in json.loads(manifest)["recipe"]["columns"] if one["name"] == "note")
    assert (column["kind"], column["encoder"], column["width"]) == ("embedding", "small", 3)
    assert "source" not in column
    assert not any(word in manifest for word in WORDS)
    assert str(tmp_path) not in manifest


def test_blank_texts_are_marked_and_never_sent_to_the_encoder():
    seen = []

    def noting(texts):
        seen.extend(texts)
        return topics(texts)

    frame, truth, answers = desk(blanks=20)
    team = DeferralClassifier("linear", text="note", text_encoder=noting, random_state=0)
    team.fit(frame, truth, experts=answers)
    assert None not in seen
    assert len(seen) == len(set(seen))
    assert "note=missing" in team.team_.recipe.names
    assert np.isfinite(team.predict_proba(pd.DataFrame({"note": [None, "  ", "sail"], "size": [0.0, 0.0, 0.0]}))).all()


def test_a_blank_text_is_unusual_where_training_had_none():
    team = fitted()
    new = pd.DataFrame({"note": ["sail", None], "size": [0.0, 0.0]})
    assert team.team_.recipe.unusual(team.team_.recipe.apply(new))[:, 0].tolist() == [False, True]
    assert team.team_.recipe.remarks(new) == {"note: blank, read as no words": 1}


def test_scores_of_training_rows_come_from_other_folds():
    """An encoder that tells every row apart must not look perfect in training."""
    frame, truth, answers = desk()
    frame["note"] = [f"row {k}" for k in range(len(frame))]

    def one_hot(texts):
        rows = [int(text.split()[1]) if text.startswith("row") else 0 for text in texts]
        return np.eye(len(frame))[rows]

    team = DeferralClassifier("linear", text="note", text_encoder=one_hot, random_state=0)
    team.fit(frame, truth, experts=answers)
    score = team._text_features[:, 0]
    assert abs(np.corrcoef(score, truth == "sea")[0, 1]) < 0.3


def test_the_scale_of_vectors_does_not_matter():
    new = desk(60, seed=1)[0]
    plain, large = (fitted(lambda texts, by=by: by * topics(texts)).predict_proba(new) for by in (1.0, 1024.0))
    np.testing.assert_allclose(plain, large, atol=1e-6)


def test_other_estimators_and_clones():
    frame, truth, answers = desk()
    for estimator in (TwoStageDeferral(text="note", text_encoder=topics), BestExpert(text="note", text_encoder=topics)):
        copied = clone(estimator).fit(frame, truth, experts=answers)
        assert (copied.predict(frame) == truth).mean() > 0.95


def test_a_deep_net_reads_the_vectors():
    frame, _, _ = desk(60)
    recipe = FeatureRecipe.learn(frame[["note"]], text="note", encoder=find_encoder(topics))
    assert recipe.names == ("note=vector0", "note=vector1", "note=vector2")
    assert recipe.describe() == ["note: 3 numbers of the text encoder topics."]


def test_a_study_from_python(tmp_path):
    frame, truth, answers = desk(400)
    table = frame.assign(truth=truth, ann=answers[:, 0], bob=answers[:, 1])
    cases = read_cases(table, label="truth", expert_names=["ann", "bob"], text="note", text_encoder=topics)
    study = Study(cases, random_state=0)
    study.fit(net="linear")
    assert any("text encoder topics" in line for line in study.describe())
    study.save(tmp_path / "model")
    new = desk(30, seed=3)[0]
    loaded = Study.load(tmp_path / "model", text_encoder=topics)
    routing = loaded.route(new, tmp_path / "decisions.csv")
    assert routing.rows == 30
    with pytest.raises(InputError, match="text"):
        read_cases(table, label="truth", expert_names=["ann", "bob"], text_encoder=topics)
