"""What the pages need for readers with a keyboard or a screen reader, and the theme does not do."""

import re

_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")


def scrollable(html: str) -> str:
    """Return a page whose tables stand in named regions that can be reached with the Tab key.

    >>> print(scrollable("<table><tr><th>loss</th><th>error</th></tr></table>"))
    <div class="wide" role="region" tabindex="0" aria-label="Table 1: loss, error"><table class="data">...</table></div>
    """
    number = 0

    def wrapped(table: re.Match[str]) -> str:
        nonlocal number
        number += 1
        heads = [_TAG.sub("", cell).strip() for cell in re.findall(r"<th\b[^>]*>(.*?)</th>", table[0], re.DOTALL)]
        words = ", ".join(head.replace('"', "&quot;") for head in heads if head)
        label = f"Table {number}: {words}" if words else f"Table {number}"
        classed = table[0].replace("<table>", '<table class="data">', 1)  # or the theme would wrap it once more
        classed = re.sub(r"<th\b[^>]*></th>", "<td></td>", classed)  # a corner is no heading
        return f'<div class="wide" role="region" tabindex="0" aria-label="{label}">{classed}</div>'

    return _TABLE.sub(wrapped, html)


def named_search(html: str) -> str:
    """Return a page whose dialog for the search has a name, which the theme leaves out.

    >>> named_search('<div data-md-component="search" role="dialog">')
    '<div data-md-component="search" role="dialog" aria-label="Search">'
    """
    return html.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )
