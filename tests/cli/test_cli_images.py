"""The commands on pictures: a folder, a table that names its files, and a net that reads them."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pandas as pd
import pytest
from clinic import run
from scans import FIT, write_scans

from defero.training.training_state import TrainingState

has_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("onnx", "onnxscript", "onnxruntime")),
    reason="the extra `onnx` is not installed",
)


@pytest.fixture(scope="module")
def ward(tmp_path_factory):
    """A folder with pictures, tables and a fitted model."""
    folder = tmp_path_factory.mktemp("ward")
    write_scans(folder)
    done = run("fit", folder / "scans", "--table", folder / "cases.csv", *FIT, "--out", folder / "model")
    assert done.code == 0, done.err
    (folder / "said.txt").write_text(done.out)
    return folder


def test_fit_says_what_it_reads(ward):
    said = (ward / "said.txt").read_text()
    assert "file: pictures, each made 8 pixels high and 8 wide." in said
    assert "wrn-10-1." in said
    manifest = json.loads((ward / "model" / "model.json").read_text())
    assert manifest["recipe"] == {"kind": "pictures", "column": "file", "size": [8, 8]}
    assert str(ward) not in json.dumps(manifest)  # no path of this machine goes with a model


def test_evaluate_leaves_out_pictures_that_fit_saw(ward, tmp_path):
    whole = pd.concat([pd.read_csv(ward / "cases.csv"), pd.read_csv(ward / "new.csv")])
    # The same picture under another name is the same case.
    shutil.copy(ward / "scans" / "ward" / "0.png", ward / "scans" / "ward" / "renamed.png")
    whole.assign(file=whole.file.replace({"ward/0.png": "ward/renamed.png"})).to_csv(tmp_path / "all.csv", index=False)
    done = run("evaluate", ward / "model", tmp_path / "all.csv", "--images", ward / "scans", "--json")
    told = json.loads(done.out)
    kept = int(re.search(r"(\d+) for the test", (ward / "said.txt").read_text())[1])
    assert told["rows"] == 130
    assert told["seen_by_fit"] == 90 - kept


def test_route_looks_beside_the_table_unless_told(ward):
    out = ward / "decisions.csv"
    lost = run("route", ward / "model", ward / "new.csv", "--out", out)
    assert lost.code == 2
    assert "new.csv: row 2: expected a picture in" in lost.err
    assert "no such file exists" in lost.err
    shutil.copy(ward / "new.csv", ward / "scans" / "new.csv")
    assert run("route", ward / "model", ward / "scans" / "new.csv", "--out", out).code == 0
    beside = pd.read_csv(out)
    assert len(beside) == 40
    assert {"p_ann", "p_bob"} <= set(beside.columns)


def test_a_broken_picture_is_told_with_its_row(ward, tmp_path):
    (tmp_path / "ok.png").write_bytes((ward / "scans" / "ward" / "1.png").read_bytes())
    (tmp_path / "broken.png").write_bytes((ward / "scans" / "ward" / "2.png").read_bytes()[:60])
    (tmp_path / "note.png").write_text("no picture")
    for name in ("broken.png", "note.png"):
        (tmp_path / "new.csv").write_text(f"file\nok.png\n{name}\n")
        done = run("route", ward / "model", tmp_path / "new.csv", "--out", tmp_path / "decisions.csv")
        assert done.code == 2
        assert f"new.csv: row 3: expected a picture in {tmp_path / name}, but Pillow cannot read it" in done.err
    (tmp_path / "new.csv").write_text("file,other\nok.png,1\n,2\n")
    done = run("route", ward / "model", tmp_path / "new.csv", "--out", tmp_path / "decisions.csv")
    assert "new.csv: row 3, column file: expected the path of a picture, got a blank cell." in done.err


def test_add_expert_and_report(ward, tmp_path):
    cases = pd.read_csv(ward / "new.csv")
    cases.assign(eva=cases.truth).drop(columns=["ann", "bob"]).to_csv(tmp_path / "eva.csv", index=False)
    done = run(
        "add-expert", ward / "model", tmp_path / "eva.csv", "--expert", "eva", "--images", ward / "scans",
        "--out", tmp_path / "with_eva",
    )  # fmt: skip
    assert done.code == 0, done.err
    new = ["--images", ward / "scans"]
    page = run("report", ward / "model", ward / "new.csv", *new, "--out", tmp_path / "report.html")
    assert page.code == 0, page.err
    assert "<html" in (tmp_path / "report.html").read_text()


@has_onnx
def test_an_onnx_model_is_routed_without_torch(ward, tmp_path):
    done = run("fit", ward / "scans", "--table", ward / "cases.csv", *FIT, "--onnx", "--out", tmp_path / "model")
    assert done.code == 0, done.err
    new = [ward / "new.csv", "--images", ward / "scans", "--out"]
    assert run("route", ward / "model", *new, tmp_path / "torch.csv").code == 0
    command = ["defero", *map(str, ["route", tmp_path / "model", *new, tmp_path / "onnx.csv"])]
    code = f"import sys; sys.modules['torch'] = None; sys.argv = {command!r}; from defero.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    by_torch, by_onnx = (pd.read_csv(tmp_path / f"{name}.csv").drop(columns="reason") for name in ("torch", "onnx"))
    pd.testing.assert_frame_equal(by_torch, by_onnx, atol=1e-4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--image-column", "file"], "--image-column file: expected the folder of the pictures and --table FILE"),
        (["--table", "cases.csv"], "--table cases.csv: is for pictures; name the column of their paths"),
        (["--image-size", "8"], "--image-size 8: is for pictures"),
        (["--net", "wrn-28-4"], "--net wrn-28-4: reads pictures; name their folder"),
        (["--net", "linear", "--onnx"], "--onnx: is for deep nets, got --net linear"),
        (["--net", "mlp", "--epochs", "3"], "--epochs: is for deep nets, got --net mlp"),
        (["--batch-size", "8"], "--batch-size: is for deep nets, got --net auto"),
        (["--learning-rate", "0.1"], "--learning-rate: is for deep nets, got --net auto"),
        (
            ["--net", "text-cnn", "--answer-weights", "label"],
            "--answer-weights label: is for --net auto without a loss; leave one of them out",
        ),
        (["--branches", "three"], "--branches must be one of auto, one, heads, two, got 'three'"),
        (["--augmentation", "spin"], "--augmentation must be one of crop-and-flip, crop, none, got 'spin'"),
    ],
)
def test_options_that_do_not_go_together(options, words):
    done = run("fit", "none.csv", "--label", "truth", "--experts", "ann", "--out", "model", *options)
    assert done.code == 2
    assert words in done.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--net", "mlp"], "--net mlp: reads no pictures; name a net that does"),
        (["--net", "wrn-10-1", "--features", "a"], "a deep net reads the pictures alone"),
        (["--net", "wrn-10-1", "--image-size", "big"], "--image-size must be pixels, such as 32 or 32x48"),
        (["--net", "wrn-11-1"], "got 'wrn-11-1'; did you mean 'wrn-10-1'?"),
        (["--net", "resnet18"], "--net must be one of auto, linear, mlp, wrn-<depth>-<width>, resnet-18,"),
        (["--net", "resnet18"], "got 'resnet18'; did you mean 'resnet-18'?"),
        (["--net", "wrn-10-1", "--checkpoints", __file__], "checkpoints must be a folder to write in"),
    ],
)
def test_options_of_pictures_that_do_not_go_together(ward, tmp_path, options, words):
    told = ["--table", ward / "cases.csv", "--image-column", "file", "--label", "truth", "--experts", "ann"]
    done = run("fit", ward / "scans", *told, *options, "--out", tmp_path / "model")
    assert done.code == 2
    assert words in done.err


def test_ctrl_c_is_told_and_the_same_command_goes_on(ward, tmp_path, monkeypatch):
    words = ["fit", ward / "scans", "--table", ward / "cases.csv", *FIT, "--batch-size", "16"]
    words += ["--out", tmp_path / "model"]
    learn = TrainingState.learn

    def stopped_at_the_third(state, batch):
        if state.steps_done == 2:
            os.kill(os.getpid(), signal.SIGINT)
        learn(state, batch)

    with monkeypatch.context() as patch:
        patch.setattr(TrainingState, "learn", stopped_at_the_third)
        lost = run(*words)
        kept = run(*words, "--checkpoints", tmp_path / "kept")
    assert lost.code == kept.code == 130
    assert "stopped by Ctrl-C in epoch 2, step 1. No checkpoint was written: name a folder for them." in lost.err
    assert f"The last good checkpoint is {tmp_path / 'kept'}" in kept.err
    assert not (tmp_path / "model").exists()
    other = run(*words[:-1], tmp_path / "other", "--checkpoints", tmp_path / "kept", "--image-size", "9")
    assert other.code == 2
    assert "is a checkpoint of another run: the items are no longer the same" in other.err
    assert run(*words, "--checkpoints", tmp_path / "kept").code == 0


def test_a_folder_alone_is_told_what_is_missing(ward, tmp_path):
    done = run("fit", ward / "scans", "--label", "truth", "--experts", "ann", "--out", tmp_path / "model")
    assert "For a folder of pictures pass --table and --image-column too" in done.err


def test_images_are_for_models_of_pictures(ward, tmp_path):
    (tmp_path / "plain.csv").write_text("a,truth,ann\n" + "".join(f"{i % 7},{i % 2},{i % 2}\n" for i in range(60)))
    plain = ["--label", "truth", "--experts", "ann", "--net", "linear", "--out", tmp_path / "plain"]
    assert run("fit", tmp_path / "plain.csv", *plain).code == 0
    done = run("route", tmp_path / "plain", tmp_path / "plain.csv", "--images", ward, "--out", tmp_path / "d.csv")
    assert "this model reads no pictures; leave it out" in done.err
