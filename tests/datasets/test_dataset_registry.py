"""The registry, the cache folder, and `get_dataset` against a server of our own. No real data are needed."""

import hashlib
import io
import json
import re
import tarfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from file_server import Site, serve

import defero.datasets
from defero.core.errors import InputError
from defero.datasets import DATASETS, get_dataset, load_dataset
from defero.datasets.catalog import DataFile, Dataset
from defero.datasets.files import check_files, form_here, how_to_get
from defero.datasets.folder import FolderRecords, data_folder, read_records, tree_sha256, update_records

NAMES = [
    "cifar10",
    "cifar10n",
    "cifar10h",
    "hatespeech",
    "sentiment-polarity-crowd",
    "keswani-toxicity",
    "labelme-crowd",
    "chexpert-readers",
    "credit-default",
    "recidivism-people",
    "lewidi-hs-brexit",
    "lewidi-md-agreement",
    "llm-routing-9",
    "llm-routing-7",
]
CONTENT = b"item,label\n1,0\n"
SHA = hashlib.sha256(CONTENT).hexdigest()


def packed(**members):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"box/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def toy(monkeypatch):
    """Register a data set of one file and one of an archive, on a server that the test starts."""

    def register(url, **changes):
        file = replace(DataFile("toy/cases.csv", url=url), **changes)
        entry = Dataset(
            name="toy",
            title="Toy",
            what="a toy",
            licence="MIT",
            citation="Us (2024).",
            homepage="http://example.org",
            files=(file,),
            load=lambda *, folder: folder,
            by_hand="cases.csv into toy/",
        )
        monkeypatch.setitem(DATASETS._values, "toy", entry)
        return entry

    return register


def below(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_the_promised_names_are_there_and_each_entry_is_whole():
    ours = [name for name in DATASETS if DATASETS.find(name).loader.__module__.startswith("defero.")]
    assert sorted(ours) == sorted(NAMES)
    for entry in DATASETS.values():
        assert all((entry.title, entry.what, entry.licence, entry.citation, entry.by_hand)), entry.name
        assert re.match(r"https?://", entry.homepage)
        assert not entry.what.endswith(".")
        for file in entry.files:
            assert not Path(file.path).is_absolute()
            assert ".." not in Path(file.path).parts
            assert file.url is None or re.match(r"https://", file.url)
            assert file.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.form == "source" or file.sha256, file.path
            assert file.url is None or file.sha256 or file.most_mb, f"{file.path}: neither a hash nor a bound"


def test_every_loader_exists():
    for entry in map(DATASETS.find, NAMES):
        assert entry.loader.__name__ in defero.datasets.__all__
        assert entry.loader_name == f"defero.datasets.{entry.loader.__name__}"


@pytest.mark.parametrize(
    ("name", "said"),
    [("cifar-10", "cifar10"), ("HAM10000", "ham10000"), ("keswani", "keswani-toxicity")],
)
def test_a_typo_is_mended(name, said):
    with pytest.raises(InputError, match=f"got '{name}'; did you mean '{said}'"):
        DATASETS.find(name)


def test_a_name_like_nothing_gets_the_list():
    with pytest.raises(InputError, match="one of chexpert-readers, cifar10, cifar10n"):
        load_dataset("xyzzy")


def test_where_data_lie(monkeypatch, tmp_path):
    monkeypatch.setenv("DEFERO_DATA", str(tmp_path / "named"))
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    assert data_folder() == tmp_path / "named"
    monkeypatch.delenv("DEFERO_DATA")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "defero"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert data_folder() == tmp_path / "home" / ".cache" / "defero"


def test_records_come_back(tmp_path):
    assert read_records(tmp_path) == FolderRecords()
    update_records(tmp_path / "new", sha256={"a/b": SHA}, licences=("toy", "toy"))
    assert read_records(tmp_path / "new") == FolderRecords({"a/b": SHA}, ("toy",))
    assert below(tmp_path) == ["new/defero-records.json"]


@pytest.mark.parametrize("content", ["{", "[]", '{"sha256": 1, "licences": []}'])
def test_damaged_records_are_told(tmp_path, content):
    (tmp_path / "defero-records.json").write_text(content)
    with pytest.raises(InputError, match="is damaged"):
        read_records(tmp_path)


def test_one_hash_for_a_folder_sees_every_change(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    lines = "".join(f"{hashlib.sha256(text).hexdigest()}  {name}\n" for name, text in [("b", b"2"), ("sub/a", b"1")])
    assert tree_sha256(tmp_path) == hashlib.sha256(lines.encode()).hexdigest()
    before = tree_sha256(tmp_path)
    (tmp_path / "b").rename(tmp_path / "c")
    assert tree_sha256(tmp_path) != before


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_folder_gets_one_sentence_on_what_to_put_where(tmp_path, name):
    with pytest.raises(InputError) as caught:
        load_dataset(name, folder=tmp_path)
    said = str(caught.value)
    assert "\n" not in said
    assert f"put {DATASETS.find(name).by_hand}" in said
    assert str(tmp_path) in said
    assert below(tmp_path) == []


def test_get_downloads_once_and_records_an_unknown_hash(tmp_path, toy):
    told = []
    with serve(Site(CONTENT)) as site:
        toy(site.url)
        first = get_dataset("toy", folder=tmp_path, accept_licence=True, progress=lambda *now: told.append(now))
        second = get_dataset("toy", folder=tmp_path)
    assert (first.downloaded, second.downloaded) == (("toy/cases.csv",), ())
    assert [(one.path, one.sha256, one.standing) for one in second.files] == [
        ("toy/cases.csv", SHA, "as at the first download")
    ]
    assert told[-1] == ("cases.csv", len(CONTENT), len(CONTENT))
    assert len(site.asked) == 1
    assert json.loads((tmp_path / "defero-records.json").read_text())["sha256"] == {"toy/cases.csv": SHA}


def test_a_file_that_changed_after_its_first_download_is_told(tmp_path, toy):
    with serve(Site(CONTENT)) as site:
        toy(site.url)
        get_dataset("toy", folder=tmp_path, accept_licence=True)
        (tmp_path / "toy" / "cases.csv").write_text("changed")
        with pytest.raises(InputError, match=f"expected {SHA}; it is damaged or another version of toy: delete it"):
            get_dataset("toy", folder=tmp_path, accept_licence=True)
        (tmp_path / "toy" / "cases.csv").unlink()
        site.content = b"another"
        with pytest.raises(InputError, match=f"expected {SHA}: damaged, or another version"):
            get_dataset("toy", folder=tmp_path, accept_licence=True)
    assert below(tmp_path) == ["defero-records.json"]


def test_a_registered_hash_is_kept(tmp_path, toy):
    with serve(Site(CONTENT)) as site:
        toy(site.url, sha256=SHA)
        assert get_dataset("toy", folder=tmp_path, accept_licence=True).files[0].standing == "as registered"


@pytest.mark.parametrize(
    ("site", "changes", "said"),
    [
        (Site(status=404), {}, "answers 404"),
        (Site(CONTENT, cut_after=3), {"sha256": SHA}, "broke off after 3 of 15 bytes"),
        (Site(CONTENT), {"sha256": "0" * 64}, "damaged, or another version"),
        (Site(CONTENT * 70_000), {"most_mb": 1}, "1000000 bytes|1,000,000 bytes|1 MB|too (long|large)|more than"),
        (Site(b"no archive"), {"path": "toy/a.tar.gz", "members": ("x",)}, "no archive that can be read"),
        (Site(packed(**{"../../x": b"1"})), {"path": "toy/a.tar.gz", "members": ("x",)}, "leads out of the folder"),
        (Site(packed(y=b"1")), {"path": "toy/a.tar.gz", "members": ("x",)}, "must contain x"),
    ],
)
def test_what_goes_wrong_says_what_to_do_and_leaves_no_half_data(tmp_path, toy, site, changes, said):
    with serve(site):
        entry = toy(site.url, **changes)
        with pytest.raises(InputError, match=f"^toy: .*{said}.*; or put cases.csv into toy/") as caught:
            get_dataset("toy", folder=tmp_path, accept_licence=True)
    assert "\n" not in str(caught.value)
    assert form_here(tmp_path, entry) is None
    assert [name for name in below(tmp_path) if ".part" not in name] == ["defero-records.json"]
    assert read_records(tmp_path) == FolderRecords({}, ("toy",))


def test_nothing_to_download_says_what_to_put_where(tmp_path, toy):
    toy(None)
    with pytest.raises(InputError, match=r"toy is not in .* and cannot be downloaded: put cases.csv into toy/"):
        get_dataset("toy", folder=tmp_path, accept_licence=True)


def test_an_archive_is_unpacked_checked_and_not_kept(tmp_path, toy):
    with serve(Site(packed(x=b"1", y=b"2"))) as site:
        entry = toy(site.url, path="toy/a.tar.gz", members=("x",))
        fetched = get_dataset("toy", folder=tmp_path, accept_licence=True)
    assert below(tmp_path) == ["defero-records.json", "toy/box/x"]
    assert [(one.path, one.standing) for one in fetched.files] == [("toy/box/x", "as at the first download")]
    (tmp_path / "toy" / "box" / "x").write_text("changed")
    with pytest.raises(InputError, match="it is damaged"):
        check_files(tmp_path, entry)


def test_an_archive_that_a_person_brought_is_unpacked_and_kept(tmp_path, toy):
    content = packed(x=b"1")
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.tar.gz").write_bytes(content)
    toy("http://127.0.0.1:9/nobody", path="toy/a.tar.gz", members=("x",), sha256=hashlib.sha256(content).hexdigest())
    get_dataset("toy", folder=tmp_path)  # nothing is downloaded: no licence to accept
    assert below(tmp_path / "toy") == ["a.tar.gz", "box/x"]


def test_a_wrong_archive_that_a_person_brought_is_told_and_kept(tmp_path, toy):
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "a.tar.gz").write_bytes(b"wrong")
    toy("http://127.0.0.1:9/nobody", path="toy/a.tar.gz", members=("x",), sha256=SHA)
    with pytest.raises(InputError, match=f"expected {SHA}: damaged"):
        get_dataset("toy", folder=tmp_path, accept_licence=True)
    assert below(tmp_path) == ["toy/a.tar.gz"]


def test_a_server_that_is_not_there_is_one_sentence(tmp_path, toy):
    with serve(Site()) as site:
        pass
    toy(site.url)
    with pytest.raises(
        InputError, match=r"cannot be reached .*; or put cases.csv into toy/ \(in .*; http://example.org"
    ):
        get_dataset("toy", folder=tmp_path, accept_licence=True)


def test_how_to_get_names_the_command_only_where_it_helps(tmp_path, toy):
    assert "defero datasets get toy" in how_to_get(tmp_path, toy("http://example.org/x"))
    assert "defero datasets get toy" not in how_to_get(tmp_path, toy(None))


def test_a_first_download_needs_the_licence_and_says_which(tmp_path, toy):
    with serve(Site(CONTENT)) as site:
        toy(site.url)
        said = (
            r"toy has the licence: MIT \(http://example.org\)\. To accept it and download pass accept_licence=True\.$"
        )
        with pytest.raises(InputError, match=said):
            get_dataset("toy", folder=tmp_path)
        assert (site.asked, below(tmp_path)) == ([], [])
        get_dataset("toy", folder=tmp_path, accept_licence=True)
        (tmp_path / "toy" / "cases.csv").unlink()
        assert get_dataset("toy", folder=tmp_path).downloaded == ("toy/cases.csv",)  # accepted once for this folder


def test_what_is_recorded_during_a_download_is_kept(tmp_path, toy):
    def meanwhile(*_):
        update_records(tmp_path, sha256={"other/file": SHA}, licences=("other",))

    with serve(Site(CONTENT)) as site:
        toy(site.url)
        get_dataset("toy", folder=tmp_path, accept_licence=True, progress=meanwhile)
    assert read_records(tmp_path) == FolderRecords({"other/file": SHA, "toy/cases.csv": SHA}, ("other", "toy"))


def test_two_who_record_at_once_lose_nothing(tmp_path):
    names = [f"set{number}" for number in range(20)]
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(update_records, tmp_path, licences=(name,)) for name in names]:
            done.result()
    assert read_records(tmp_path).licences == tuple(sorted(names))
    assert below(tmp_path) == ["defero-records.json"]


@pytest.mark.parametrize("packs", [False, True])
def test_a_second_get_of_a_file_is_told_of_the_first(tmp_path, toy, packs):
    told, content = [], packed(x=b"1") if packs else CONTENT
    path = "toy/a.tar.gz" if packs else "toy/cases.csv"

    def again(*_):
        with pytest.raises(InputError, match=f"^toy: another process is getting {tmp_path / path}; wait for it") as now:
            get_dataset("toy", folder=tmp_path, accept_licence=True)
        told.append(now)

    with serve(Site(content)) as site:
        toy(site.url, path=path, members=("x",) if packs else ())
        get_dataset("toy", folder=tmp_path, accept_licence=True, progress=again)
    assert len(site.asked) == 1
    assert told
    assert below(tmp_path) == ["defero-records.json", "toy/box/x" if packs else path]


def test_a_get_that_was_cut_begins_anew(tmp_path, toy):
    with serve(Site(CONTENT, cut_after=3)) as site:
        toy(site.url)
        with pytest.raises(InputError, match="broke off after 3 of 15 bytes"):
            get_dataset("toy", folder=tmp_path, accept_licence=True)
        site.cut_after = None
        get_dataset("toy", folder=tmp_path)
    assert (tmp_path / "toy" / "cases.csv").read_bytes() == CONTENT


def test_what_another_brought_meanwhile_is_not_fetched_again(tmp_path, toy, monkeypatch):
    @contextmanager
    def waited(lock, *, busy):
        lock.parent.mkdir()
        (tmp_path / "toy" / "cases.csv").write_bytes(CONTENT)
        yield

    monkeypatch.setattr("defero.datasets.files.locked", waited)
    toy("http://127.0.0.1:9/nobody")
    assert get_dataset("toy", folder=tmp_path, accept_licence=True).downloaded == ()


def test_a_folder_that_cannot_be_written_is_told(tmp_path, toy):
    (tmp_path / "toy").write_text("a file")
    update_records(tmp_path, licences=("toy",))
    toy("http://127.0.0.1:9/nobody")
    with pytest.raises(InputError, match=r"toy: .*toy cannot be written \(.*\); or put cases.csv into toy/"):
        get_dataset("toy", folder=tmp_path)
