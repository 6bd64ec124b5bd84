"""What the README shows is what happens: its code runs, and its numbers are those of this machine, nearly."""

import contextlib
import io
import json
import re
import runpy
from pathlib import Path

import pandas as pd
import pytest

from defero.datasets import wedge

README = (Path(__file__).parents[2] / "README.md").read_text()
NUMBER = re.compile(r"-?\d+\.\d+")


def block(after):
    """Return the first fenced block after a heading."""
    found = re.search(r"```\n(.*?)```", README[README.index(after) :], re.S)
    return found.group(1)


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
    printed = block("## The demo")
    all_seeds = demo["seeds"] == 5
    assert list(re.findall(r"^(knows_\d_\d)", printed, re.M)) == list(demo["experts"])
    shares = [float(n) / 100 for n in re.findall(r"(\d+\.\d) %$", printed, re.M)]
    experts = list(demo["experts"].values())
    assert shares[:2] == pytest.approx([demo["team"], demo["model"]], abs=0.006 if all_seeds else 0.015)
    assert shares[2:] == pytest.approx(experts, abs=0.006 if all_seeds else 0.04)
    gain = [float(n) / 100 for n in re.findall(r"[+-]\d\.\d\d", printed)]
    assert not all_seeds or gain == pytest.approx([demo["gain"], demo["gain_low"], demo["gain_high"]], abs=0.003)


EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.S)


@pytest.mark.parametrize("example", range(2))
def test_the_python_prints_what_stands_below_it(tmp_path, example):
    pytest.importorskip("torch")  # without it, auto tries fewer models and the numbers are others
    code, expected = EXAMPLES[example]
    script = tmp_path / "readme.py"
    script.write_text(code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(str(script))
    # Words must be the same; numbers may differ in the last digits from one processor to another.
    assert NUMBER.sub("#", printed.getvalue()) == NUMBER.sub("#", expected)
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (printed.getvalue(), expected)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.11 if example else 0.02)


def test_the_study_runs(tmp_path, monkeypatch):
    for name, seed in (("cases.csv", 0), ("new_cases.csv", 1)):
        table = wedge(200, random_state=seed)
        frame = pd.DataFrame(table.features).add_prefix("x").assign(patient=range(200), truth=table.labels)
        frame.assign(dr_a=table.answers[:, 0], dr_b=table.answers[:, 1]).to_csv(tmp_path / name, index=False)
    monkeypatch.chdir(tmp_path)
    code = README.partition("### The whole protocol")[2].split("```python\n")[1].split("```")[0]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, {})
    assert "held-out cases" in printed.getvalue()
    assert (tmp_path / "report.html").is_file()
    assert len(pd.read_csv(tmp_path / "decisions.csv")) == 200
