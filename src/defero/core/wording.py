"""Words of messages: lists, percentages, counts, and the name that was probably meant."""

import difflib
import re
from collections.abc import Iterable

_UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Write control characters as escapes: a name out of a file may hold what a terminal would obey.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNSEEN.sub(lambda unseen: unseen.group().encode("unicode_escape").decode("ascii"), text)


def join_names(values: Iterable[object], *, most: int = 12) -> str:
    r"""Write values as a short list for a sentence, on one line whatever they hold.

    >>> join_names(["benign", "malign"])
    'benign, malign'
    >>> join_names(range(15), most=3)
    '0, 1, 2, ... (15 in all)'
    >>> join_names(["a\nname"])
    'a name'
    """
    texts = [printable(" ".join(str(value).split())) for value in values]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])}, ... ({len(texts)} in all)"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the clause that offers the nearest name, or the end of the sentence.

    >>> did_you_mean("lable", ["age", "label"]), did_you_mean("x", ["age"])
    ("; did you mean 'label'?", '.')
    """
    lowered = {candidate.lower(): candidate for candidate in candidates}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.6)
    return f"; did you mean {lowered[near[0]]!r}?" if near else "."


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    >>> count_of(1, "answer"), count_of(1200, "answer"), count_of(2, "class", "classes")
    ('1 answer', '1,200 answers', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
