"""Reading stored runs: from a small folder made here."""

import json
from dataclasses import replace

import numpy as np
import pytest
from stored_cases import stored_folder

from defero import InputError
from defero.datasets import DATASETS, load_dataset
from defero_verma2023.stored.outputs import list_runs, outputs_folder, read_run


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "verma2023_outputs"
    made.mkdir()
    np.savez(
        made / "a.npz",
        logits=np.arange(10, dtype=np.float32).reshape(2, 5),
        expert_preds=np.array([[0, 1], [1, 1]], dtype=np.int16),
        labels=np.array([0, 1], dtype=np.int16),
    )
    plain = {"experiment": "x", "method": "ova", "config_name": "k", "config_value": 2, "K": 3, "J": 2, "N": 2}
    entries = [
        {**plain, "file": "a.npz", "seed": 436, "conf_kind": "logits", "has_logits": True, "published_conformal": None},
        {**plain, "file": "b.npz", "seed": "", "conf_kind": "logits", "has_logits": True},
    ]
    (made / "index.json").write_text(json.dumps({"entries": entries}), encoding="utf-8")
    return made


def test_a_run_has_classes_experts_answers_and_labels(folder):
    (entry,) = list_runs(folder)
    run = read_run(folder, entry)
    assert (entry.setting, entry.seed, entry.published_size) == (2.0, 436, {})
    assert run.class_logits.tolist() == [[0, 1, 2], [5, 6, 7]]
    assert run.expert_logits.tolist() == [[3, 4], [8, 9]]
    assert run.expert_correct.tolist() == [[True, False], [True, True]]
    assert len(run) == 2


def test_runs_of_one_seed_whose_files_are_there(folder):
    (folder / "b.npz").touch()
    assert [entry.seed for entry in list_runs(folder)] == [436, None]
    assert [entry.file for entry in list_runs(folder, seed=436)] == ["a.npz"]
    assert list_runs(folder, seed=1) == ()


def test_the_folder_is_found_through_the_environment(folder, monkeypatch):
    monkeypatch.setenv("DEFERO_DATA", str(folder.parent))
    assert outputs_folder() == folder
    monkeypatch.setenv("DEFERO_DATA", str(folder))
    with pytest.raises(InputError, match=r"must hold index\.json"):
        outputs_folder()
    monkeypatch.delenv("DEFERO_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    with pytest.raises(InputError, match="DEFERO_DATA is not set: let it name the folder"):
        outputs_folder()
    cached = folder / "defero" / "verma2023_outputs"
    cached.mkdir(parents=True)
    (cached / "index.json").write_text("{}", encoding="utf-8")
    assert outputs_folder() == cached


def test_what_cannot_be_read_is_named(folder):
    (entry,) = list_runs(folder)
    with pytest.raises(InputError, match=r"a\.npz holds no logits"):
        read_run(folder, replace(entry, has_logits=False))
    with pytest.raises(InputError, match=r"b\.npz is not there"):
        read_run(folder, replace(entry, file="b.npz"))
    with pytest.raises(InputError, match=r"must hold logits \(2, 6\) and answers \(2, 3\), got \(2, 5\) and \(2, 2\)"):
        read_run(folder, replace(entry, n_experts=3))


def test_the_package_registers_its_data_set():
    assert DATASETS.find("verma2023-outputs").tree == "verma2023_outputs"


def test_the_stored_outputs_are_whole():
    stored_folder()
    folder = load_dataset("verma2023-outputs")
    assert (folder / "index.json").is_file()
    assert len(list(folder.rglob("*.npz"))) == 285
