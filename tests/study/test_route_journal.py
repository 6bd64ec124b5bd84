"""A `route` that was stopped goes on where it stopped, and the file is that of an undisturbed run."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from defero import Study, read_cases
from defero.data.tables import journal, read
from defero.data.tables.read import read_frame
from defero.decide.terms import Terms
from defero.study.routing import repeated_keys

NAMES = ["ann", "bob"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the folder of a small team, fitted on 200 cases."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200), "site": rng.choice(["arm", "leg"], 200)})
    truth = np.where(frame["x"] + rng.normal(size=200) > 0, "yes", "no")
    for name in NAMES:
        frame[name] = np.where(rng.random(200) < 0.8, truth, np.where(truth == "yes", "no", "yes"))
    study = Study(read_cases(frame.assign(truth=truth), label="truth", expert_names=NAMES), random_state=0)
    study.fit(net="linear")
    folder = tmp_path_factory.mktemp("journal") / "model"
    study.save(folder)
    return folder


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write 90 cases, of which one is bad, and read them seven at a time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(read.read_chunks, "__kwdefaults__", {**read.read_chunks.__kwdefaults__, "rows": 7})
    monkeypatch.setattr(journal, "SECONDS_BETWEEN", 0.0)
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"case": [f"C{i % 80}" for i in range(90)], "x": rng.normal(size=90).round(3), "site": "arm"})
    frame.astype({"x": object}).assign(x=lambda one: one["x"].where(one.index != 11, "odd")).to_csv(
        "new.csv", index=False
    )
    return tmp_path


class Stop:
    """Interrupts a run after so many decisions."""

    def __init__(self, after):
        self.after = after

    def __call__(self, rows):
        if rows >= self.after:
            raise KeyboardInterrupt


def route(model, out, *, progress=None, table="new.csv", **options):
    options = {"key": "case", "bad_rows": "skip", **options}
    return Study.load(model).route(table, out, progress=progress, **options)


def stopped(model, out, after, **options):
    with pytest.raises(KeyboardInterrupt):
        route(model, out, progress=Stop(after), **options)


@pytest.mark.parametrize("out", ["d.csv", "d.csv.gz", "d.jsonl", "d.parquet"])
def test_a_stopped_run_goes_on_and_the_file_is_the_same(model, table, out):
    whole = route(model, f"whole_{out}")
    for after in (5, 20, 60):
        stopped(model, out, after)
        assert not (table / out).exists()
    routing = route(model, out)
    assert routing.resumed >= 60
    for ending in ("", ".bad-rows.csv"):
        assert (table / f"{out}{ending}").read_bytes() == (table / f"whole_{out}{ending}").read_bytes()
    assert sorted(one.name for one in table.iterdir() if "journal" in one.name) == []
    assert routing.to_dict() | {"resumed": 0, "decisions": "", "bad_rows": ""} == whole.to_dict() | {
        "decisions": "",
        "bad_rows": "",
    }
    assert routing.cautions == whole.cautions
    assert "10 rows have a key that an earlier row has too" in " ".join(routing.notes)
    assert (routing.bad_rows.n_cells, routing.bad_rows.n_rows) == (1, 1)
    assert len(read_frame(out)) == 89


@pytest.mark.parametrize("cell", ["=1+1", "'=1+1"])
def test_a_bad_cell_that_looks_like_a_formula_is_shown_as_it_stands_in_the_file(model, table, cell):
    frame = read_frame("new.csv", as_text=["x"])
    frame.assign(x=frame["x"].where(frame["x"] != "odd", cell)).to_csv("new.csv", index=False)
    whole = route(model, "whole.csv")
    stopped(model, "d.csv", 30)
    routing = route(model, "d.csv")
    assert routing.resumed >= 30
    assert f"{cell!r} is not a number" in routing.bad_rows.note("d.csv")
    assert routing.bad_rows.note("d.csv") == whole.bad_rows.note("d.csv")


def test_limits_go_on_too(model, table):
    options = {"terms": Terms(capacity={"ann": 5}, fees={"all": 0.01})}
    route(model, "whole.csv", **options)
    stopped(model, "d.csv", 30, **options)
    assert route(model, "d.csv", **options).resumed >= 30
    assert (table / "d.csv").read_bytes() == (table / "whole.csv").read_bytes()


@pytest.mark.parametrize("change", ["options", "input", "model", "version"])
def test_another_run_starts_anew(model, table, change, monkeypatch):
    own = table / "model"
    shutil.copytree(model, own)
    stopped(own, "d.csv", 30)
    options = {}
    if change == "options":
        options = {"terms": Terms(absent=["ann"])}
    elif change == "input":
        with open("new.csv", "a") as file:
            file.write("C99,0.5,arm\n")
    elif change == "version":
        monkeypatch.setattr("defero.__version__", "0.0.0")
    else:
        study = Study.load(own)
        study.team = study.team.copy().rename_expert("bob", "bo")
        study.save(own)
    assert route(own, "d.csv", **options).resumed == 0
    assert len(read_frame("d.csv")) == 89 + (change == "input")


def test_a_half_written_piece_is_cut_off(model, table):
    route(model, "whole.csv")
    stopped(model, "d.csv", 30)
    folder = table / "d.csv.journal"
    with (folder / "decisions").open("ab") as file:
        file.write(b"half a li")
    with (folder / journal.LOG).open("ab") as file:
        file.write(b'{"sizes": {"dec')
    assert route(model, "d.csv").resumed >= 30
    assert (table / "d.csv").read_bytes() == (table / "whole.csv").read_bytes()


def test_a_log_ahead_of_the_data_is_not_believed(model, table):
    route(model, "whole.csv")
    stopped(model, "d.csv", 30)
    with (table / "d.csv.journal" / "decisions").open("r+b") as file:
        file.truncate(1000)
    routing = route(model, "d.csv")
    assert 0 < routing.resumed < 30
    assert (table / "d.csv").read_bytes() == (table / "whole.csv").read_bytes()


def test_wrong_input_leaves_nothing_behind(model, table):
    with pytest.raises(ValueError, match="row 13, column x: 'odd' is not a number"):
        route(model, "d.csv", bad_rows="stop")
    assert {one.name for one in table.iterdir()} == {"new.csv"}


def test_two_writers_and_strange_folders_are_refused(model, table):
    def second(rows):
        route(model, "d.csv")

    with pytest.raises(ValueError, match=r"d\.csv: another run is writing it"):
        route(model, "d.csv", progress=second)
    (table / "d.csv.journal").mkdir(exist_ok=True)
    (table / "d.csv.journal" / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match=r"d\.csv\.journal: is in the way"):
        route(model, "d.csv")
    assert (table / "d.csv.journal" / "letter.txt").read_text() == "mine"


def test_keys_are_counted_in_parts_of_the_file(tmp_path):
    keys = pd.Series(np.random.default_rng(0).integers(0, 3_000, 5_000).astype(str))
    marks = repeated_keys.key_marks(keys)
    (tmp_path / "keys").write_bytes(marks.tobytes())
    expected = len(keys) - keys.nunique()
    assert [repeated_keys.n_repeated_in(tmp_path / "keys", at_once=n) for n in (100, 1_000, 10_000)] == [expected] * 3


@pytest.mark.slow
def test_killed_at_random(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    n = 2_000_000
    frame = pd.DataFrame({"case": np.arange(n), "x": rng.normal(size=n), "site": rng.choice(["arm", "leg"], n)})
    frame.to_parquet("new.parquet", row_group_size=300_000)
    lines_at_once = "from defero.data.tables import journal; journal.SECONDS_BETWEEN = 0.0; import defero.__main__"
    command = [sys.executable, "-c", lines_at_once, "route", str(model), "new.parquet", "--key", "case", "--out"]
    subprocess.run([*command, "whole.parquet"], check=True, capture_output=True)
    log = tmp_path / "d.parquet.journal" / "log.jsonl"
    # The clock of a busy machine says nothing: the journal, a line for each 50,000 rows, says how far a run is.
    for n_lines in (0, *np.sort(rng.integers(1, 25, 6)).tolist()):
        process = subprocess.Popen([*command, "d.parquet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and (not log.exists() or log.read_bytes().count(b"\n") < n_lines):
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.05))
        assert process.poll() is None, "the run ended before it was killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert log.exists()
    subprocess.run([*command, "d.parquet"], check=True, capture_output=True)
    assert (tmp_path / "d.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
