"""How long questions and cases waited: whole numbers by length, so that they add up over days and people."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

LENGTHS = (60, 600, 3_600, 28_800, 86_400)
"""Seconds up to which a time counts in a bucket; longer ones have a bucket of their own."""
LONGER = "longer"


@dataclass(frozen=True)
class Waited:
    """Lengths of time.

    Attributes
    ----------
    n : int
    mean : float, optional
        Seconds.
    within : (seconds, share) pairs
        Share that took at most so long, for each of `LENGTHS`.
    """

    n: int
    mean: float | None
    within: tuple[tuple[int, float | None], ...]


def bucket_of(seconds: float) -> str:
    """Return the name of a bucket.

    >>> bucket_of(0.2), bucket_of(60.0), bucket_of(61.0), bucket_of(1e6)
    ('60', '60', '600', 'longer')
    """
    return next((str(length) for length in LENGTHS if seconds <= length), LONGER)


def timed_names(name: str, seconds: float) -> Iterator[tuple[str, int]]:
    """Yield the tallies of a length of time: milliseconds, and one in its bucket.

    >>> list(timed_names("waited", 1.5))
    [('waited', 1500), ('waited_60', 1)]
    """
    yield name, round(1000 * seconds)
    yield f"{name}_{bucket_of(seconds)}", 1


def waited(sums: Iterable[Mapping[str, int]], name: str) -> Waited:
    """Return the lengths of some people's times, from their sums by name of the tally.

    >>> waited([{"waited": 3000, "waited_60": 2}, {"waited": 90_000, "waited_600": 1}], "waited").within[:2]
    ((60, 0.66...), (600, 1.0))
    """
    sums = list(sums)
    counts = {key: sum(one.get(f"{name}_{key}", 0) for one in sums) for key in (*map(str, LENGTHS), LONGER)}
    n, total = sum(counts.values()), sum(one.get(name, 0) for one in sums) / 1000
    up_to, within = 0, []
    for length in LENGTHS:
        up_to += counts[str(length)]
        within.append((length, up_to / n if n else None))
    return Waited(n, total / n if n else None, tuple(within))
