"""The key of row fingerprints: made once, private, and without it no row or patient can be found by trying all."""

import itertools
import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from defero.core.errors import InputError
from defero.data.fingerprint import (
    VARIABLE,
    key_file,
    key_id,
    known_key_id,
    row_fingerprints,
    rows_key,
    siphash,
    text_fingerprints,
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    return tmp_path


def test_the_key_is_made_at_first_use_and_is_private(home):
    assert known_key_id() is None
    key = rows_key()
    path = home / "defero" / "rows.key"
    assert key_file() == path
    assert path.read_text() == f"{key.hex()}\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["rows.key"]
    assert rows_key() == key
    assert known_key_id() == key_id(key)


def test_processes_that_start_together_have_one_key(home):
    code = "from defero.data.fingerprint import rows_key; print(rows_key().hex())"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({run.communicate()[0] for run in runs}) == 1


def test_the_variable_holds_the_key_or_names_its_file(home, monkeypatch):
    (home / "other.key").write_text("ab" * 32)
    for value in ("ab" * 32, str(home / "other.key")):
        monkeypatch.setenv(VARIABLE, value)
        assert rows_key() == b"\xab" * 32
    assert not key_file().exists()


@pytest.mark.parametrize(("value", "fact"), [("no/such/file", "no/such/file"), ("short.key", "64 hexadecimal digits")])
def test_a_wrong_key_is_told(home, monkeypatch, value, fact):
    monkeypatch.chdir(home)
    (home / "short.key").write_text("ab")
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(InputError, match=rf"{VARIABLE}: .*{fact}"):
        rows_key()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_without_a_place_for_it_the_key_lasts_as_long_as_the_process(home):
    home.chmod(0o500)
    assert rows_key() == rows_key()


def test_fingerprints_of_another_key_are_others(home, monkeypatch):
    rows = np.arange(12.0).reshape(6, 2)
    ours, names = row_fingerprints(rows), text_fingerprints("abc")
    monkeypatch.setenv(VARIABLE, "cd" * 32)
    assert not np.isin(row_fingerprints(rows), ours).any()
    assert not np.isin(text_fingerprints("abc"), names).any()


def test_rows_and_patients_cannot_be_found_by_trying_all(home, monkeypatch):
    """200 rows of three small columns and 320 patient numbers, tried with every public function and no key."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(18, 100, 200), rng.integers(0, 2, 200), rng.integers(0, 10, 200)])
    patients = [f"P{number:04d}" for number in rng.choice(10_000, 320, replace=False)]
    kept = np.concatenate([row_fingerprints(rows), text_fingerprints(patients)])
    tried = np.array(list(itertools.product(range(18, 100), range(2), range(10))))
    names = [f"P{number:04d}" for number in range(10_000)]
    assert np.isin(kept, np.concatenate([row_fingerprints(tried), text_fingerprints(names)])).all()  # with the key
    stranger = home / "stranger"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(stranger))
    guesses = np.concatenate([row_fingerprints(tried), text_fingerprints(names)])
    plain = [siphash(guesses, bytes(16)), guesses]
    assert not np.isin(kept, np.concatenate(plain)).any()


def test_a_model_folder_does_not_hold_the_key(home, tmp_path):
    from defero import ModelOnly

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    ModelOnly().fit(X, y, experts=y[:, None]).save(tmp_path / "model")
    key = rows_key()
    content = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert key not in content
    assert key.hex().encode() not in content
    assert json.loads((tmp_path / "model" / "model.json").read_text())["rows_key"] == key_id(key)
