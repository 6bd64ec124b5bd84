"""`python -m website.looks build/docs`: the built pages in Chromium, with axe-core, at 360 and 1280 px, light and dark.

It fails where axe-core finds a fault, where a page is wider than its window, where a page asks another host for
anything, or where the search does not find a word. axe-core is the file that DEFERO_AXE names, or what npm installs.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOKS = ((360, "light"), (360, "dark"), (1280, "light"), (1280, "dark"))
PAPER = 794
"""Width of A4 in CSS pixels."""
PATIENCE = 180_000
"""Milliseconds for one step: a busy machine is no fault of the page."""
_AXE_RUN = """() => axe.run(document, {resultTypes: ["violations"]}).then(result => result.violations.map(
  one => `${one.id} (${one.impact}): ${one.nodes.length} x ${one.nodes[0].html.slice(0, 160)}`))"""
_TOO_WIDE = """() => {
  const page = document.documentElement;
  return page.scrollWidth > page.clientWidth + 1 ? [`wider than the window: ${page.scrollWidth} px`] : [];
}"""


def axe_script() -> str | None:
    """Return axe-core's script; None where there is neither DEFERO_AXE nor npm."""
    named = os.environ.get("DEFERO_AXE")
    if named:
        return Path(named).read_text(encoding="utf-8")
    npm = shutil.which("npm")
    if npm is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "install", "axe-core", "--no-audit", "--no-fund", "--ignore-scripts"]
        if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
            return None
        return (Path(folder) / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve a folder on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def look(browser: Any, home: str, name: str, *, width: int, scheme: str, axe: str, shots: Path | None) -> list[str]:
    """Return the faults of a page at a width and in a scheme of colours; with `shots`, leave a picture there."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{home}/{name}", wait_until="load")
    faults = [f"asks another host: {url}" for url in asked if not url.startswith((home, "data:", "blob:"))]
    faults += page.evaluate(_TOO_WIDE)
    if shots is not None:
        shots.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=shots / f"{name.replace('/', '-').removesuffix('.html')}-{width}-{scheme}.png")
    page.add_script_tag(content=axe)
    faults += page.evaluate(_AXE_RUN)
    if width > PAPER:
        page.set_viewport_size({"width": PAPER, "height": 1_120})
        page.emulate_media(media="print")
        faults += [f"printed, {fault}" for fault in page.evaluate(_TOO_WIDE)]
    context.close()
    return [f"{name} at {width} px, {scheme}: {fault}" for fault in faults]


def search_finds(browser: Any, home: str, word: str) -> bool:
    """Tell whether the search of the front page finds a word."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{home}/index.html", wait_until="load")
    page.click("input.md-search__input")
    page.keyboard.type(word)  # the theme listens to keys
    try:
        page.wait_for_function(
            r"() => /^\s*\d/.test(document.querySelector('.md-search-result__meta').textContent)", timeout=PATIENCE
        )
    except Exception:  # playwright's own error, which needs its import
        return False
    finally:
        page.close()
    return True


def main(arguments: Iterable[str]) -> int:
    """Look at every page; return 1 where one has a fault, 2 where nothing could be looked at."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--pages", nargs="*", help="addresses such as index.html; default: all")
    parser.add_argument("--looks", nargs="*", default=["360-light", "1280-dark"])
    parser.add_argument("--shots", type=Path, help="folder for pictures of the pages")
    options = parser.parse_args(list(arguments))
    axe = axe_script()
    if axe is None or CHROMIUM is None:
        print("needs Chromium, and npm or DEFERO_AXE=axe.min.js", file=sys.stderr)
        return 2
    names = options.pages or sorted(path.relative_to(options.site).as_posix() for path in options.site.rglob("*.html"))
    looks = [(width, scheme) for width, scheme in LOOKS if f"{width}-{scheme}" in options.looks]
    from playwright.sync_api import sync_playwright

    with served(options.site) as home, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        faults = []
        for name in names:
            for width, scheme in looks:
                faults += look(browser, home, name, width=width, scheme=scheme, axe=axe, shots=options.shots)
            print(f"looked at {name}", file=sys.stderr)
        places = (home, options.site.absolute().as_uri())
        faults += [
            f"the search finds nothing at {place}" for place in places if not search_finds(browser, place, "calibrate")
        ]
        browser.close()
    print("\n".join(faults))
    print(f"{len(names)} pages, {len(looks)} looks each, {len(faults)} faults.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
