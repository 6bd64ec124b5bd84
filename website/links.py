"""`python -m website.links build/docs`: every link, anchor and file of the built pages, without a connection.

Links to other hosts are listed, not fetched. What a page would load from another host is an error.
"""

import posixpath
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_LOADING_RELATIONS = {"stylesheet", "preconnect", "preload", "icon", "prefetch", "dns-prefetch", "modulepreload"}
_IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


@dataclass
class PageLinks(HTMLParser):
    """What a page names: its anchors, its links, and what a browser loads with it."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what one tag names."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[name] for owner, name in _LOADED if owner == tag and name in values]
        if tag == "link" and _LOADING_RELATIONS & set(values.get("rel", "").split()):
            self.loaded.append(values["href"])


@dataclass(frozen=True)
class LinkReport:
    """What was wrong, and which other hosts the pages point to."""

    pages: int
    broken: tuple[str, ...]
    foreign: tuple[str, ...]
    external: tuple[str, ...]


def check_site(site: Path) -> LinkReport:
    """Read every page of a folder.

    Parameters
    ----------
    site : Path
        A built site. `broken` has links without a target, `foreign` what is loaded from other hosts, and `external`
        the links that lead away.
    """
    pages = {path.relative_to(site).as_posix(): _parsed(path) for path in sorted(site.rglob("*.html"))}
    broken, foreign, external = [], [], set()
    for name, page in pages.items():
        for link in page.links:
            if _elsewhere(link):
                external.add(link)
            elif not _reached(site, pages, name, link):
                broken.append(f"{name}: {link}")
        foreign += [f"{name}: {link}" for link in page.loaded if _elsewhere(link)]
        broken += [
            f"{name}: {link}" for link in page.loaded if not _elsewhere(link) and not _reached(site, pages, name, link)
        ]
    for style in sorted(site.rglob("*.css")):
        named = [one or other for one, other in _IN_STYLE.findall(style.read_text(encoding="utf-8"))]
        foreign += [f"{style.relative_to(site).as_posix()}: {link}" for link in named if _elsewhere(link)]
    return LinkReport(len(pages), tuple(broken), tuple(foreign), tuple(sorted(external)))


def _parsed(path: Path) -> PageLinks:
    page = PageLinks()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _elsewhere(link: str) -> bool:
    parts = urlsplit(link)
    return bool(parts.netloc) or parts.scheme in ("mailto", "tel")


def _reached(site: Path, pages: dict[str, PageLinks], name: str, link: str) -> bool:
    if link.startswith(("data:", "javascript:")):
        return True
    address, anchor = urldefrag(link)
    folder = posixpath.join("/", posixpath.dirname(name))  # the page for lost readers names its links from the top
    path = posixpath.normpath(posixpath.join(folder, unquote(urlsplit(address).path)))[1:] if address else name
    if path.startswith("..") or not (site / path).exists():
        return False
    target = path if path in pages else posixpath.join(path, "index.html")
    return not anchor or (target in pages and unquote(anchor) in pages[target].anchors)


def main(arguments: Iterable[str]) -> int:
    """Print the report; return 1 where something is wrong."""
    report = check_site(Path(next(iter(arguments), "build/docs")))
    for title, lines in (("broken", report.broken), ("loaded from other hosts", report.foreign)):
        for line in lines:
            print(f"{title}: {line}")
    print(f"{report.pages} pages, {len(report.broken)} broken links, {len(report.foreign)} requests to other hosts.")
    print(f"{len(report.external)} links lead to other hosts, not fetched:")
    print("\n".join(f"  {link}" for link in report.external))
    return 1 if report.broken or report.foreign else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
