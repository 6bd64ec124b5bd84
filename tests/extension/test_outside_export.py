"""The export of another tool, from `defero fit` to `defero route`. The example is that of docs/howto/extend.md."""

import json

import numpy as np
import pandas as pd
import pytest
from outside_package import example, install, run

from defero.core.errors import InputError
from defero.data.exports.export import format_of


@pytest.fixture
def outside(tmp_path, monkeypatch):
    install(
        tmp_path / "package",
        "cards",
        example("An export"),
        group="defero.exports",
        name="cards",
        attribute="CARDS",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "package"))


def cards(n: int) -> list[dict]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, n)
    said = {name: np.where(rng.random(n) < p, truth, 1 - truth) for name, p in (("ann", 0.9), ("ben", 0.7))}
    return [
        {
            "card": f"c{row}",
            "size": float(truth[row] + rng.normal()),
            "truth": "ab"[truth[row]],
            "votes": {name: "ab"[answers[row]] for name, answers in said.items()},
        }
        for row in range(n)
    ]


@pytest.mark.usefixtures("outside")
def test_fit_and_route_read_it_and_decisions_are_written_back(tmp_path):
    (tmp_path / "past.cards").write_text(json.dumps(cards(200)))
    new = [{"card": one["card"], "size": one["size"]} for one in cards(20)]
    (tmp_path / "new.cards").write_text(json.dumps(new))
    options = ["--label", "truth", "--out", tmp_path / "model"]
    run("fit", tmp_path / "past.cards", *options)
    for out in ("decisions.csv", "decided.cards"):
        run("route", tmp_path / "model", tmp_path / "new.cards", "--out", tmp_path / out)
    table = pd.read_csv(tmp_path / "decisions.csv")
    assert table["case"].tolist() == [one["card"] for one in new]
    decided = json.loads((tmp_path / "decided.cards").read_text())
    assert [one["route"] for one in decided] == table["route"].tolist()
    assert [one["size"] for one in decided] == [one["size"] for one in new]


def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path):
    with pytest.raises(InputError, match="label-studio, prodigy, table, got 'cards'"):
        format_of(tmp_path / "past.json", "cards")
