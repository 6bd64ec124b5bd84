"""Every file that a page names exists."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")] + sorted((ROOT / "docs").rglob("*.md"))
GENERATED = re.compile(r"docs/(gallery|reference/\w+|changelog|contributing)\.md")
"""Pages of the site that are no files: website/ writes them."""
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
NAMED = re.compile(r"`([\w.-]+(?:/[\w.-]+)+/?)`")
ROOTS = (ROOT, ROOT / "src" / "defero", ROOT / "src", ROOT / "papers" / "verma2023")


def in_repository(name):
    """Tell paths of the repository from those of a user: their first folder is one of ours, or Python is in it."""
    return name.endswith(".py") or any((root / name.split("/")[0]).is_dir() for root in ROOTS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_paths_that_a_page_names_exist(page):
    text = page.read_text(encoding="utf-8")
    links = [name for name in LINK.findall(text) if not (page.parent / name).exists()]
    addresses = {name: (page.parent / name).resolve().relative_to(ROOT).as_posix() for name in links}
    links = [name for name in links if not GENERATED.fullmatch(addresses[name])]
    named = [name for name in NAMED.findall(text) if in_repository(name)]
    lost = [name for name in named if not any((root / name).exists() for root in (*ROOTS, page.parent))]
    assert (links, lost) == ([], [])


def test_a_lost_path_would_be_found():
    assert NAMED.findall("see `data/tables/formats.py` and `defero fit`") == ["data/tables/formats.py"]
    assert in_repository("data/no/such.csv")
    assert in_repository("gone/such.py")
    assert not in_repository("model/model.json")
    assert LINK.findall("[a](b.md#c), [d](https://e.org/f.md)") == ["b.md"]


def test_the_page_on_architecture_names_every_package_and_the_layers_that_are_checked():
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    stages, rest = text.split("## Packages inside packages")
    packages = {folder.parent.name for folder in (ROOT / "src" / "defero").glob("*/__init__.py")}
    assert set(re.findall(r"`(\w+)/`", stages)) >= packages - {"core"}
    assert set(re.findall(r"`(\w+)/(?:\w+/)*`", stages)) <= packages
    rules = rest.split("## Import rules\n\n")[1].split(". A package")[0]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [layer.split(" | ") for layer in reversed(contracts[0]["layers"]) if layer != "_lazy"]
    assert [sorted(re.findall(r"`(\w+)`", level)) for level in rules.split("<")] == [sorted(one) for one in layers]
