"""Markup: text is escaped wherever it is inserted; `Html` is text that is already escaped."""

from collections.abc import Iterable, Mapping
from html import escape

from defero.core.wording import printable

VOID = frozenset({"meta", "br", "hr"})
"""Elements that HTML never closes."""


class Html(str):
    """Markup that needs no escaping.

    >>> tag("p", "a < b", Html("<br>"))
    '<p>a &lt; b<br></p>'
    """

    __slots__ = ()


def tag(name: str, *content: str, attributes: Mapping[str, str] | None = None) -> Html:
    """Return an element; attributes and content that is not `Html` are escaped.

    >>> tag("a", "Ann & Bob", attributes={"href": "#x", "title": 'say "hi"'})
    '<a href="#x" title="say &quot;hi&quot;">Ann &amp; Bob</a>'
    """
    written = "".join(f' {key}="{escape(printable(value), quote=True)}"' for key, value in (attributes or {}).items())
    if name in VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(content)}</{name}>")


def joined(parts: Iterable[str], *, between: str = "") -> Html:
    """Join parts, escaping those that are not `Html`.

    >>> joined(["<b>", Html("<i>x</i>")])
    '&lt;b&gt;<i>x</i>'
    """
    return Html(escape(between, quote=False).join(safe(part) for part in parts))


def safe(part: str) -> Html:
    """Return `Html` unchanged, and text escaped, control characters too."""
    return part if isinstance(part, Html) else Html(escape(printable(part), quote=False))


def folded(summary: str, *content: str) -> Html:
    """Return content that is shown after a click on its summary."""
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


def bullet_list(items: Iterable[str]) -> Html:
    """Return a list with bullets."""
    return tag("ul", *(tag("li", item) for item in items))


def one_line(text: str) -> str:
    """Return a text with single blanks, as an attribute needs it.

    >>> one_line("Who is   asked")
    'Who is asked'
    """
    return " ".join(text.split())
