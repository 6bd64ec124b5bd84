"""A data set of another package: listed, described and loaded by its name. The example is from docs/howto/extend.md."""

import json

import pytest
from outside_package import example, install, run

from defero.core.errors import InputError
from defero.datasets import DATASETS, Dataset, load_dataset


@pytest.fixture
def outside(tmp_path, monkeypatch):
    (tmp_path / "data" / "wards").mkdir(parents=True)
    (tmp_path / "data" / "wards" / "cases.csv").write_text("age,truth,ann,ben\n30,0,0,1\n40,1,1,1\n50,0,0,\n")
    install(
        tmp_path / "package",
        "wards",
        example("A data set"),
        group="defero.datasets",
        name="wards",
        attribute="WARDS",
    )
    monkeypatch.syspath_prepend(str(tmp_path / "package"))
    monkeypatch.setenv("DEFERO_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("outside")
def test_the_command_knows_it():
    listed = json.loads(run("datasets", "list", "--json"))
    names = {one["name"]: one["here"] for one in listed["datasets"]}
    assert names["wards"] == "source"
    assert "cifar10" in names
    about = json.loads(run("datasets", "info", "wards", "--json"))
    assert about["loader"] == "wards.load_wards"


@pytest.mark.usefixtures("outside")
def test_python_loads_it_with_its_options():
    assert (load_dataset("wards").n_experts, len(load_dataset("wards", oldest=45))) == (2, 2)


def test_it_can_be_registered_by_hand(tmp_path):
    entry = Dataset(
        name="toy",
        title="Toy",
        what="a toy",
        licence="MIT",
        citation="Us (2026).",
        homepage="https://example.org",
        files=(),
        load=lambda *, folder, rows=2: (folder, rows),
        by_hand="nothing",
    )
    DATASETS.register(entry.name, entry)
    assert load_dataset("toy", folder=tmp_path, rows=3) == (tmp_path, 3)
    with pytest.raises(InputError, match="'toy' is registered already"):
        DATASETS.register(entry.name, Dataset(**{**vars(entry), "title": "Another"}))
