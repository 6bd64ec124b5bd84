"""docs/tutorial/demo.md: what it shows is what `defero demo` prints, nearly."""

import contextlib
import io
import json
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial" / "demo.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module", params=[1, pytest.param(5, marks=pytest.mark.slow)], ids=lambda n: f"{n} seeds")
def demo(request, tmp_path_factory):
    """The demo as `make demo` runs it, printed as JSON, with all five repetitions; quickly the first alone."""
    from defero.cli.main import app
    from defero.study.demo import one_repetition

    if request.param == 1:
        first = one_repetition(0)
        experts = dict(zip(first.test.expert_names, first.experts, strict=True))
        figures = {"seeds": 1, "team": first.team, "model": first.model, "gain": first.team - first.model}
        return {**figures, "experts": experts, "team_above_every_expert": first.team > max(first.experts)}
    printed = io.StringIO()
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit, match="0"):
        app(["demo", "--json", "--seeds", str(request.param), "--out", str(folder)])
    return json.loads(printed.getvalue())


def test_the_team_beats_the_model_and_every_expert(demo):
    assert demo["gain"] > 0
    assert demo["seeds"] < 5 or demo["gain_low"] > 0, "the paired 95 % interval of team minus model must lie above 0"
    assert demo["team_above_every_expert"]


def test_the_printed_demo_is_the_real_one(demo):
    printed = re.search(r"```\n(.*?)```", PAGE, re.S).group(1)
    all_seeds = demo["seeds"] == 5
    assert list(re.findall(r"^(knows_\d_\d)", printed, re.M)) == list(demo["experts"])
    shares = [float(n) / 100 for n in re.findall(r"(\d+\.\d) %$", printed, re.M)]
    experts = list(demo["experts"].values())
    assert shares[:2] == pytest.approx([demo["team"], demo["model"]], abs=0.006 if all_seeds else 0.015)
    assert shares[2:] == pytest.approx(experts, abs=0.006 if all_seeds else 0.04)
    gain = [float(n) / 100 for n in re.findall(r"[+-]\d\.\d\d", printed)]
    assert not all_seeds or gain == pytest.approx([demo["gain"], demo["gain_low"], demo["gain_high"]], abs=0.003)


def test_the_tables_of_the_tutorial_are_left(tmp_path):
    from defero.study.demo import leave_tables

    leave_tables(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["clinic.csv", "clinic_new.csv"]
