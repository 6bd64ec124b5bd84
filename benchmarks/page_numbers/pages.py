"""The pages whose numbers are written from results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.page_numbers import losses, people
from benchmarks.page_numbers.blocks import Block, fill

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[Path, Mapping[str, Block]] = {DOCS / "losses.md": losses.BLOCKS, DOCS / "people.md": people.BLOCKS}


def written(page: Path) -> str:
    """Return the page as its results have it."""
    return fill(page.read_text(encoding="utf-8"), PAGES[page])
