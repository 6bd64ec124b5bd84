"""Cases of a few categories look alike: which of them `fit` saw is told by their keys, or by labels and answers."""

import contextlib
import json
import shutil

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


@pytest.fixture(scope="module")
def with_key(tmp_path_factory):
    return fitted_in(tmp_path_factory.mktemp("key"), claims(0))


@pytest.fixture(scope="module")
def without_key(tmp_path_factory):
    return fitted_in(tmp_path_factory.mktemp("no_key"), claims(0).drop(columns="claim"))


def fitted_in(folder, frame):
    with contextlib.chdir(folder):
        return folder, *fitted_on(frame)


@pytest.fixture
def numbered(with_key, tmp_path, monkeypatch):
    return enter(with_key, tmp_path, monkeypatch)


@pytest.fixture
def unnumbered(without_key, tmp_path, monkeypatch):
    return enter(without_key, tmp_path, monkeypatch)


@pytest.fixture(params=["with_key", "without_key"])
def fitted(request, tmp_path, monkeypatch):
    return enter(request.getfixturevalue(request.param), tmp_path, monkeypatch)


def enter(made, tmp_path, monkeypatch):
    """Make a copy of the folder the current one; return the claims, and what fit printed."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return made[1:]


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


def test_held_out_rows_alone_and_new_claims_are_judged_though_they_look_alike(numbered):
    frame, first = numbered
    frame[frame.part == "test"].to_csv("held.csv", index=False)
    claims(1, first=300).to_csv("later.csv", index=False)
    held, new = judged("held.csv"), judged("later.csv")
    assert (held["seen_by_fit"], new["seen_by_fit"]) == (0, 0)
    assert held["test"]["team"] == first["test"]["team"]
    for result in (held, new):
        assert any("cases have the features of rows that fit used, but another key" in it for it in result["notes"])


def test_numbers_that_begin_anew_name_other_cases(numbered):
    frame, _ = numbered
    frame[frame.part == "train"].to_csv("seen.csv", index=False)
    assert "all 140 rows were seen by fit" in run("evaluate", "model", "seen.csv").err
    later = claims(2)  # C0 to C299 again, of another year
    later.to_csv("later.csv", index=False)
    assert judged("later.csv")["seen_by_fit"] < 30


def test_cases_that_were_numbered_anew_are_judged_with_a_note(numbered):
    frame, _ = numbered
    frame.assign(claim=[f"D{i}" for i in range(len(frame))]).to_csv("again.csv", index=False)
    again = judged("again.csv")
    assert again["seen_by_fit"] == 0
    note = next(one for one in again["notes"] if "the features of rows that fit used, but another key" in one)
    assert note.endswith("if they are the same cases, the figures are too good.")


@pytest.mark.parametrize("change", ["key renamed", "key left out", "answers came in"])
def test_the_table_of_fit_stays_seen_whatever_happens_to_its_key_or_its_answers(numbered, change):
    frame, _ = numbered
    options = []
    if change == "key renamed":
        frame, options = frame.rename(columns={"claim": "no"}), ["--key", "no"]
    elif change == "key left out":
        frame = frame.drop(columns="claim")
    else:
        frame = frame.assign(anna=frame.anna.where(frame.anna != "", frame.truth))
    frame.to_csv("again.csv", index=False)
    assert judged("again.csv", *options)["seen_by_fit"] == 220


def test_without_a_key_cases_whose_answers_came_in_stay_seen(unnumbered):
    frame, _ = unnumbered
    more = frame.assign(anna=frame.anna.where(frame.anna != "", frame.truth))
    more.to_csv("more.csv", index=False)
    assert judged("more.csv")["seen_by_fit"] == 220
    more[more.part == "train"].to_csv("seen.csv", index=False)
    assert "all 140 rows were seen by fit" in run("evaluate", "model", "seen.csv").err


def test_an_expert_who_joins_lets_nobody_forget_what_was_seen(fitted):
    frame, _ = fitted
    said = frame.assign(dora=np.where(np.arange(len(frame)) % 4 == 0, frame.truth, ""))
    said[(said.dora != "") & (said.part == "test")].to_csv("dora.csv", index=False)
    outcome = run("add-expert", "model", "dora.csv", "--expert", "dora", "--out", "joined")
    assert outcome.code == 0, outcome.err
    result = json.loads(run("evaluate", "joined", "claims.csv", "--json").out)
    assert result["seen_by_fit"] >= 220
