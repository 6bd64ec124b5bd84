"""What mkdocs calls: pages that are generated, and links that leave docs/."""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
if str(ROOT) not in sys.path:  # mkdocs loads this file by its path
    sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File, Files  # noqa: E402

from website.commands import commands_page  # noqa: E402
from website.gallery import gallery_page, gallery_pictures  # noqa: E402
from website.outside import PAGES, PICTURES, rewrite_links  # noqa: E402
from website.reachable import named_search, scrollable  # noqa: E402
from website.reference import reference_pages  # noqa: E402


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and pictures that are not in docs/."""
    texts = {address: (ROOT / path).read_text(encoding="utf-8") for path, address in PAGES.items()}
    texts |= reference_pages() | {"reference/commands.md": commands_page(), "gallery.md": gallery_page()}
    for address, text in texts.items():
        files.append(File.generated(config, address, content=text))
    for address, picture in (PICTURES | gallery_pictures()).items():
        files.append(File.generated(config, address, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links to files of the repository at pages of the site."""
    return rewrite_links(markdown, page.file.src_uri)


def on_page_content(html: str, **_: Any) -> str:
    """Let wide tables scroll by themselves, also with the keyboard."""
    return scrollable(html)


def on_post_page(output: str, **_: Any) -> str:
    """Name what the theme leaves without a name."""
    return named_search(output)


def on_post_template(output_content: str, **_: Any) -> str:
    """Do the same on the page for lost readers, which is no page of docs/."""
    return named_search(output_content)
