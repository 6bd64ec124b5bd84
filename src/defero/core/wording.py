"""Words of messages: lists, percentages, counts, and the name that was probably meant."""

import difflib
import math
import re
from collections.abc import Iterable, Sequence

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
    >>> join_names(["a\nname", "Chen, Li"])
    'a name, "Chen, Li"'
    """
    texts = [printable(" ".join(str(value).split())) for value in values]
    texts = [f'"{text}"' if ", " in text else text for text in texts]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])}, ... ({len(texts)} in all)"


def list_in_words(values: Sequence[object], *, most: int = 6, total: int | None = None) -> str:
    """Write values as a sentence does; past the first `most`, or where there are `total`, the rest is counted.

    >>> list_in_words(["ann"]), list_in_words(["ann", "bob"]), list_in_words(["ann", "bob", "eve"])
    ('ann', 'ann and bob', 'ann, bob and eve')
    >>> list_in_words("abcde", most=3), list_in_words(["ann", "bob"], total=14)
    ('a, b, c and 2 more', 'ann, bob and 12 more')
    """
    texts = [str(value) for value in values[:most]]
    rest = (len(values) if total is None else total) - len(texts)
    if rest:
        texts.append(f"{rest} more")
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def percent(share: float, *, nothing: str = "-", space: str = " ") -> str:
    """Write a share in percent; 0 and 100 are never due to rounding.

    >>> [percent(share) for share in (0.875, 1.0, 0.9999, 0.00001, math.nan)]
    ['87.5 %', '100.0 %', '>99.9 %', '<0.1 %', '-']
    """
    if math.isnan(share):
        return nothing
    if 0 < share < 0.0005:
        return f"<0.1{space}%"
    if 0.9995 < share < 1:
        return f">99.9{space}%"
    return f"{100 * share:.1f}{space}%"


def round_percent(share: float, *, space: str = " ") -> str:
    """Write a share in whole percent, and with a digit below 10 % where it is no whole number.

    >>> round_percent(0.95), round_percent(0.256), round_percent(0.05), round_percent(0.004)
    ('95 %', '26 %', '5 %', '0.4 %')
    """
    whole = share >= 0.1 or math.isclose(100 * share, round(100 * share), abs_tol=1e-9)
    return f"{100 * share:.{0 if whole else 1}f}{space}%"


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the clause that offers the nearest name, or the end of the sentence.

    >>> did_you_mean("lable", ["age", "label"]), did_you_mean("x", ["age"])
    ("; did you mean 'label'?", '.')
    >>> did_you_mean("Truth", ["truths", "TRUTH"])  # the same name, but for the case
    "; did you mean 'TRUTH'?"
    """
    near = nearest_name(name, candidates)
    return "." if near is None else f"; did you mean {near!r}?"


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that was probably meant; None where no one is near.

    >>> nearest_name("Beningn", ["benign", "malign"]), nearest_name("x", ["age"])
    ('benign', None)
    >>> nearest_name("Benign lesion", ["malign lesion", "benign"])
    'benign'
    """
    lowered = {candidate.casefold(): candidate for candidate in candidates}
    folded = name.casefold()
    near = [folded] if folded in lowered else difflib.get_close_matches(folded, list(lowered), n=1, cutoff=0.85)
    near = near or [one for one in lowered if share_words(folded, one)]
    near = near or difflib.get_close_matches(folded, list(lowered), n=1, cutoff=0.6)
    return lowered[near[0]] if near else None


_NOT = {"no", "non", "not", "without"}


def share_words(name: str, other: str) -> bool:
    """Return whether two names are probably one: all words of one are in the other, and none of them says "not".

    >>> share_words("benign", "Benign lesion"), share_words("tumor", "no tumor"), share_words("grade 1", "grade 2")
    (True, False, False)
    """
    first, second = ({*re.findall(r"\w+", text.casefold())} for text in (name, other))
    return bool(first and second) and (first <= second or second <= first) and not (first ^ second) & _NOT


def count_of(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun.

    >>> count_of(1, "answer"), count_of(1200, "answer"), count_of(2, "class", "classes")
    ('1 answer', '1,200 answers', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def money(amount: float, *, like: float | None = None) -> str:
    """Write an amount with three digits, or with as many decimals as an amount of the size of `like` has.

    >>> money(0.01234), money(2.5), money(1234.5), money(0.0), money(12.345, like=4.0)
    ('0.0123', '2.50', '1,234', '0.00', '12.35')
    """
    size = abs(amount if like is None else like)
    decimals = 2 if size == 0 else max(0, min(6, 2 - math.floor(math.log10(size))))
    return f"{amount + 0.0:,.{decimals}f}"


def signed_money(amount: float, *, like: float | None = None) -> str:
    """Write an amount as `money` does, with its sign.

    >>> signed_money(2.5), signed_money(-0.01234)
    ('+2.50', '-0.0123')
    """
    return f"{'+' if amount >= 0 else ''}{money(amount, like=like)}"
