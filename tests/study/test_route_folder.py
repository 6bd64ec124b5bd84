"""A folder is routed file by file, with the bytes of route, by any number of workers, and goes on where it stopped.

One file of decisions appears whole or not at all.
"""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError, TableError
from defero.datasets import wedge
from defero.decide.terms import Terms

NAMES = ["ann", "bob", "cem", "dot"]
PARTS = ("a.parquet", "b/c.parquet")


@pytest.fixture(scope="module")
def study():
    past = wedge(300, random_state=0)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    frame[NAMES] = past.answers
    team = Study(read_cases(frame, label="truth", expert_names=NAMES))
    team.fit("linear", loss="ova")
    return team


@pytest.fixture
def folder(tmp_path):
    for seed, part in enumerate(PARTS, start=1):
        path = tmp_path / "cases" / part
        path.parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(wedge(50, random_state=seed).features).add_prefix("x").to_parquet(path)
    return tmp_path / "cases"


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_each_file_has_the_bytes_of_route_whatever_the_workers(study, folder, tmp_path):
    one = study.route_folder(folder, tmp_path / "one", terms=Terms(fees={"all": 0.1}))
    for part in PARTS:
        study.route(folder / part, tmp_path / "alone.parquet", terms=Terms(fees={"all": 0.1}))
        assert (tmp_path / "one" / part).read_bytes() == (tmp_path / "alone.parquet").read_bytes()
    two = study.route_folder(folder, tmp_path / "two", terms=Terms(fees={"all": 0.1}), workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert (one.files, one.rows) == (2, 100)
    assert one.load == two.load
    assert "100 decisions in 2 files" in repr(one)
    assert len(pd.read_parquet(tmp_path / "one")) == 100  # readers skip the folder of the runs


def test_what_is_done_is_not_done_again_unless_it_is_gone_or_differs(study, folder, tmp_path):
    out = tmp_path / "out"
    study.route_folder(folder, out)
    before = {part: (out / part).stat().st_mtime_ns for part in PARTS}
    (out / PARTS[1]).unlink()
    study.route_folder(folder, out)
    assert (out / PARTS[0]).stat().st_mtime_ns == before[PARTS[0]]
    assert (out / PARTS[1]).is_file()
    study.route_folder(folder, out, terms=Terms(fees={"all": 0.5}))  # other options: all files anew
    assert (out / PARTS[0]).stat().st_mtime_ns > before[PARTS[0]]


@pytest.mark.parametrize(
    ("change", "argument", "fact"),
    [
        ({"terms": Terms(capacity={"ann": 3})}, "capacity", "leave it out"),
        ({"folder": "cases/a.parquet"}, None, "folder"),
        ({"folder": "empty"}, None, "without Parquet files"),
        ({"out": "cases/inside"}, "out", "inside"),
        ({"out": "file"}, "out", "is a file"),
    ],
)
def test_what_makes_no_sense_is_refused(study, folder, tmp_path, change, argument, fact):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    given = {"folder": "cases", "out": "out"} | change
    paths = {name: tmp_path / given.pop(name) for name in ("folder", "out")}
    with pytest.raises(InputError, match=fact) as raised:
        study.route_folder(**paths, **given)
    assert raised.value.argument == argument
    assert not (tmp_path / "out").exists()


def test_a_changed_file_a_stranger_and_a_damaged_note_are_routed_anew(study, folder, tmp_path):
    out = tmp_path / "out"
    study.route_folder(folder, out)
    whole = contents(out)
    (out / "_runs" / f"{PARTS[0]}.json").write_text("{")
    (out / PARTS[1]).write_text("of somebody else")
    (out / "_runs" / f"{PARTS[1]}.json").unlink()
    assert study.route_folder(folder, out).rows == 100
    assert contents(out) == whole
    pd.DataFrame(wedge(30, random_state=7).features).add_prefix("x").to_parquet(folder / PARTS[0])
    assert study.route_folder(folder, out).rows == 80
    assert len(pd.read_parquet(out / PARTS[0])) == 30


def killed_at(command, here, is_time):
    """Start a command, kill it when its time has come, and return whether it was killed."""
    process = subprocess.Popen(command, cwd=here, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not is_time():
        time.sleep(0.002)
    killed = process.poll() is None
    if killed:
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return killed


@pytest.mark.slow
def test_killed_at_random_a_folder_goes_on_and_a_single_file_stays_the_old_one(study, tmp_path):
    rng, n_parts = np.random.default_rng(0), 12
    study.save(tmp_path / "model")
    (tmp_path / "cases").mkdir()
    for part in range(n_parts):
        features = pd.DataFrame(wedge(20_000, random_state=part).features).add_prefix("x")
        features.to_parquet(tmp_path / "cases" / f"part-{part:02}.parquet")
    route = [sys.executable, "-m", "defero", "route", "model", "cases", "--out"]
    subprocess.run([*route, "whole"], cwd=tmp_path, check=True, capture_output=True)
    out, made = tmp_path / "out", {}
    for n_done in (0, *np.sort(rng.integers(1, n_parts, 4)).tolist()):
        assert killed_at([*route, "out"], tmp_path, lambda n=n_done: len(list(out.glob("_runs/*.json"))) >= n)
        done = [out / path.name.removesuffix(".json") for path in out.glob("_runs/*.json")]
        assert all(path.stat().st_mtime_ns == made.setdefault(path, path.stat().st_mtime_ns) for path in done)
        time.sleep(rng.uniform(0, 0.05))
    subprocess.run([*route, "out"], cwd=tmp_path, check=True, capture_output=True)
    assert all(path.stat().st_mtime_ns == when for path, when in made.items())  # what was there is not made again
    left = {name: content for name, content in contents(out).items() if not name.endswith(".part")}
    assert left == contents(tmp_path / "whole")

    (tmp_path / "d.csv").write_text("the old one")
    assert killed_at([*route, "d.csv"], tmp_path, lambda: any(one.stat().st_size for one in tmp_path.glob(".*.part")))
    assert (tmp_path / "d.csv").read_text() == "the old one"
    subprocess.run([*route, "d.csv"], cwd=tmp_path, check=True, capture_output=True)
    assert len(pd.read_csv(tmp_path / "d.csv")) == 20_000 * n_parts


@pytest.mark.parametrize("out", ["d.csv", "d.jsonl", "d.parquet"])
def test_a_key_beyond_64_bits_is_copied_or_refused_in_one_sentence(study, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    features = pd.DataFrame(wedge(2, random_state=1).features).add_prefix("x")
    features.assign(case=[2**64, 7]).to_json("new.jsonl", orient="records", lines=True, default_handler=str)
    (tmp_path / "new.jsonl").write_text((tmp_path / "new.jsonl").read_text().replace(f'"{2**64}"', str(2**64)))
    if out == "d.parquet":
        with pytest.raises(TableError, match=r"d\.parquet: Parquet wants one type per column"):
            study.route("new.jsonl", out, key="case")
        return
    study.route("new.jsonl", out, key="case")
    assert str(2**64) in (tmp_path / out).read_text()
