"""Archives that somebody else made: what is taken, and every trick that is refused without a trace."""

import errno
import io
import stat
import tarfile
import zipfile

import pytest

from defero.core.errors import InputError
from defero.datasets.unpack import unpack


def tar(path, *members, mode="w:gz"):
    """Write a tar of (name, bytes) or (name, type, link target)."""
    with tarfile.open(path, mode) as archive:
        for member in members:
            info = tarfile.TarInfo(member[0])
            if len(member) == 3:
                info.type, info.linkname = member[1], member[2]
                archive.addfile(info)
            else:
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def zipped(path, *members):
    """Write a zip of (name, bytes) or (name, bytes, file mode)."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content, *mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode[0] if mode else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return path


@pytest.fixture
def home(tmp_path):
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def everything(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("make", [tar, zipped])
def test_files_come_out_where_they_belong(tmp_path, home, make):
    archive = make(tmp_path / "a", ("top/one.txt", b"1"), ("top/deep/two.txt", b"22"), ("three", b""))
    taken = unpack(archive, home)
    assert sorted(path.relative_to(home).as_posix() for path in taken) == ["three", "top/deep/two.txt", "top/one.txt"]
    assert (home / "top" / "deep" / "two.txt").read_bytes() == b"22"


@pytest.mark.parametrize("make", [tar, zipped])
def test_wanted_members_alone_and_old_files_stay(tmp_path, home, make):
    (home / "kept").write_text("mine")
    archive = make(tmp_path / "a", ("box/data/x.json", b"x"), ("box/data/y.json", b"y"), ("box/yx.json", b"no"))
    unpack(archive, home, members=("data/x.json",))
    assert everything(home) == ["box", "box/data", "box/data/x.json", "kept"]


def test_what_lies_behind_the_wanted_members_is_not_read(tmp_path, home):
    whole = tar(tmp_path / "a", ("x", b"x" * 9000), ("y", b"y" * 200_000), mode="w").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:20_000])
    unpack(tmp_path / "cut", home, members=("x",))
    assert everything(home) == ["x"]
    with pytest.raises(InputError, match="no archive that can be read"):
        unpack(tmp_path / "cut", home, members=("y",))


def test_a_missing_member_is_told(tmp_path, home):
    with pytest.raises(InputError, match=r"must contain z\.json, and it does not"):
        unpack(zipped(tmp_path / "a", ("x.json", b"x")), home, members=("x.json", "z.json"))
    assert everything(home) == []


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_member_without_a_name_is_refused(tmp_path, home, make):
    with pytest.raises(InputError, match="without a name"):
        unpack(make(tmp_path / "a", ("good.txt", b"fine"), ("", b"evil")), home)
    assert everything(home) == []


OUTSIDE = ["../evil", "good/../../evil", "/tmp/evil", "C:/evil", "..\\evil", "good\\..\\evil"]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("make", [tar, zipped])
def test_no_path_leaves_the_folder(tmp_path, home, make, name):
    with pytest.raises(InputError, match="leads out of the folder; such an archive is not unpacked"):
        unpack(make(tmp_path / "a", ("good.txt", b"fine"), (name, b"evil")), home)
    assert everything(home) == []
    assert everything(tmp_path) == ["a", "home"]


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        (tarfile.SYMTYPE, "/etc/passwd", "a link"),
        (tarfile.SYMTYPE, "good.txt", "a link"),
        (tarfile.LNKTYPE, "good.txt", "a link"),
        (tarfile.CHRTYPE, "", "no plain file"),
        (tarfile.BLKTYPE, "", "no plain file"),
        (tarfile.FIFOTYPE, "", "no plain file"),
    ],
)
def test_links_and_devices_of_a_tar_are_refused(tmp_path, home, kind, target, said):
    archive = tar(tmp_path / "a", ("good.txt", b"fine"), ("trick", kind, target))
    with pytest.raises(InputError, match=f"trick is {said}; such an archive is not unpacked"):
        unpack(archive, home)
    assert everything(home) == []


@pytest.mark.parametrize(("mode", "said"), [(stat.S_IFLNK, "a link"), (stat.S_IFIFO, "no plain file")])
def test_links_and_devices_of_a_zip_are_refused(tmp_path, home, mode, said):
    with pytest.raises(InputError, match=f"trick is {said}"):
        unpack(zipped(tmp_path / "a", ("good.txt", b"fine"), ("trick", b"/etc/passwd", mode | 0o777)), home)
    assert everything(home) == []


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_bomb_is_refused(tmp_path, home, make):
    archive = make(tmp_path / "a", ("one", b"\0" * 600_000), ("two", b"\0" * 600_000))
    assert archive.stat().st_size < 10_000
    with pytest.raises(InputError, match="unpacks to more than 1000000 bytes"):
        unpack(archive, home, most_bytes=1_000_000)
    assert everything(home) == []


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_flood_of_files_is_refused(tmp_path, home, make):
    with pytest.raises(InputError, match="more than 3 files"):
        unpack(make(tmp_path / "a", *((f"f{i}", b"") for i in range(5))), home, most_files=3)
    assert everything(home) == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("make", [tar, zipped])
def test_one_name_twice_is_refused(tmp_path, home, make):
    with pytest.raises(InputError, match="names x twice"):
        unpack(make(tmp_path / "a", ("x", b"1"), ("x", b"2")), home)
    assert everything(home) == []


@pytest.mark.parametrize("make", [tar, zipped])
def test_a_file_used_as_a_folder_is_refused(tmp_path, home, make):
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(make(tmp_path / "a", ("x", b"1"), ("x/y", b"2")), home)
    assert everything(home) == []


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 broken", b"\x1f\x8b\x08 broken"])
def test_what_is_no_archive(tmp_path, home, content):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(InputError, match=r"a (is no archive|cannot be unpacked)"):
        unpack(tmp_path / "a", home)
    assert everything(home) == []


def test_a_damaged_zip_is_told(tmp_path, home):
    archive = zipped(tmp_path / "a", ("x", bytes(range(256)) * 50))
    damaged = bytearray(archive.read_bytes())
    damaged[60] ^= 0xFF
    archive.write_bytes(damaged)
    with pytest.raises(InputError, match="no archive that can be read"):
        unpack(archive, home)
    assert everything(home) == []


def test_a_full_disk_is_told(tmp_path, home, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("defero.datasets.unpack._copy", full)
    with pytest.raises(InputError, match=r"disk of .* is full"):
        unpack(tar(tmp_path / "a", ("x", b"1")), home)
    assert everything(home) == []


def test_modes_of_the_archive_are_not_taken_over(tmp_path, home):
    unpack(zipped(tmp_path / "a", ("x", b"1", stat.S_IFREG | stat.S_ISUID | 0o777)), home)
    assert not (home / "x").stat().st_mode & (stat.S_ISUID | stat.S_IXUSR)
