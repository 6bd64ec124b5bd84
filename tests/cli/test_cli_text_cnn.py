"""`defero fit --text COLUMN --net text-cnn`: the texts' vectors are learned, saved and read by every command."""

import numpy as np
import pandas as pd
import pytest
from clinic import run

TOPICS = {"sea": ["sail", "wave", "shore", "tide"], "home": ["cook", "stove", "table", "bread"]}
FIT = ["--label", "truth", "--experts", "ann,bob", "--text", "note", "--net", "text-cnn", "--branches", "two"]


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(0)
    truth = rng.choice(list(TOPICS), size=200)
    frame = pd.DataFrame({"note": [" ".join(rng.choice(TOPICS[topic], size=3)) for topic in truth], "truth": truth})
    for name, skill in (("ann", 0.9), ("bob", 0.6)):
        frame[name] = np.where(rng.random(200) < skill, truth, np.where(truth == "sea", "home", "sea"))
    frame[:160].to_csv(folder / "cases.csv", index=False)
    frame[160:].to_csv(folder / "new.csv", index=False)
    done = run("fit", folder / "cases.csv", *FIT, "--epochs", "40", "--out", folder / "model")
    assert done.code == 0, done.err
    return folder, done


def test_fit_learns_the_vectors(desk):
    _, done = desk
    assert "note: a vector of 100 numbers" in done.out
    assert "Network: text-cnn." in done.out


def test_evaluate_and_route_read_new_texts(desk):
    folder, _ = desk
    judged = run("evaluate", folder / "model", folder / "new.csv")
    assert judged.code == 0, judged.err
    routed = run("route", folder / "model", folder / "new.csv", "--out", folder / "decisions.csv")
    assert routed.code == 0, routed.err
    told = pd.read_csv(folder / "decisions.csv")
    new = pd.read_csv(folder / "new.csv")
    assert (told["model_says"] == new["truth"]).mean() > 0.9  # words tell the topic; chance is one half
