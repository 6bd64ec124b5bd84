"""Downloads against a server of our own: progress, and everything that goes wrong."""

import errno
import hashlib
import os
from types import SimpleNamespace

import pytest
from file_server import Site, serve

from defero.datasets.download import DownloadError, download

CONTENT = os.urandom(1 << 20) + b"the end"
SHA = hashlib.sha256(CONTENT).hexdigest()


def left(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_with_progress(tmp_path):
    told = []
    with serve(Site(CONTENT)) as site:
        found = download(site.url, tmp_path / "sub" / "file.bin", progress=lambda *now: told.append(now))
    assert found == SHA
    assert (tmp_path / "sub" / "file.bin").read_bytes() == CONTENT
    assert told[0] == (0, len(CONTENT))
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert left(tmp_path / "sub") == ["file.bin"]


@pytest.mark.parametrize("sha256", [SHA, None], ids=["known", "unknown"])
def test_a_cut_download_is_told_and_leaves_nothing(tmp_path, sha256):
    with serve(Site(CONTENT, cut_after=300_000)) as site:
        with pytest.raises(DownloadError, match=rf"broke off after 300000 of {len(CONTENT)} bytes; try again"):
            download(site.url, tmp_path / "file.bin", sha256=sha256)
        assert left(tmp_path) == []
        site.cut_after = None
        assert download(site.url, tmp_path / "file.bin", sha256=sha256) == SHA
    assert left(tmp_path) == ["file.bin"]


def test_a_wrong_checksum_leaves_nothing(tmp_path):
    with serve(Site(CONTENT[:-1] + b"!")) as site, pytest.raises(DownloadError, match=f"expected {SHA}: damaged"):
        download(site.url, tmp_path / "file.bin", sha256=SHA)
    assert left(tmp_path) == []


@pytest.mark.parametrize(("status", "said"), [(404, "answers 404 \\(Not Found\\)"), (403, "403"), (503, "503")])
def test_an_answer_that_is_no_file(tmp_path, status, said):
    with serve(Site(status=status)) as site, pytest.raises(DownloadError, match=said):
        download(site.url, tmp_path / "file.bin")
    assert left(tmp_path) == []


def test_nobody_is_there(tmp_path):
    with serve(Site()) as site:
        pass
    with pytest.raises(DownloadError, match="cannot be reached"):
        download(site.url, tmp_path / "file.bin")
    assert left(tmp_path) == []


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://example.org/x", "cases.csv"])
def test_only_the_web_is_asked(tmp_path, url):
    with pytest.raises(DownloadError, match="only http and https"):
        download(url, tmp_path / "file.bin")


@pytest.mark.parametrize("length", [True, False], ids=["length given", "length not given"])
def test_a_file_that_is_too_long_is_refused(tmp_path, length):
    with serve(Site(CONTENT, length=length)) as site, pytest.raises(DownloadError, match="longer than 999 bytes"):
        download(site.url, tmp_path / "file.bin", sha256=SHA, most_bytes=999)
    assert left(tmp_path) == []


@pytest.mark.parametrize("place", ["ftp://127.0.0.1/x", "file:///etc/hostname"])
def test_a_redirect_stays_on_the_web(tmp_path, place):
    with serve(Site(CONTENT)) as site:
        site.headers = {"Location": place}
        site.status = 302
        with pytest.raises(DownloadError, match=r"only http and https|not allowed"):
            download(site.url, tmp_path / "file.bin")
    assert left(tmp_path) == []


def test_a_redirect_on_the_web_is_followed(tmp_path):
    with serve(Site(CONTENT)) as site, serve(Site()) as first:
        first.status, first.headers = 302, {"Location": site.url}
        assert download(first.url, tmp_path / "file.bin", sha256=SHA) == SHA


@pytest.mark.parametrize("length", ["\u00b2", "9" * 5_000, "-1", "0x10"])
def test_an_odd_length_is_no_length(tmp_path, length):
    with serve(Site(CONTENT, length=False)) as site:
        site.headers = {"Content-Length": length}
        with pytest.raises(DownloadError):
            download(site.url, tmp_path / "file.bin")


def test_a_file_of_unknown_length_needs_a_hash(tmp_path):
    with serve(Site(CONTENT, length=False)) as site:
        with pytest.raises(DownloadError, match="does not say how long it is"):
            download(site.url, tmp_path / "file.bin")
        assert download(site.url, tmp_path / "file.bin", sha256=SHA) == SHA


def test_too_little_room_is_told_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1000))
    with serve(Site(CONTENT)) as site, pytest.raises(DownloadError, match=r"disk of .* is full; make room"):
        download(site.url, tmp_path / "file.bin")
    assert left(tmp_path) == []


def test_a_disk_that_fills_up_leaves_nothing(tmp_path, monkeypatch):
    def full(url, part, **_):
        part.write_bytes(b"x")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("defero.datasets.download._receive", full)
    with serve(Site(CONTENT)) as site, pytest.raises(DownloadError, match=r"disk of .* is full"):
        download(site.url, tmp_path / "file.bin")
    assert left(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with serve(Site(CONTENT)) as site, pytest.raises(DownloadError, match="cannot be written"):
        download(site.url, tmp_path / "taken" / "file.bin")
