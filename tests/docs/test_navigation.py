"""Every page stands in the navigation of the site, and the navigation names pages that exist."""

from pathlib import Path

import pytest
from website.outside import PAGES as OUTSIDE

ROOT = Path(__file__).parents[2]


def listed(entries):
    """Return the addresses in a navigation."""
    for entry in entries:
        values = entry.values() if isinstance(entry, dict) else [entry]
        for value in values:
            if isinstance(value, str):
                yield value
            else:
                yield from listed(value)


@pytest.fixture(scope="module")
def navigation():
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return list(listed(yaml.safe_load(text)["nav"]))


def test_every_page_is_listed_once(navigation):
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} | set(OUTSIDE.values())
    missing = sorted(pages - set(navigation))
    assert missing == [], f"add a line for each of these to nav in mkdocs.yml: {missing}"
    assert len(navigation) == len(set(navigation))


def test_every_entry_is_a_page(navigation):
    written = {"gallery.md", *(name for name in navigation if name.startswith("reference/")), *OUTSIDE.values()}
    lost = [name for name in navigation if name not in written and not (ROOT / "docs" / name).is_file()]
    assert lost == []


def test_pages_from_elsewhere_exist():
    assert [path for path in OUTSIDE if not (ROOT / path).is_file()] == []
