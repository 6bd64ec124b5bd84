"""The version, wherever it stands: src/defero/__init__.py is the truth, and the other places must agree with it."""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/defero/__init__.py"
PAPER = "papers/verma2023/pyproject.toml"
CITATION = "CITATION.cff"
CHANGELOG = "CHANGELOG.md"
SECTION = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\d{4}-\d{2}-\d{2}))?$", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """Where a version stands: a file, what it says there, and the version."""

    file: str
    what: str
    version: str


def source_version(root: Path) -> str:
    """Return `__version__` of the package, without running it."""
    for node in ast.parse((root / SOURCE).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__version__":
            return str(ast.literal_eval(node.value))
    raise ValueError(f"{SOURCE} must assign a text to __version__.")


def places(root: Path) -> list[Place]:
    """Return every place with the version, the truth first."""
    paper = tomllib.loads((root / PAPER).read_text(encoding="utf-8"))["project"]
    needed = next(text for text in paper["dependencies"] if text.startswith("defero["))
    releases = released(root)
    return [
        Place(SOURCE, "__version__", source_version(root)),
        Place(PAPER, "version", paper["version"]),
        Place(PAPER, "dependency on defero", needed.partition("==")[2]),
        Place(CITATION, "version", cited(root, "version")),
        Place(CHANGELOG, "newest released section", releases[0][0] if releases else "none"),
    ]


def disagreements(root: Path) -> list[str]:
    """Return a sentence for each place with another version than the package, and for dates that differ."""
    truth, *others = places(root)
    wrong = [
        f"{one.file}: {one.what} is {one.version}, the package is {truth.version}"
        for one in others
        if one.version != truth.version
    ]
    dates = {date for version, date in released(root) if version == truth.version}
    if dates and dates != {cited(root, "date-released")}:
        wrong.append(f"{CITATION}: date-released is {cited(root, 'date-released')}, {CHANGELOG} has {dates.pop()}")
    return wrong


def cited(root: Path, key: str) -> str:
    """Return a plain field of CITATION.cff, blank where it is missing."""
    line = re.search(rf"^{key}: (.+)$", (root / CITATION).read_text(encoding="utf-8"), re.MULTILINE)
    return line[1].strip() if line else ""


def released(root: Path) -> list[tuple[str, str]]:
    """Return version and date of the released sections of the changelog, as they stand."""
    return [(name, date) for name, date in _sections(root) if name != "Unreleased"]


def changelog_faults(root: Path) -> list[str]:
    """Return what keeps the changelog from the form of keepachangelog.com."""
    sections = _sections(root)
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    faults = [f"{CHANGELOG}: section {name} has no date" for name, date in sections[1:] if not date]
    if not sections or sections[0] != ("Unreleased", ""):
        faults.insert(0, f"{CHANGELOG}: the first section must be ## [Unreleased]")
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    odd = sorted(set(re.findall(r"^### (.+)$", text, re.MULTILINE)) - known)
    return faults + [f"{CHANGELOG}: the heading {name!r} is none of {', '.join(sorted(known))}" for name in odd]


def _sections(root: Path) -> list[tuple[str, str]]:
    text = (root / CHANGELOG).read_text(encoding="utf-8")
    return [(one["name"], one["date"] or "") for one in SECTION.finditer(text)]
