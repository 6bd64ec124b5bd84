"""A model on disk: whole or not at all, never over somebody else's files, and every damage told with its file."""

import json
import re
import stat
from pathlib import Path

import numpy as np
import pytest

from defero.core.errors import ModelFolderError
from defero.data.model_folder import MANIFEST, WEIGHTS, check_writable, library_versions, read_folder, write_folder

ARRAYS = {"weight": np.arange(6.0).reshape(2, 3), "seen.fit": np.array([1, 2**63], dtype=np.uint64)}


def write(folder, manifest=None, arrays=None):
    write_folder(folder, lambda draft: (manifest or {"kind": "toy", "fee": 0.1}, arrays or ARRAYS))


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model(tmp_path):
    write(tmp_path / "model")
    return tmp_path / "model"


def test_what_was_written_is_read(model):
    manifest, arrays = read_folder(model)
    assert manifest["kind"] == "toy"
    assert manifest["fee"] == 0.1
    assert manifest["format"] == 1
    assert manifest["versions"] == library_versions()
    assert set(files(model)) == {MANIFEST, WEIGHTS}
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_an_array_in_the_other_order_is_written_as_it_reads(tmp_path):
    write(tmp_path / "model", arrays={"w": np.arange(6.0).reshape(2, 3).T})
    assert read_folder(tmp_path / "model")[1]["w"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_other_files_of_the_model_are_checked_too(tmp_path):
    def fill(draft):
        (draft / "extra.bin").write_bytes(b"123")
        return {}, ARRAYS

    write_folder(tmp_path / "model", fill)
    read_folder(tmp_path / "model")
    (tmp_path / "model" / "extra.bin").write_bytes(b"124")
    with pytest.raises(ModelFolderError, match=r"extra.bin: the model folder is damaged \(its checksum is not the one"):
        read_folder(tmp_path / "model")


def test_a_model_is_readable_by_others(model):
    assert stat.S_IMODE(model.stat().st_mode) == 0o755
    assert {stat.S_IMODE(path.stat().st_mode) for path in model.iterdir()} == {0o644}


def test_an_older_model_and_an_empty_folder_are_replaced(model, tmp_path):
    write(model, {"kind": "newer"})
    assert read_folder(model)[0]["kind"] == "newer"
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty")
    (tmp_path / "link").symlink_to(model)
    write(tmp_path / "link", {"kind": "linked"})
    assert read_folder(model)[0]["kind"] == "linked"
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
def test_a_failing_save_leaves_what_there_was(tmp_path, existing):
    if existing:
        write(tmp_path / "model")
    before = {path.name: files(path) for path in tmp_path.iterdir()}

    def fill(draft):
        (draft / "half.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(tmp_path / "model", fill)
    with pytest.raises(TypeError, match="not JSON serializable"):
        write(tmp_path / "model", {"what": object()})
    assert {path.name: files(path) for path in tmp_path.iterdir()} == before


def test_an_older_model_survives_a_failure_at_the_last_step(model, tmp_path, monkeypatch):
    before, rename = files(model), Path.rename

    def fails_for_the_new_one(self, target):
        if target == model and not self.name.endswith(".old"):
            raise OSError("disk on fire")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails_for_the_new_one)
    with pytest.raises(OSError, match="disk on fire"):
        write(model, {"kind": "newer"})
    assert files(model) == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_missing_folder_and_one_without_a_model(tmp_path):
    with pytest.raises(
        ModelFolderError, match=r"none: no such model folder; `defero fit \.\.\. --out .*none` makes one"
    ):
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


@pytest.mark.parametrize("text", ["[]", "{}", "null", '{"format": 1}', '{"format": 1, "files": 3}'])
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
        match=rf"model.json: written in format 2, this version of defero reads format 1; fit again, or install the "
        rf"defero that wrote it \({writer}\)",
    ):
        read_folder(model)
