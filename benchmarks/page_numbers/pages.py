"""The pages whose numbers are written from results."""

from collections.abc import Mapping
from pathlib import Path

from benchmarks.page_numbers import calibration, field, large_files, law, losses, money, people, speed
from benchmarks.page_numbers.blocks import Block, fill

DOCS = Path(__file__).parents[2] / "docs"
PAGES: dict[Path, Mapping[str, Block]] = {
    DOCS / "explanation" / "calibration.md": calibration.BLOCKS,
    DOCS / "explanation" / "losses.md": losses.BLOCKS,
    DOCS / "howto" / "large_data.md": large_files.BLOCKS,
    DOCS / "studies" / "law.md": law.BLOCKS,
    DOCS / "studies" / "people.md": people.BLOCKS,
    DOCS / "studies" / "field.md": field.BLOCKS,
    DOCS / "studies" / "money.md": money.BLOCKS,
    DOCS / "studies" / "speed.md": speed.BLOCKS,
}


def written(page: Path) -> str:
    """Return the page as its results have it."""
    return fill(page.read_text(encoding="utf-8"), PAGES[page])
