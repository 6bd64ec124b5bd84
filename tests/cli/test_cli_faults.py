"""Faults while a command runs: a full disk, too little memory, a folder that is read-only, a reader that goes away."""

import os
import re
import resource
import signal
import threading
from contextlib import contextmanager

import pandas as pd
import pytest
from clinic import DOCTORS, FIT, enter, lesions, run

from defero import Team
from defero.core.errors import ModelFolderError, TableError
from defero.data.whole_files import STALE_SECONDS, whole_file, write_whole


@pytest.fixture
def folder(tmp_path_factory, tmp_path, monkeypatch):
    return enter(tmp_path_factory, tmp_path, monkeypatch)


@contextmanager
def room_for(n_bytes):
    """Let no file of this process grow past a size: the system then answers as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fresh_cases(folder):
    lesions(80, seed=9).assign(case=[f"N{number}" for number in range(80)]).to_csv(folder / "new.csv", index=False)
    return "new.csv"


@pytest.mark.parametrize(
    ("command", "target"),
    [("route", "out.csv"), ("route", "out.parquet"), ("route", "out.jsonl"), ("report", "r.html")],
)
def test_a_full_disk_is_told_and_leaves_the_old_file(folder, command, target):
    table = fresh_cases(folder)
    (folder / target).write_text("the old one")
    before = names(folder)
    with room_for(2_000):
        outcome = run(command, "model", table, "--out", target)
    assert outcome.code == 2
    assert re.search(rf"{target}.*the disk is full; make room", outcome.err.splitlines()[-1])
    assert "Traceback" not in outcome.err
    assert (folder / target).read_text() == "the old one"
    assert names(folder) == before
    again = run(command, "model", table, "--out", target)  # goes on where it stopped
    assert again.code == 0
    assert run(command, "model", table, "--out", f"whole-{target}").code == 0
    if command == "route":
        assert (folder / target).read_bytes() == (folder / f"whole-{target}").read_bytes()
    assert names(folder) == sorted([*before, f"whole-{target}"])


def test_a_full_disk_while_a_model_is_saved_leaves_the_old_one(folder):
    before = (folder / "model" / "model.json").read_bytes()
    with room_for(1_000):
        outcome = run("fit", "cases.csv", *FIT, "--out", "model")
    assert outcome.code == 2
    assert "model: cannot be written: the disk is full" in outcome.err
    assert (folder / "model" / "model.json").read_bytes() == before
    assert not [name for name in names(folder) if name.endswith(".draft")]
    team = Team.load(folder / "model")
    with room_for(1_000), pytest.raises(ModelFolderError, match="disk is full"):
        team.save(folder / "other")
    assert "other" not in names(folder)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Unable to allocate 7.45 GiB for an array with shape (1000000, 1000)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8000 bytes."),
    ],
    ids=["numpy", "torch"],
)
def test_too_little_memory_is_told(folder, monkeypatch, error):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("defero.data.model_folder.writable", fail)
    outcome = run("fit", "cases.csv", *FIT, "--out", "new")
    assert outcome.code == 2
    assert outcome.err.startswith("defero: not enough memory")
    assert "allocate" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", ["fit", "report"])
def test_a_read_only_folder_is_noticed_before_any_work(folder, monkeypatch, command):
    """Not by its permissions: whoever runs the tests may be allowed everything."""
    monkeypatch.setattr(os, "access", lambda path, mode, **_: not mode & os.W_OK)
    monkeypatch.setattr("defero.study.reading.TeamCases.__init__", lambda *_, **__: pytest.fail("a table was read"))
    arguments = [*FIT, "--out", "new"] if command == "fit" else ["--out", "new.html"]
    outcome = run(command, *([] if command == "fit" else ["model"]), "cases.csv", *arguments)
    assert outcome.code == 2
    assert "no permission to write" in outcome.err


def test_two_writers_leave_one_whole_file(tmp_path):
    target = tmp_path / "page.html"
    contents = [bytes([letter]) * 300_000 for letter in b"ab"]
    writers = [threading.Thread(target=lambda c=c: [write_whole(target, c) for _ in range(20)]) for c in contents]
    for one in writers:
        one.start()
    while any(one.is_alive() for one in writers):
        assert not target.exists() or target.read_bytes() in contents
    assert target.read_bytes() in contents
    assert names(tmp_path) == ["page.html"]


def test_a_kill_while_a_file_is_written_leaves_the_old_one_and_the_rest_is_cleared_away(tmp_path):
    target = tmp_path / "page.html"
    target.write_text("the old one")
    child = os.fork()
    if child == 0:
        with whole_file(target) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert target.read_text() == "the old one"
    (part,) = set(tmp_path.iterdir()) - {target}
    write_whole(target, b"new")
    assert part.exists()  # a run of this minute may still be alive
    os.utime(part, times=(0, part.stat().st_mtime - 2 * STALE_SECONDS))
    write_whole(target, b"newer")
    assert names(tmp_path) == ["page.html"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    order = []
    sync, move = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (order.append("sync"), sync(handle))[1])
    monkeypatch.setattr(os, "replace", lambda old, new: (order.append("name"), move(old, new))[1])
    write_whole(tmp_path / "a.html", b"x")
    assert order == ["sync", "name"]


def test_a_device_that_is_full_is_told(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableError, match="disk is full"):
        write_whole(tmp_path / "a.html", b"x")
    assert not names(tmp_path)


ODD = ["ann\x1b[31m", "bo\x07b\u202e", "=cmd|' /C calc'!A0"]


def test_control_characters_and_formulas_in_names_stay_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = lesions().rename(columns=dict(zip(DOCTORS, ODD, strict=True)))
    cases.to_csv("cases.csv", index=False)
    cases.assign(case=cases["case"] + "x", age=cases["age"] + 0.25).to_csv("new.csv", index=False)
    shown = [run("fit", "cases.csv", "--label", "truth", "--experts", ",".join(ODD), *FIT[4:], "--out", "model")]
    for command, target in (("route", "d.csv"), ("route", "d.jsonl"), ("report", "r.html")):
        shown.append(run(command, "model", "new.csv", "--out", target))
    assert [one.code for one in shown] == [0, 0, 0, 0]
    for one in shown:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", one.out + one.err)
    assert "ann\\x1b[31m" in shown[0].out
    page = (tmp_path / "r.html").read_text()
    assert "\x1b" not in page
    assert "ann\\x1b[31m" in page
    decisions = pd.read_csv("d.csv", dtype=str, keep_default_na=False)
    plain = pd.read_json("d.jsonl", lines=True, dtype=False)
    assert set(decisions["route"]) <= {"model", *ODD[:2], "'" + ODD[2]}
    assert [name.removeprefix("'") for name in decisions["route"]] == plain["route"].tolist()
    assert not decisions.map(lambda cell: cell.startswith(("=", "@", "+"))).any(axis=None)
