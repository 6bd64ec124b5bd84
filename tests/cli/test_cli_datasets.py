"""`defero datasets`: list, info and get, for people and for machines."""

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from defero.cli.datasets import app
from defero.core.errors import InputError
from defero.datasets import DATASETS

CONTENT = b",count,hate_speech,offensive_language,neither,class,tweet\n0,3,0,0,3,2,plain\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("DEFERO_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def source(monkeypatch):
    """Let the download of hatespeech come from memory, its hash not be known, and count how often."""
    entry, calls = DATASETS.find("hatespeech"), []
    files = tuple(replace(one, sha256=None, most_mb=100) if one.url else one for one in entry.files)
    monkeypatch.setitem(DATASETS._values, "hatespeech", replace(entry, files=files))

    def download(url, target, *, sha256=None, progress=None, most_bytes=0):
        calls.append(url)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(CONTENT)
        progress(len(CONTENT), len(CONTENT))
        return hashlib.sha256(CONTENT).hexdigest()

    monkeypatch.setattr("defero.datasets.files.download", download)
    return calls


def run(*arguments, **options):
    """Run a command; what a user can mend comes back as the error's text."""
    outcome = CliRunner().invoke(app, [str(word) for word in arguments], **options)
    if isinstance(outcome.exception, InputError):
        return 2, outcome.stdout, str(outcome.exception)
    if outcome.exception is not None and not isinstance(outcome.exception, SystemExit):
        raise outcome.exception
    return outcome.exit_code, outcome.stdout, outcome.stderr


@pytest.mark.parametrize("command", ["list", "info", "get"])
def test_help_has_an_example(command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"defero datasets {command}" in out.partition("Example:")[2]
    assert "--json" in out


def test_list_names_every_data_set_and_where(folder):
    code, out, _ = run("list")
    assert code == 0
    assert out.startswith(f"In {folder}:\n")
    for name in DATASETS:
        line = next(line for line in out.splitlines() if line.startswith(f"{name} "))
        assert DATASETS.find(name).licence in line
        assert DATASETS.find(name).what in line
        assert " here " not in line
    rows = json.loads(run("list", "--json")[1])
    assert [row["name"] for row in rows["datasets"]] == list(DATASETS)
    assert {row["here"] for row in rows["datasets"]} == {None}


def test_info_says_everything(folder):
    code, out, _ = run("info", "cifar10")
    entry = DATASETS.find("cifar10")
    assert code == 0
    for text in (entry.citation, entry.licence, entry.homepage, "defero.datasets.cifar10", "our compact form"):
        assert text in out
    for file in entry.files:
        assert file.path in out
        assert file.sha256 in out
        assert file.url is None or file.url in out
    assert f"cifar10 is not in {folder}: run `defero datasets get cifar10`" in out
    told = json.loads(run("info", "cifar10", "--json")[1])
    assert told["arrays"] == dict(entry.arrays)
    assert [file["sha256"] for file in told["files"]] == [file.sha256 for file in entry.files]


def test_info_warns_where_there_is_no_truth(folder):
    assert "agreement, not accuracy" in run("info", "lewidi-hs-brexit")[1]
    assert "no answers" in run("info", "llm-routing-7")[1]


def test_an_unknown_hash_is_said_to_be_so(folder, source):
    assert "sha256  not known; recorded at the first download, of at most 100 MB" in run("info", "hatespeech")[1]
    run("get", "hatespeech", "--yes")
    found = hashlib.sha256(CONTENT).hexdigest()
    assert f"{found} (recorded at the first download)" in run("info", "hatespeech")[1]


@pytest.mark.parametrize("command", ["info", "get"])
def test_a_typo_is_mended(folder, command):
    code, printed, message = run(command, "hate-speech")
    assert (code, printed) == (2, "")
    assert message.endswith("got 'hate-speech'; did you mean 'hatespeech'?")


def test_get_shows_the_licence_and_downloads_once(folder, source):
    code, out, _ = run("get", "hatespeech", "--yes")
    assert code == 0
    assert out.startswith("licence   MIT\ncite      Davidson")
    assert f"Downloaded to {folder}. Checksums: 1 as at the first download." in out
    assert "are recorded in defero-records.json" in out
    assert "every later `defero datasets get hatespeech` compares with them" in out
    code, out, _ = run("get", "hatespeech")
    assert (code, len(source)) == (0, 1)
    assert f"It is in {folder}." in out
    assert "recorded in" not in out
    told = json.loads(run("get", "hatespeech", "--json")[1])
    assert told["downloaded"] == []
    assert told["files"][0]["sha256_is"] == "as at the first download"


def test_without_a_terminal_the_licence_needs_yes(folder, source):
    code, _, said = run("get", "hatespeech")
    assert (code, said) == (2, "hatespeech has the licence: MIT. To accept it without a terminal pass --yes.")
    assert source == []
    assert list(folder.iterdir()) == []


def test_batches_of_cifar10_are_here(folder):
    home = folder / "cifar10" / "cifar-10-batches-py"
    home.mkdir(parents=True)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        (home / name).write_bytes(bytes(3073))
    assert re.search("^cifar10 +here ", run("list")[1], re.MULTILINE)
    code, out, _ = run("get", "cifar10")
    assert code == 0
    assert f"It is in {folder}. Checksums: 6 not known." in out


def test_an_accepted_licence_is_not_asked_for_again(folder, source):
    run("get", "hatespeech", "--yes")
    (folder / "hatespeech" / "labeled_data.csv").unlink()
    assert (run("get", "hatespeech")[0], len(source)) == (0, 2)


@pytest.mark.parametrize(("answer", "code", "calls"), [("y\n", 0, 1), ("n\n", 1, 0)])
def test_on_a_terminal_the_licence_is_asked_for(folder, source, monkeypatch, answer, code, calls):
    monkeypatch.setattr("defero.cli.datasets._at_a_terminal", lambda: True)
    outcome = run("get", "hatespeech", input=answer)
    assert (outcome[0], len(source)) == (code, calls)
    assert "Do you accept the licence (MIT)?" in outcome[2]


def test_what_cannot_be_downloaded_says_what_to_put_where(folder):
    code, _, said = run("get", "galaxyzoo", "--yes")
    assert code == 2
    assert said.startswith(f"galaxyzoo is not in {folder} and cannot be downloaded: put training_solutions_rev1.csv")
    assert "\n" not in said


def test_another_folder_can_be_named(folder, source, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    assert run("get", "hatespeech", "--yes", "--folder", other)[0] == 0
    assert (other / "hatespeech" / "labeled_data.csv").is_file()
    assert list(folder.iterdir()) == []


def test_a_damaged_file_is_told(folder, monkeypatch):
    entry = DATASETS.find("hatespeech")
    file = replace(entry.files[1], sha256="0" * 64)
    monkeypatch.setitem(DATASETS._values, "hatespeech", replace(entry, files=(file,)))
    (folder / "hatespeech").mkdir()
    (folder / "hatespeech" / "labeled_data.csv").write_bytes(CONTENT)
    code, _, said = run("get", "hatespeech")
    assert code == 2
    assert "expected 0000" in said


def test_progress_is_drawn_on_a_terminal_only(monkeypatch):
    from defero.cli.datasets import _progress

    drawn = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: False, raising=False)
    assert _progress() is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(typer, "echo", lambda text, **options: drawn.append((text, options["nl"])))
    draw = _progress()
    draw("a.zip", 500_000, 1_000_000)
    draw("a.zip", 1_000_000, 1_000_000)
    draw("a.zip", 500_000, None)
    assert drawn == [
        ("\ra.zip   50 % of 1.0 MB ", False),
        ("\ra.zip  100 % of 1.0 MB ", True),
        ("\ra.zip  0.5 MB ", False),
    ]


def test_help_loads_nothing_heavy():
    program = (
        "import sys; from defero.cli.datasets import app\ntry:\n app(['get', '--help'])\nexcept SystemExit: pass\n"
    )
    program += "sys.exit(str({'numpy', 'pandas', 'urllib.request'} & set(sys.modules) or ''))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
