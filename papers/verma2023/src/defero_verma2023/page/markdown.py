"""Tables, lists and paragraphs in Markdown."""

import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table.

    >>> print(table(("a", "b"), [("1", "x | y")]))
    | a | b |
    | --- | --- |
    | 1 | x / y |
    """
    lines = [header, ["---"] * len(header), *([cell.replace("|", "/") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bullets(lines: Iterable[str]) -> str:
    """Return a list, wrapped.

    >>> print(bullets(["one", "two"]))
    - one
    - two
    """
    return "\n".join(paragraph(f"- {line}", indent="  ") for line in lines)


def paragraph(text: str, *, indent: str = "") -> str:
    """Return a text, wrapped; `indent` begins each line but the first."""
    return textwrap.fill(text, width=WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
