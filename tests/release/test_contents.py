"""What wheels and sdists may hold: the rules, and that package-data of pyproject.toml names every file."""

import tomllib
from pathlib import Path

import pytest
from release.contents import SOURCES, odd_sources, sdist_faults, wheel_faults

ROOT = Path(__file__).parents[2]
INFO = ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt", "licenses/LICENSE")


def whole_wheel(source):
    return source.files(ROOT) | {f"{source.package}-1.dist-info/{name}" for name in INFO}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
def test_package_data_names_every_file(source):
    settings = tomllib.loads((ROOT / source.folder / "pyproject.toml").read_text())["tool"]["setuptools"]
    home = ROOT / source.folder / "src" / source.package
    named = {path for pattern in settings["package-data"][source.package] for path in home.glob(pattern)}
    files = {ROOT / source.folder / "src" / name for name in source.files(ROOT) if not name.endswith(".py")}
    assert sorted(files - named) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
def test_packages_hold_modules_and_known_data_alone(source):
    assert odd_sources(source, ROOT) == []
    assert f"{source.package}/py.typed" in source.files(ROOT)
    assert (ROOT / source.folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.package)
def test_a_whole_wheel_has_no_fault(source):
    assert wheel_faults(whole_wheel(source), source, ROOT) == []


def test_faults_of_a_wheel_are_named():
    source = SOURCES[0]
    names = whole_wheel(source) - {"defero/py.typed", "defero-1.dist-info/licenses/LICENSE"}
    faults = wheel_faults(names | {"tests/test_a.py", "defero/a.pyc"}, source, ROOT)
    for words in (
        "lacks defero/py.typed",
        "tests/test_a.py, a stray",
        "defero/a.pyc, a stray",
        "lacks licenses/LICENSE",
    ):
        assert any(words in fault for fault in faults), words


def test_faults_of_an_sdist_are_named():
    source = SOURCES[1]
    names = {f"p-1/src/{name}" for name in source.files(ROOT)}
    names |= {f"p-1/{name}" for name in ("pyproject.toml", "README.md", "LICENSE", "PKG-INFO")}
    assert sdist_faults(names, source, ROOT) == []
    assert sdist_faults(names - {"p-1/LICENSE"} | {"p-1/tests/test_a.py"}, source, ROOT) == [
        "lacks LICENSE",
        "has tests/test_a.py, a stray file",
    ]
