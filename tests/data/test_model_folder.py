"""A model on disk: whole or not at all, never over somebody else's files, and every damage told with its file."""

import hashlib
import json
import os
import re
import stat
from pathlib import Path

import numpy as np
import pytest
from toy_models import ARRAYS, write

from defero.core.codec import Packed
from defero.core.errors import ModelFolderError
from defero.data import whole_files
from defero.data.model_folder import (
    MANIFEST,
    WEIGHTS,
    check_writable,
    library_versions,
    read_folder,
    write_folder,
)

NET = "net.onnx"


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model(tmp_path):
    write(tmp_path / "model")
    return tmp_path / "model"


def test_what_was_written_is_read(model):
    read = read_folder(model)
    manifest, arrays = read.manifest, read.arrays
    assert manifest["kind"] == "toy"
    assert manifest["fee"] == 0.1
    assert manifest["format"] == 3
    assert manifest["versions"] == library_versions()
    assert set(files(model)) == {MANIFEST, WEIGHTS}
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_an_array_in_the_other_order_is_written_as_it_reads(tmp_path):
    write(tmp_path / "model", arrays={"w": np.arange(6.0).reshape(2, 3).T})
    assert read_folder(tmp_path / "model").arrays["w"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_other_files_of_the_model_are_checked_too(tmp_path):
    write_folder(tmp_path / "model", Packed({}, ARRAYS, {NET: b"123"}))
    assert read_folder(tmp_path / "model").files == {NET: b"123"}
    (tmp_path / "model" / NET).write_bytes(b"124")
    with pytest.raises(ModelFolderError, match=r"net.onnx: the model folder is damaged \(its checksum is not the one"):
        read_folder(tmp_path / "model")


def test_an_unknown_file_is_not_written(tmp_path):
    with pytest.raises(ModelFolderError, match=r"no file extra\.bin"):
        write_folder(tmp_path / "model", Packed({}, ARRAYS, {"extra.bin": b"123"}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("umask", "folder", "file"), [(0o077, 0o700, 0o600), (0o022, 0o755, 0o644)])
def test_permissions_are_those_of_the_umask(tmp_path, umask, folder, file):
    before = os.umask(umask)
    try:
        for _ in range(2):  # new, and in place of another one
            write(tmp_path / "model")
            assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == folder
            assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "model").iterdir()} == {file}
    finally:
        os.umask(before)


def test_an_older_model_and_an_empty_folder_are_replaced(model, tmp_path):
    write(model, {"kind": "newer"})
    assert read_folder(model).manifest["kind"] == "newer"
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    (tmp_path / "link").symlink_to(model)
    write(tmp_path / "link", {"kind": "linked"})
    assert read_folder(model).manifest["kind"] == "linked"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "link", "model"]


def test_a_damaged_model_can_be_replaced(model):
    (model / MANIFEST).write_text('{"format": 1,')
    write(model)
    read_folder(model)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"cases.csv": "a"}, "exists and is no model folder; choose another name, it was left as it is"),
        ({"model.json": '{"layers": []}', "w.bin": "x"}, "exists and is no model folder; choose another name"),
        ({"model.json": '{"layers": []}'}, "exists and is no model folder; choose another name"),
        ({"model.json": "broken", "cases.csv": "a"}, "holds cases.csv beside a model; move that away or choose"),
    ],
)
def test_somebody_elses_folder_is_left_as_it_is(tmp_path, content, message):
    folder = tmp_path / "theirs"
    folder.mkdir()
    for name, text in content.items():
        (folder / name).write_text(text)
    before = files(folder)
    with pytest.raises(ModelFolderError, match=rf"theirs: {message}"):
        write(folder)
    assert files(folder) == before
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_what_was_put_beside_a_model_is_not_deleted(model):
    (model / "decisions.csv").write_text("precious")
    before = files(model)
    with pytest.raises(ModelFolderError, match=r"model: holds decisions.csv beside a model; move that away or choose"):
        write(model)
    assert files(model) == before


def test_a_file_in_the_way_is_left_as_it_is(tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(ModelFolderError, match="file: exists and is no model folder"):
        check_writable(tmp_path / "file")
    with pytest.raises(ModelFolderError, match=r"no/model: the folder .*no does not exist; make it first"):
        write(tmp_path / "no" / "model")


@pytest.mark.parametrize("existing", [False, True])
def test_a_failing_save_leaves_what_there_was(tmp_path, existing, monkeypatch):
    if existing:
        write(tmp_path / "model")
    before = {path.name: files(path) for path in tmp_path.iterdir()}

    def full(handle):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFolderError, match="no space"):
        write(tmp_path / "model")
    with pytest.raises(TypeError, match="not JSON serializable"):
        write(tmp_path / "model", {"what": object()})
    assert {path.name: files(path) for path in tmp_path.iterdir()} == before


def test_an_older_model_survives_a_failure_at_the_last_step(model, tmp_path, monkeypatch):
    """Where the system cannot exchange two folders at once."""
    before, rename = files(model), Path.rename
    monkeypatch.setattr(whole_files, "exchange", lambda one, other: False)

    def fails_for_the_new_one(self, target):
        if target == model and ".old" not in self.name:
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(ModelFolderError, match="disk on fire"):
        write(model, {"kind": "newer"})
    assert files(model) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_missing_folder_and_one_without_a_model(tmp_path):
    with pytest.raises(ModelFolderError, match="none: no such model folder; name the folder that fit or save wrote"):
        read_folder(tmp_path / "none")
    with pytest.raises(ModelFolderError, match=r"holds no model\.json, so it is no model folder; name the folder that"):
        read_folder(tmp_path)


def cut_in_half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
@pytest.mark.parametrize("damage", [cut_in_half, flip_a_bit, Path.unlink, lambda path: path.write_bytes(b"")])
def test_damage_is_told_with_its_file(model, name, damage):
    damage(model / name)
    with pytest.raises(ModelFolderError) as error:
        read_folder(model)
    gone = not (model / MANIFEST).exists()
    expected = (
        "holds no model.json" if gone else rf"{name}: the model folder is damaged \(.*\); fit again or restore it\.$"
    )
    assert re.search(expected, str(error.value))


def test_no_flipped_bit_goes_unseen(model):
    """Either the damage is told, or the file still says the same (a digit beyond double precision)."""
    path = model / MANIFEST
    whole = path.read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1
        path.write_bytes(content)
        try:
            read_folder(model)
        except ModelFolderError:
            continue
        assert json.loads(bytes(content)) == json.loads(whole)


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"format": 3}', '{"format": 3, "files": 3}'])
def test_json_that_is_no_model_is_told(model, text):
    (model / MANIFEST).write_text(text)
    with pytest.raises(ModelFolderError, match=r"model.json: the model folder is damaged \(.*\); fit again or restore"):
        read_folder(model)


@pytest.mark.parametrize(("versions", "writer"), [({"defero": "9.1"}, "9.1"), ({}, "unknown"), ([], "unknown")])
def test_another_format_says_who_can_read_it(model, versions, writer):
    manifest = json.loads((model / MANIFEST).read_text())
    (model / MANIFEST).write_text(json.dumps({**manifest, "format": 2, "versions": versions}))
    with pytest.raises(
        ModelFolderError,
        match=rf"model.json: .*format 2.*format 3; fit again.*defero {writer}\.",
    ):
        read_folder(model)


@pytest.mark.parametrize("names", [{"docs": ""}, {"docs": "", WEIGHTS: ""}, {WEIGHTS: ""}])
def test_a_forged_manifest_deletes_nothing(tmp_path, names):
    folder = tmp_path / "theirs"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "thesis.txt").write_text("years of work")
    (folder / MANIFEST).write_text(json.dumps({"format": 3, "files": names}))
    with pytest.raises(ModelFolderError, match="theirs: holds docs beside a model"):
        write(folder)
    assert (folder / "docs" / "thesis.txt").read_text() == "years of work"


def test_a_folder_with_the_name_of_a_file_is_not_deleted(model):
    (model / NET).mkdir()
    (model / NET / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelFolderError, match=r"holds net\.onnx beside a model"):
        write(model)
    assert (model / NET / "thesis.txt").exists()


def test_what_comes_in_between_is_left_with_a_warning(model, tmp_path, monkeypatch):
    swap = whole_files.exchange

    def late(draft, target):
        (target / "late.txt").write_text("mine")
        return swap(draft, target)

    monkeypatch.setattr(whole_files, "exchange", late)
    with pytest.warns(UserWarning, match="left as it is"):
        write(model, {"kind": "newer"})
    assert read_folder(model).manifest["kind"] == "newer"
    assert [path.read_text() for path in tmp_path.glob(".model-*/late.txt")] == ["mine"]


@pytest.mark.parametrize("name", [MANIFEST, WEIGHTS])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_only_regular_files_are_read(model, name, kind):
    (model / name).unlink()
    if kind == "pipe":
        os.mkfifo(model / name)
    elif kind == "device":
        (model / name).symlink_to("/dev/zero")
    else:
        (model / name).mkdir()
    with pytest.raises(ModelFolderError, match=r"it is no regular file|holds no model\.json"):
        read_folder(model)


def test_a_file_outside_the_folder_is_not_read(model, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    seal(model, files={**json.loads((model / MANIFEST).read_text())["files"], "../secret.txt": "0"})
    with pytest.raises(ModelFolderError, match=r"its files must be weights\.safetensors"):
        read_folder(model)


def seal(folder, **changes):
    manifest = {**json.loads((folder / MANIFEST).read_text()), **changes}
    manifest.pop("checksum")
    checksum = hashlib.sha256(json.dumps(manifest, ensure_ascii=False).encode("utf-8", "surrogatepass")).hexdigest()
    (folder / MANIFEST).write_text(json.dumps({**manifest, "checksum": checksum}))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"], ids=repr)
def test_numbers_and_texts_that_are_none_are_told(model, value):
    seal(model, fee=value)
    with pytest.raises(ModelFolderError, match=r"model\.json: the model folder is damaged"):
        read_folder(model)


def test_deep_nesting_is_told(model):
    text = (model / MANIFEST).read_text().replace('"toy"', "[" * 100_000 + "]" * 100_000)
    (model / MANIFEST).write_text(text)
    with pytest.raises(ModelFolderError, match="nested too deeply"):
        read_folder(model)


def test_an_empty_array_cannot_claim_an_endless_axis(tmp_path):
    header = json.dumps({"w": {"dtype": "F64", "shape": [10**12, 0], "data_offsets": [0, 0]}}).encode()
    write(tmp_path / "model")
    content = len(header).to_bytes(8, "little") + header
    (tmp_path / "model" / WEIGHTS).write_bytes(content)
    seal(tmp_path / "model", files={WEIGHTS: hashlib.sha256(content).hexdigest()})
    with pytest.raises(ModelFolderError, match="more than its bytes can hold"):
        read_folder(tmp_path / "model")


def test_half_a_surrogate_pair_in_a_name_cannot_be_saved_and_is_said(tmp_path):
    with pytest.raises(ModelFolderError, match=r"half a surrogate pair, which is no character \(.*ud800"):
        write_folder(tmp_path / "model", Packed({"classes": ["a", "\ud800"]}, {}, {}))
    assert not list(tmp_path.iterdir())
