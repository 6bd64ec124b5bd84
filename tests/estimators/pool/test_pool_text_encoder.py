"""Prompts read by a text encoder: fit, save, load and route; the encoder is given again."""

import numpy as np
import pandas as pd
import pytest
from scored import fitted
from typer.testing import CliRunner

from defero import ExpertPool, InputError, Study, Team, Terms
from defero.cli.main import app
from defero.data.recipes import text_encoder

SUMS, POEMS = ["add", "divide", "subtract", "multiply"], ["sonnet", "ballad", "haiku", "ode"]


def topics(texts):
    return np.array([[any(w in t for w in SUMS), any(w in t for w in POEMS), 0.5] for t in texts], dtype=float)


def other(texts):
    return topics(texts)[:, ::-1]


def past(n=200, *, seed=0):
    rng = np.random.default_rng(seed)
    poem = rng.random(n) < 0.5
    prompts = [f"{rng.choice(POEMS if one else SUMS)} number {k}" for k, one in enumerate(poem)]
    scores = pd.DataFrame({"small": rng.random(n) < np.where(poem, 0.1, 0.9), "large": rng.random(n) < 0.8})
    return pd.DataFrame({"prompt": prompts}), scores.astype(float)


def test_fit_save_load_and_route_with_a_function(tmp_path):
    prompts, scores = past()
    pool = ExpertPool(text="prompt", text_encoder=topics).fit(prompts, scores, prices=[0.1, 1.0])
    new = past(60, seed=1)[0]
    decision = pool.decide(new, terms=Terms(error_cost=5.0))
    assert decision.name.tolist() == np.where(topics(new["prompt"])[:, 1] > 0, "large", "small").tolist()
    pool.save(tmp_path / "pool")
    loaded = Team.load(tmp_path / "pool", text_encoder=topics)
    assert loaded.decide(new, terms=Terms(error_cost=5.0)).name.tolist() == decision.name.tolist()
    assert np.allclose(loaded.scores(new).expert_proba, pool.predict_expert_proba(new))
    assert loaded.decide("an ode to the sea").name.tolist() == ["large"]
    with pytest.raises(InputError, match=r"text_encoder.*or the same function"):
        Team.load(tmp_path / "pool").decide(new)
    with pytest.raises(InputError, match=r"text_encoder.*its vectors are different"):
        Team.load(tmp_path / "pool", text_encoder=other)


def test_a_list_of_texts_needs_no_column_name():
    prompts, scores = past()
    pool = ExpertPool(text_encoder=topics).fit(prompts["prompt"].tolist(), scores)
    assert pool.decide(["divide 4 by 2", "a haiku"]).name.tolist() == ["small", "large"]


@pytest.mark.parametrize("X", [np.ones((200, 2)), past()[0]], ids=["numbers", "table"])
def test_an_encoder_without_a_text_is_refused(X):
    with pytest.raises(InputError, match="text_encoder reads columns of text; name them with text"):
        ExpertPool(text_encoder=topics).fit(X, past()[1])


def test_a_study_evaluates_and_routes_with_its_encoder(tmp_path):
    prompts, scores = past()
    table = pd.concat([prompts, scores], axis=1)
    fitted(table, expert_names=["small", "large"], text="prompt", text_encoder=topics).save(tmp_path / "pool")
    study = Study.load(tmp_path / "pool", text_encoder=topics)
    new = pd.concat(past(60, seed=1), axis=1)
    assert study.evaluate(new).record.pool.quality > 0.7
    assert set(study.route(new).to_frame()["route"]) == {"small", "large"}


def test_the_command_line_takes_an_encoder(tmp_path, monkeypatch):
    monkeypatch.setattr(text_encoder, "_named", lambda name: text_encoder.TextEncoder(name, topics))
    pd.concat(past(), axis=1).to_csv(tmp_path / "past.csv", index=False)
    options = ["--scores", "--experts", "small,large", "--text", "prompt", "--text-encoder", "topics"]
    fitted = CliRunner().invoke(app, ["fit", f"{tmp_path}/past.csv", *options, "--out", f"{tmp_path}/pool"])
    assert fitted.exit_code == 0, (fitted.output, fitted.exception)
    assert "3 numbers of the text encoder topics" in fitted.output
    routed = ["route", f"{tmp_path}/pool", f"{tmp_path}/past.csv", "--text-encoder", "topics"]
    done = CliRunner().invoke(app, [*routed, "--out", f"{tmp_path}/decisions.csv"])
    assert done.exit_code == 0, (done.output, done.exception)
    assert set(pd.read_csv(tmp_path / "decisions.csv")["route"]) == {"small", "large"}


def test_words_of_a_pool_are_not_said_to_be_one_per_class():
    prompts, scores = past()
    sentence = ExpertPool(text="prompt").fit(prompts, scores).team_.recipe.describe()[0]
    assert "class" not in sentence
