"""Docstrings as the site reads them: examples under a heading, tables of plain text as code."""

import re
from typing import Any

import griffe

_HEADING = re.compile(r"^Examples\n-+$", re.MULTILINE)
_FIRST = re.compile(r"^>>> ", re.MULTILINE)
_RULE = re.compile(r"^=+( =+)+$")


def for_site(docstring: str) -> str:
    r"""Return a docstring that Markdown shows as it is meant.

    Parameters
    ----------
    docstring : str
        In the style of NumPy; examples may stand at its end without a heading.

    Examples
    --------
    >>> for_site("Add one.\n\n>>> add(1)\n2")
    'Add one.\n\nExamples\n--------\n>>> add(1)\n2'
    >>> for_site("Writes <table>.csv, see `<table>`.")
    'Writes &lt;table>.csv, see `<table>`.'
    >>> print(for_site("== ==\na  b\n== =="))
    ```text
    == ==
    a  b
    == ==
    ```
    """
    return _fenced(_headed(_without_tags(docstring)))


def _without_tags(docstring: str) -> str:
    """Return the docstring with <words> in angle brackets that Markdown would take for HTML; examples stay."""
    words, mark, examples = docstring.partition(">>> ")
    pieces = words.split("`")
    pieces[::2] = [re.sub(r"<(?=[A-Za-z/])", "&lt;", piece) for piece in pieces[::2]]
    return "`".join(pieces) + mark + examples


def _headed(docstring: str) -> str:
    first = _FIRST.search(docstring)
    if first is None or _HEADING.search(docstring):
        return docstring
    return f"{docstring[: first.start()]}Examples\n--------\n{docstring[first.start() :]}"


def _fenced(docstring: str) -> str:
    lines = docstring.split("\n")
    rules = [number for number, line in enumerate(lines) if _RULE.match(line.strip())]
    if not rules:
        return docstring
    begin, end = rules[0], rules[-1]
    return "\n".join([*lines[:begin], "```text", *lines[begin : end + 1], "```", *lines[end + 1 :]])


class ForSite(griffe.Extension):
    """What mkdocstrings calls for every object that it reads."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """Rewrite the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = for_site(obj.docstring.value)
