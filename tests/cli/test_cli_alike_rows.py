"""Cases of a few categories look alike: which of them `fit` saw is told by their keys, or by labels and answers."""

import json

import numpy as np
import pandas as pd
import pytest
from clinic import run

EXPERTS = ("anna", "ben", "chloe")


def claims(seed, n=300, *, first=0):
    """Claims with few distinct features, most answers blank."""
    rng = np.random.default_rng(seed)
    kind, branch, prior = rng.integers(0, 3, n), rng.integers(0, 3, n), rng.integers(0, 3, n)
    truth = np.where(rng.random(n) < 0.2 + 0.2 * kind + 0.1 * prior, "fraud", "fair")
    frame = pd.DataFrame(
        {
            "claim": [f"C{first + i}" for i in range(n)],
            "kind": np.array(["car", "home", "life"])[kind],
            "branch": np.array(["north", "south", "west"])[branch],
            "prior": prior,
            "truth": truth,
        }
    )
    for name in EXPERTS:
        said = np.where(rng.random(n) < 0.8, truth, np.where(truth == "fair", "fraud", "fair"))
        frame[name] = np.where(rng.random(n) < 0.5, said, "")
    frame["part"] = np.where(np.arange(n) < 80, "test", np.where(np.arange(n) < 160, "calibration", "train"))
    return frame


def fitted_on(frame):
    """Write claims.csv, of which the first 80 are held out, and fit a team in model."""
    key = ["--key", "claim"] if "claim" in frame else []
    frame.to_csv("claims.csv", index=False)
    options = ["--label", "truth", "--experts", ",".join(EXPERTS), "--split", "part", "--net", "linear"]
    first = run("fit", "claims.csv", *options, *key, "--out", "model", "--json")
    assert first.code == 0, first.err
    return frame, json.loads(first.out)


@pytest.fixture
def numbered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return fitted_on(claims(0))


@pytest.fixture(params=["with a key", "without"])
def fitted(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return fitted_on(claims(0) if request.param == "with a key" else claims(0).drop(columns="claim"))


def judged(path, *options):
    outcome = run("evaluate", "model", path, "--json", *options)
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_the_table_of_fit_is_judged_on_the_very_rows_that_fit_held_out(fitted):
    frame, first = fitted
    again = judged("claims.csv")
    assert again["seen_by_fit"] == 220
    assert again["test"]["items"] == 80
    assert again["test"]["team"] == first["test"]["team"]
    assert again["test"]["model"] == first["test"]["model"]
    frame.sample(frac=1.0, random_state=3).to_csv("turned.csv", index=False)
    assert judged("turned.csv")["test"]["team"] == first["test"]["team"]


def test_held_out_rows_alone_and_new_claims_are_judged_though_they_look_alike(fitted):
    frame, first = fitted
    frame[frame.part == "test"].to_csv("held.csv", index=False)
    later = claims(1, first=300)[frame.columns]
    later.to_csv("later.csv", index=False)
    held, new = judged("held.csv"), judged("later.csv")
    if "claim" in frame:
        assert (held["seen_by_fit"], new["seen_by_fit"]) == (0, 0)
        assert held["test"]["team"] == first["test"]["team"]
    else:  # some have a twin in label and answers too, and are taken for it
        assert 0 < held["seen_by_fit"] < 60
        assert 0 < new["seen_by_fit"] < 200
    for result in (held, new):
        assert any("new cases equal rows that fit saw in every feature" in note for note in result["notes"])


def test_numbers_that_begin_anew_name_other_cases(numbered):
    frame, _ = numbered
    frame[frame.part == "train"].to_csv("seen.csv", index=False)
    assert "all 140 rows were seen by fit" in run("evaluate", "model", "seen.csv").err
    later = claims(2)  # C0 to C299 again, of another year
    later.to_csv("later.csv", index=False)
    assert judged("later.csv")["seen_by_fit"] < 30
