"""What changed when verdicts became two columns: the earlier words beside those of now, and a line for each change."""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from defero_verma2023.claims.verdict import DIRECTIONS, Verdict
from defero_verma2023.page.short import place_of

TABLE = "verdicts_before.csv"
HEADER = ("claim", "where", "before", "now", "what changed")


@dataclass(frozen=True)
class EarlierVerdict:
    """A verdict of before.

    Attributes
    ----------
    claim, where, verdict : str
        As they stood on the page.
    now : tuple of str
        The claims that it is now; two where a claim was split.
    reason : str
        What changed, in one line; "" where nothing did.
    """

    claim: str
    where: str
    verdict: str
    now: tuple[str, ...]
    reason: str


def read_earlier(path: Path) -> tuple[EarlierVerdict, ...]:
    """Read the verdicts of before; none where there is no such file."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(
            EarlierVerdict(
                row["claim"],
                row["where"],
                row["verdict"],
                tuple(row["now"].split(" / ")) if row["now"] else (row["claim"],),
                row["reason"],
            )
            for row in csv.DictReader(file)
        )


def direction_now(earlier: EarlierVerdict, all_verdicts: Sequence[Verdict]) -> str:
    """Return the direction of the same claim now; "" where it is no longer judged."""
    words = {one.direction for one in all_verdicts if one.claim in earlier.now and one.where == earlier.where}
    return " and ".join(word for word in DIRECTIONS if word in words)


def count_rows(earlier: Sequence[EarlierVerdict], all_verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    """Yield for each word of before how many there were, and what they are now."""
    counts = Counter((one.verdict, direction_now(one, all_verdicts)) for one in earlier)
    for word in dict.fromkeys(one.verdict for one in earlier):
        row = [counts[word, direction] for direction in DIRECTIONS[:-1]]
        yield (word, str(sum(n for (before, _), n in counts.items() if before == word)), *map(str, row))
    now = [sum(one.direction == direction for one in all_verdicts) for direction in DIRECTIONS[:-1]]
    yield ("all, now", str(len(all_verdicts)), *map(str, now))


COUNT_HEADER = ("before", "verdicts", *DIRECTIONS[:-1])


def change_rows(earlier: Sequence[EarlierVerdict], all_verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each verdict whose word is another now."""
    for one in earlier:
        now = direction_now(one, all_verdicts)
        if now != one.verdict:
            yield (" / ".join(one.now), place_of(one.where), one.verdict, now, one.reason)
