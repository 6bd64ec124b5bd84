"""Panels that nobody would ask."""

import numpy as np
import pandas as pd
import pytest

from defero import Study, Team, read_cases


def crowd(n, *, n_people=40, seed=0):
    """Nobody can be told apart, and three people answer each case."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=n), rng.integers(2, size=n)
    said = np.where(rng.random((n, n_people)) < 0.75, y[:, None], 1 - y[:, None]).astype(object)
    asked = np.argsort(rng.random(said.shape), axis=1) < 3
    said[~asked] = None
    return pd.DataFrame({"x": x, **{f"p{j}": said[:, j] for j in range(n_people)}, "truth": y})


def test_panels_of_half_a_crowd_are_not_used_and_fit_says_so(tmp_path):
    people = [f"p{j}" for j in range(40)]
    study = Study(read_cases(crowd(1_200), label="truth", expert_names=people))
    team = study.fit("linear")
    assert team.panel.mean_size > 20
    said = [note for note in study.notes if "no panels are used" in note]
    assert len(said) == 1
    assert f"{team.panel.mean_size:.0f} of 40" in said[0]
    new = crowd(50, seed=1)
    routing = study.route(new[["x"]], tmp_path / "out.csv")
    table = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert (table["route"] != "model").any()
    assert set(table["panel"]) == {""}
    assert said[0] in routing.cautions
    assert not routing.promise_holds
    answers = new[people].to_numpy(dtype=object)
    assert team.answer(new[["x"]], answers).heard.sum(axis=1).max() == 1
    study.save(tmp_path / "model")
    assert Team.load(tmp_path / "model").panel.useless
    other = crowd(300, seed=2)
    with pytest.warns(UserWarning, match="no panels are used"):
        Team.load(tmp_path / "model").conformalize(other[["x"]], other["truth"], other[people])


def test_small_teams_keep_their_panels():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=400)
    said = np.where(rng.random((400, 4)) < 0.7, y[:, None], 1 - y[:, None])
    rows = np.arange(400)[:, None]
    team = Team.from_probabilities(
        lambda X: np.full((len(X), 2), 0.5),
        lambda X: np.full((len(X), 4), 0.7),
        classes=[0, 1],
        expert_names=list("abcd"),
    )
    assert not team.conformalize(rows, y, said, disjoint=True).panel.useless
