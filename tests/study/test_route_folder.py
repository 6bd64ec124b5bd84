"""A folder is routed file by file, with the bytes of route, by any number of workers, and goes on where it stopped."""

import pandas as pd
import pytest

from defero import Study, read_cases
from defero.core.errors import InputError
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
    assert (one.files, one.cases) == (2, 100)
    assert one.load == two.load
    assert "100 cases in 2 files" in repr(one)
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
