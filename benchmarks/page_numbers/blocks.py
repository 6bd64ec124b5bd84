"""Marked blocks of a page in Markdown: what stands between the marks is written by a function."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

Block = Callable[[], str]
_MARKED = re.compile(r"(<!-- numbers: (?P<name>[\w-]+) -->\n\n)(?P<text>.*?)(\n\n<!-- end of numbers -->)", re.DOTALL)


def fill(page: str, blocks: Mapping[str, Block]) -> str:
    r"""Return the page with every marked block written anew.

    A name on the page without a function, or the other way round, is an error: a number would stay as it is.

    >>> print(fill("<!-- numbers: answer -->\n\n41\n\n<!-- end of numbers -->", {"answer": lambda: "42"}))
    <!-- numbers: answer -->
    <BLANKLINE>
    42
    <BLANKLINE>
    <!-- end of numbers -->
    """
    marked = [match["name"] for match in _MARKED.finditer(page)]
    if sorted(marked) != sorted(blocks):
        raise ValueError(f"the page has the blocks {sorted(marked)}, and there are functions for {sorted(blocks)}.")
    return _MARKED.sub(lambda match: f"{match[1]}{blocks[match['name']]()}{match[4]}", page)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table.

    >>> print(table(("a", "b"), [("1", "")]))
    | a | b |
    | --- | --- |
    | 1 | |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("|" + "".join(f" {cell} |" if cell else " |" for cell in cells) for cells in lines)
