"""Markup: a plain string is escaped wherever it is put, and `Html` is what has been."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

VOID = frozenset({"meta", "br", "hr"})
"""Elements that HTML never closes."""


class Html(str):
    """Markup that may stand in a page as it is.

    >>> tag("p", "a < b", Html("<br>"))
    '<p>a &lt; b<br></p>'
    """

    __slots__ = ()


def tag(name: str, *content: str, attributes: Mapping[str, str] | None = None) -> Html:
    """Return an element; content that is no `Html` is escaped, and so is every attribute.

    >>> tag("a", "Ann & Bob", attributes={"href": "#x", "title": 'say "hi"'})
    '<a href="#x" title="say &quot;hi&quot;">Ann &amp; Bob</a>'
    """
    said = "".join(f' {key}="{escape(value, quote=True)}"' for key, value in (attributes or {}).items())
    if name in VOID:
        return Html(f"<{name}{said}>")
    return Html(f"<{name}{said}>{joined(content)}</{name}>")


def joined(parts: Iterable[str], *, between: str = "") -> Html:
    """Put parts one after the other, escaping what is no `Html`.

    >>> joined(["<b>", Html("<i>x</i>")])
    '&lt;b&gt;<i>x</i>'
    """
    return Html(escape(between, quote=False).join(safe(part) for part in parts))


def safe(part: str) -> Html:
    """Return a part as markup: as it is where it is `Html`, escaped where it is text."""
    return part if isinstance(part, Html) else Html(escape(part, quote=False))


@dataclass(frozen=True)
class Cell:
    """A cell of a table with attributes of its own."""

    content: str
    attributes: Mapping[str, str]


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str | Cell]], *, kind: str = "") -> Html:
    """Return a table in a box of its own, which scrolls where the page is narrower.

    Parameters
    ----------
    caption : str
        What the table shows; also the name of its box.
    header : column heads
    rows : sequence of cells
        The first cell of a row is its head.
    kind : str
        A class for the style sheet.
    """
    heads = joined(tag("th", head, attributes={"scope": "col"}) for head in header)
    body = joined(
        tag("tr", _cell("th", first, {"scope": "row"}), *(_cell("td", cell, {}) for cell in rest))
        for first, *rest in rows
    )
    inner = tag(
        "table",
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", heads)),
        tag("tbody", body),
        attributes={"class": kind} if kind else None,
    )
    return tag(
        "div", inner, attributes={"class": "scroll", "role": "region", "aria-label": plain(caption), "tabindex": "0"}
    )


def _cell(name: str, cell: str | Cell, attributes: Mapping[str, str]) -> Html:
    if isinstance(cell, Cell):
        return tag(name, cell.content, attributes={**attributes, **cell.attributes})
    return tag(name, cell, attributes=attributes)


def folded(summary: str, *content: str) -> Html:
    """Return something that is shown when its summary is clicked."""
    return tag("details", tag("summary", summary), *content)


def section(key: str, title: str, *content: str) -> Html:
    """Return a section with its heading; `key` is where links point."""
    return tag(
        "section",
        tag("h2", title, attributes={"id": f"{key}-title"}),
        *content,
        attributes={"id": key, "aria-labelledby": f"{key}-title"},
    )


def paragraph(*content: str) -> Html:
    """Return a paragraph."""
    return tag("p", *content)


def listed(items: Iterable[str]) -> Html:
    """Return a list with bullets."""
    return tag("ul", *(tag("li", item) for item in items))


def plain(text: str) -> str:
    """Return a caption as an attribute may have it.

    >>> plain("Who is   asked")
    'Who is asked'
    """
    return " ".join(text.split())
