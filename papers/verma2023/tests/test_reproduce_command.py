"""`defero reproduce`: from stored outputs, from training, from committed runs; what goes wrong in one sentence."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import run

from defero.cli.main import main as defero_main
from defero_verma2023 import training_runs
from defero_verma2023.experiments import EXPERIMENTS
from defero_verma2023.figures import published
from defero_verma2023.runs.record import RunRecord, append_record

SIM2 = EXPERIMENTS["sim2"]


@pytest.fixture
def stored(tmp_path, monkeypatch):
    """A small folder of stored outputs: the second simulation, two methods, 60 items."""
    folder = tmp_path / "data" / "verma2023_outputs"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    entries = []
    for method in ("ova", "softmax"):
        for setting in SIM2.settings:
            file = f"{method}_{setting}.npz"
            labels = rng.integers(10, size=60).astype(np.int16)
            answers = np.tile(labels[:, None], (1, 4))
            np.savez(folder / file, logits=rng.normal(size=(60, 14)), expert_preds=answers, labels=labels)
            plain = {"experiment": SIM2.stored, "config_name": "p_in", "K": 10, "J": 4, "N": 60, "seed": 948}
            kind = {"file": file, "method": method, "config_value": setting, "conf_kind": "logits", "has_logits": True}
            entries.append({**plain, **kind})
    (folder / "index.json").write_text(json.dumps({"entries": entries}), encoding="utf-8")
    monkeypatch.setenv("DEFERO_DATA", str(folder.parent))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Let training be a matter of course, and remember what was asked for."""
    asked = []

    def run_figure(figure, **options):
        options["say"](f"training {figure}")
        asked.append((figure, options))
        return trained()

    monkeypatch.setattr(training_runs, "run_figure", run_figure, raising=False)
    monkeypatch.chdir(tmp_path)
    return asked


def trained(**options):
    return tuple(
        RunRecord(
            **{"experiment": "sim2", "protocol": "as_published", "net": "small", **options},
            method=method,
            setting=setting,
            seed=seed,
            measures={"ece": 0.05 + seed / 100, "ece_by_expert": [0.02] * 4},
            seconds=1.0,
        )
        for method in ("ova", "softmax")
        for setting in SIM2.settings
        for seed in (0, 1)
    )


def test_help_has_an_example():
    outcome = run("--help")
    assert outcome.code == 0
    assert "defero reproduce fig2c --stored" in outcome.out.partition("Example:")[2]
    options = "--stored --train --protocol --seeds --epochs --methods --settings --quick --outputs"
    for option in options.split():
        assert option in outcome.out


def test_defero_has_the_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["defero", "reproduce", "fig9", "--stored"])
    with pytest.raises(SystemExit, match="2"):
        defero_main()
    assert "there is no figure 'fig9'" in capsys.readouterr().err


def test_stored_outputs_become_a_table_and_pictures(stored, tmp_path):
    outcome = run("fig2c", "--stored", "--out", tmp_path / "made")
    assert (outcome.code, outcome.err) == (0, "")
    assert "ece (percent)" in outcome.out
    header = next(line for line in outcome.out.splitlines() if line.startswith("method"))
    assert header.split() == ["method", "x", "published", "recomputed", "seeds", "difference"]
    assert sum(line.startswith(("ova", "softmax")) for line in outcome.out.splitlines()) == 10
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["fig2c.csv", "fig2c.png", "fig2c.svg"]
    with (tmp_path / "made" / "fig2c.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    first = next(row for row in rows if (row["method"], row["x"]) == ("ova", "0.2"))
    assert float(first["difference"]) == pytest.approx(float(first["ours"]) - float(first["published"]), abs=2e-4)


def test_json_has_every_number(stored, tmp_path):
    outcome = run("fig2d", "--stored", "--out", tmp_path / "made", "--json")
    (figure,) = json.loads(outcome.out)["figures"]
    assert (figure["figure"], len(figure["rows"]), len(figure["files"])) == ("fig2d", 10, 3)
    row = figure["rows"][0]
    assert row["published_error"] is None
    assert row["difference"] == pytest.approx(row["ours"] - row["published"])


def test_without_stored_outputs_the_sentence_says_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.delenv("DEFERO_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    outcome = run("fig2c", "--stored", "--out", tmp_path)
    assert (outcome.code, outcome.out) == (2, "")
    assert "DEFERO_DATA is not set: let it name the folder that holds verma2023_outputs/" in outcome.err
    assert "`defero datasets info verma2023-outputs`" in outcome.err
    monkeypatch.setenv("DEFERO_DATA", str(tmp_path))
    assert "must hold index.json" in run("all", "--stored").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fig2"], "there is no figure 'fig2'; did you mean fig2"),
        (["fig2c", "--stored", "--train"], "--stored and --train exclude each other"),
        (["fig2c", "--stored", "--epochs", "3", "--quick"], "--epochs, --quick: only --train knows"),
        (["fig2c", "--stored", "--protocol", "as_written"], "--protocol: only --train knows"),
        (
            ["fig2c", "--train", "--seeds", "a"],
            "--seeds must be whole numbers with commas between, e.g. 0,1,2, got 'a'",
        ),
        (["fig2c", "--train", "--seeds", "0,4294967296"], "--seeds must be at most 4294967295, got 4294967296."),
        (["fig2c", "--train", "--protocol", "mine"], "as_written"),
        (["fig2c", "--train", "--methods", "ovo"], "got 'ovo'; did you mean 'ova'?"),
        (["fig2c", "--train", "--settings", "low"], "--settings must be numbers"),
        (["fig2c", "--train", "--methods", "quux"], "--methods must be among ova, softmax, moe"),
        (
            ["fig2c", "--train", "--methods", "one classifier"],
            "--methods one classifier: fig2c shows none of these and would be empty; add one of ova, softmax",
        ),
    ],
)
def test_a_wrong_command_line_is_told_in_a_sentence(calls, arguments, said):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert calls == []


def test_a_file_in_the_place_of_a_folder_is_told_before_anything_is_measured(stored, tmp_path):
    (tmp_path / "taken").touch()
    outcome = run("fig2c", "--stored", "--out", tmp_path / "taken")
    assert outcome.code == 2
    assert "taken' is a file" in outcome.err.replace("\n", " ")


def test_training_gets_its_options_and_the_picture_its_mark(calls, tmp_path):
    options = [
        "--seeds",
        "0,1,1",
        "--epochs",
        "2",
        "--methods",
        "ova,one classifier",
        "--settings",
        "0.2,0.95",
        "--quick",
    ]
    options += ["--out", tmp_path / "o"]
    outcome = run("fig2c", "--train", "--protocol", "as_written", *options, "--outputs", tmp_path / "kept")
    assert outcome.code == 0
    assert outcome.err.startswith("A small network on a subset: two to five minutes a figure")
    assert outcome.err.endswith("training fig2c\n")
    ((figure, asked),) = calls
    del asked["say"]
    assert figure == "fig2c"
    assert asked == {
        "protocol": "as_written",
        "seeds": (0, 1),
        "epochs": 2,
        "methods": ("ova", "one classifier"),
        "settings": (0.2, 0.95),
        "quick": True,
        "out": tmp_path / "o",
        "outputs": tmp_path / "kept",
        "engine": None,
    }
    assert "ours" in outcome.out
    assert "5.500  ± 0.500" in outcome.out
    mark = "quick: small network, a subset"
    assert mark in (tmp_path / "o" / "fig2c.svg").read_text(encoding="utf-8")
    assert f"({mark})." in outcome.out
    assert f"ece (percent); {mark}" in outcome.out
    with (tmp_path / "o" / "fig2c.csv").open(encoding="utf-8", newline="") as lines:
        assert {row["mark"] for row in csv.DictReader(lines)} == {mark}


def test_all_figures_are_summed_up(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("defero_verma2023.reproduction.draw", lambda *_, **__: ())
    outcome = run("all", "--train", "--out", tmp_path / "o")
    assert outcome.code == 0
    assert [figure for figure, _ in calls][:2] == ["fig1-hatespeech", "fig1-ham10000"]
    assert len(calls) == 11
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("fig2d") and "softmax" in line)
    assert line.split()[:5] == ["fig2d", "softmax", "ece_by_expert.0", "(percent)", "5"]


def test_a_summary_and_json_say_that_runs_were_quick(calls, tmp_path, monkeypatch):
    monkeypatch.setattr("defero_verma2023.reproduction.draw", lambda *_, **__: ())
    outcome = run("all", "--train", "--quick", "--out", tmp_path / "o")
    assert outcome.out.startswith("quick: small network, a subset.\n")
    said = json.loads(run("fig2c", "--train", "--quick", "--out", tmp_path / "o", "--json").out)
    assert said["figures"][0]["mark"] == "quick: small network, a subset"


def test_outside_of_the_sources_the_sentence_says_to_clone_them(tmp_path, monkeypatch):
    monkeypatch.setattr("defero_verma2023.reproduction.paper_folder", lambda: None)
    outcome = run("fig2c", "--out", tmp_path / "o")
    assert outcome.code == 2
    assert "clone the repository" in " ".join(outcome.err.split())


def test_committed_runs_are_drawn_without_training(tmp_path, monkeypatch):
    monkeypatch.setattr("defero_verma2023.reproduction.paper_folder", lambda: tmp_path)
    outcome = run("fig2c", "--out", tmp_path / "o")
    assert outcome.code == 2
    assert "holds no runs of ours for this (sim2.jsonl): pass --stored" in outcome.err
    for record in trained():
        append_record(tmp_path / "results" / "sim2.jsonl", record)
    assert run("fig2c", "--out", tmp_path / "o").code == 0
    assert (tmp_path / "o" / "fig2c.svg").is_file()


def test_published_numbers_come_with_the_installed_package(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("defero_verma2023.reproduction.paper_folder", lambda: None)
    outcome = run("fig2c", "--train", "--out", tmp_path / "o", "--json")
    assert outcome.code == 0
    assert published.PUBLISHED.parent == Path(published.__file__).parent
    rows = json.loads(outcome.out)["figures"][0]["rows"]
    assert any(row["published"] is not None for row in rows)
