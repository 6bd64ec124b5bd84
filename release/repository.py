"""The repository itself: everything committed, every link alive."""

import re
from collections.abc import Iterator
from pathlib import Path

from release.checklist import refuse
from release.environment import run
from release.versions import source_version

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"```.*?```", re.DOTALL)
ELSEWHERE = re.compile(r"^(https?:|mailto:)")


def check_clean(root: Path) -> str:
    """Answer no where something is not committed."""
    lines = run(["git", "status", "--porcelain"], cwd=root).splitlines()
    refuse([f"not committed: {line}" for line in lines])
    return run(["git", "log", "-1", "--format=%h %s"], cwd=root).strip()


def check_tag(root: Path) -> str:
    """Answer no where the tag of the version is on another commit."""
    tag = f"v{source_version(root)}"
    tagged = run(["git", "tag", "--points-at", "HEAD"], cwd=root).split()
    known = run(["git", "tag", "--list", tag], cwd=root).split()
    refuse([f"{tag} is another commit"] if known and tag not in tagged else [])
    return f"{tag} is this commit" if tagged else f"{tag} is free"


def check_links(root: Path) -> str:
    """Answer no where a page of the repository links to a file or a heading that is not there."""
    pages = [root / name for name in run(["git", "ls-files", "*.md"], cwd=root).split()]
    made, faults, count = _made_by_the_site(root), list[str](), 0
    for page in pages:
        for target in _targets(page):
            count += 1
            path, _, anchor = target.partition("#")
            goal = page if not path else (page.parent / path)
            if goal.resolve() in made:
                continue
            if not goal.exists():
                faults.append(f"{page.relative_to(root)}: {target} is not there")
            if goal.exists() and anchor and goal.suffix == ".md" and anchor not in _anchors(goal):
                faults.append(f"{page.relative_to(root)}: {target} has no such heading")
    refuse(faults)
    return f"{count} links in {len(pages)} pages"


def _made_by_the_site(root: Path) -> set[Path]:
    """Return the pages in the site's navigation, some of which `make docs` writes; it checks their links itself."""
    names = re.findall(r"[\w/-]+\.md\b", (root / "mkdocs.yml").read_text(encoding="utf-8"))
    return {(root / "docs" / name).resolve() for name in names if not (root / "docs" / name).exists()}


def _targets(page: Path) -> Iterator[str]:
    for text, image in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if not ELSEWHERE.match(text or image):
            yield text or image


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in plain}
