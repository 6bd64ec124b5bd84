"""A sweep gives the figures of single studies, whatever the workers, and goes on where it stopped."""

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
from defero.datasets import wedge

NAMES = ["ann", "bob", "cem", "dot"]


@pytest.fixture(scope="module")
def cases():
    past = wedge(300, random_state=0)
    frame = pd.DataFrame(past.features).add_prefix("x").assign(truth=past.labels)
    frame[NAMES] = past.answers
    return read_cases(frame, label="truth", expert_names=NAMES)


@pytest.fixture(scope="module")
def sweep_folder(cases, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sweep")
    return folder, Study(cases).sweep(net="linear", loss="ova", seeds=[0, 1], out=folder)


def test_a_run_is_a_study_of_its_seed(cases, sweep_folder):
    _, sweep = sweep_folder
    study = Study(cases, random_state=1)
    study.fit("linear", loss="ova")
    record = study.evaluate().record
    row = sweep.to_frame().iloc[1]
    assert (row["seed"], row["items"]) == (1, record.team.total)
    assert row["team"] == record.team.value
    assert row["promised"] == pytest.approx(record.promised)
    assert "2 runs" in repr(sweep)
    assert sweep.means()["seeds"].tolist() == [2]


def test_two_workers_write_the_same_bytes_and_a_stopped_sweep_goes_on(cases, sweep_folder, tmp_path):
    folder, sweep = sweep_folder
    done = sorted(folder.iterdir())
    (tmp_path / done[0].name).write_bytes(done[0].read_bytes())  # a sweep that stopped after its first run
    before = (tmp_path / done[0].name).stat().st_mtime_ns
    again = Study(cases).sweep(net="linear", loss="ova", seeds=[0, 1], out=tmp_path, workers=2)
    assert again.to_frame().equals(sweep.to_frame())
    assert (tmp_path / done[0].name).stat().st_mtime_ns == before
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [path.read_bytes() for path in done]


def test_bad_sweeps_are_refused(cases):
    with pytest.raises(InputError, match="seeds"):
        Study(cases).sweep(seeds=[])
    with pytest.raises(InputError, match="twice"):
        Study(cases).sweep(net=["linear", "linear"])
