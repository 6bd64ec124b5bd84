"""Tallies: counts by day and person, each entry adding a few whole numbers.

Probabilities and fees are counted in millionths, waiting times in milliseconds and by length: whole numbers add up to
the same in any order, so that rebuilt figures are equal to the last digit.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from defero.service import events
from defero.service.views.cases import CaseState
from defero.service.views.promises import MILLION, Kept, judged_by_heard

Tally = tuple[str, str, str]
"""Day, person ("" for the whole team), and what is counted."""
Amount = tuple[str, str, int]
"""Person, what is counted, and by how much."""
TEAM = ""
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


def timed(person: str, name: str, seconds: float, *, sign: int = 1) -> Iterator[Amount]:
    """Yield the tallies of a length of time: milliseconds, and one in its bucket.

    >>> list(timed("p1", "waited", 1.5))
    [('p1', 'waited', 1500), ('p1', 'waited_60', 1)]
    """
    yield person, name, sign * round(1000 * seconds)
    yield person, f"{name}_{bucket_of(seconds)}", sign


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


_DAY = 86_400


def day_of(at: float) -> str:
    """Return the day (UTC) of a time.

    >>> day_of(86_400.0)
    '1970-01-02'
    """
    return _day(int(at // _DAY))


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return datetime.fromtimestamp(_DAY * number, UTC).strftime("%Y-%m-%d")


def tallies(before: CaseState | None, entry: events.Entry) -> Iterator[tuple[Tally, int]]:
    """Yield what an entry about a case adds to the counts; `before` is the case before it.

    Of the team: received, unusual, asked, observed (would have been asked), fees, settled, settled_alone (nobody was
    heard), promised (P(right) of settled cases), outcomes, right, promised_judged (P(right) of those with
    an outcome), each of the last three also by how many were heard, see `defero.service.views`; turnaround (from
    case to answer where somebody was heard).
    Of a person: asked, answered, uncounted, skipped, timed_out, waited (from question to answer), judged (answers whose
    outcome is known), right, promised (P(right) of these).
    Waited and turnaround are also counted by length, see `LENGTHS`.
    Of a language model, and of the team: calls, calls_failed, paid (prices of calls), called_for (from request to
    reply).
    """
    day = day_of(entry.at)
    for person, name, amount in _amounts(before, entry):
        yield (day, person, name), amount


def _amounts(before: CaseState | None, entry: events.Entry) -> Iterator[Amount]:
    """Yield the person, the name and the amount of each tally."""
    fact = entry.fact
    match fact:
        case events.Received():
            yield TEAM, "received", 1
            if fact.unusual:
                yield TEAM, "unusual", 1
        case events.Asked():
            for who in (TEAM, fact.person):
                yield who, "asked", 1
                yield who, "fees", round(MILLION * fact.fee)
        case events.Observed():
            for who in (TEAM, fact.person):
                yield who, "observed", 1
        case events.Compared():
            yield from _compared(fact)
        case events.Answered():
            yield fact.person, "answered" if fact.counted else "uncounted", 1
            if before is not None and before.asked == fact.person and before.asked_at is not None:
                yield from timed(fact.person, "waited", entry.at - before.asked_at)
        case events.CallBegun() | events.CallFailed():
            for who in (TEAM, fact.person):
                yield who, "calls" if isinstance(fact, events.CallBegun) else "calls_failed", 1
        case events.CallEnded():
            for who in (TEAM, fact.person):
                yield who, "paid", round(MILLION * fact.price)
                yield who, "called_for", round(1000 * fact.seconds)
        case events.Undone() if before is not None:
            yield from _taken_back(before, fact)
        case events.Skipped() | events.TimedOut():
            yield fact.person, fact.kind, 1
        case events.Settled():
            yield TEAM, "settled", 1
            yield TEAM, "promised", round(MILLION * fact.p_right)
            if not fact.heard:
                yield TEAM, "settled_alone", 1
            elif before is not None:
                yield from timed(TEAM, "turnaround", entry.at - before.received_at)
        case events.Outcome() if before is not None:
            yield from _judged(before, fact)


def _compared(fact: events.Compared) -> Iterator[Amount]:
    yield TEAM, "compared", 1
    yield TEAM, "compared_same_label", int(fact.same_label)
    yield TEAM, "compared_same_step", int(fact.same_step)
    yield TEAM, "compared_asks", int(fact.asks is not None)


def _taken_back(before: CaseState, fact: events.Undone) -> Iterator[Amount]:
    """Yield what an answer that was taken back had added, and the answer of the case that rested on it."""
    yield fact.person, "answered" if fact.counted else "uncounted", -1
    if fact.asked_at is not None:
        yield from timed(fact.person, "waited", fact.waited, sign=-1)
    if fact.counted and before.settled_at is not None and before.step is not None:
        yield TEAM, "settled", -1
        yield TEAM, "promised", -round(MILLION * before.step.p_right)
        yield from timed(TEAM, "turnaround", before.settled_at - before.received_at, sign=-1)


def _judged(before: CaseState, fact: events.Outcome) -> Iterator[Amount]:
    """Yield what an outcome says of the team and of those who answered; a correction takes back the earlier one."""
    first = before.outcome is None
    if before.settled and before.step is not None:
        if first:
            yield TEAM, "outcomes", 1
            yield TEAM, "promised_judged", round(MILLION * before.step.p_right)
        yield TEAM, "right", _change(before.step.label, before, fact)
        for name, amount in judged_by_heard(before, fact.label):
            yield TEAM, name, amount
    promised = dict(zip(before.was_asked, before.promised, strict=True))
    for person, answer in before.answers:
        if person not in promised:  # nobody promised anything of whoever was not asked
            continue
        if first:
            yield person, "judged", 1
            yield person, "promised", round(MILLION * promised[person])
        yield person, "right", _change(answer, before, fact)


def _change(label: object, before: CaseState, fact: events.Outcome) -> int:
    return int(label == fact.label) - int(before.outcome is not None and label == before.outcome)


Counts = Mapping[Tally, int]


@dataclass(frozen=True)
class Period:
    """Whole days (UTC), the first and the last one included.

    >>> week = Period.ending(at=1_800_000_000.0, n_days=7)
    >>> week.first, week.last, week.before().last, len(week.days())
    ('2027-01-09', '2027-01-15', '2027-01-08', 7)
    """

    first: str
    last: str

    @classmethod
    def ending(cls, *, at: float, n_days: int) -> "Period":
        """Return the days that end with the day of a time."""
        last = date.fromisoformat(day_of(at))
        return cls((last - timedelta(n_days - 1)).isoformat(), last.isoformat())

    def before(self) -> "Period":
        """Return the same number of days that came before it."""
        first, n_days = date.fromisoformat(self.first), len(self.days())
        return Period((first - timedelta(n_days)).isoformat(), (first - timedelta(1)).isoformat())

    def days(self) -> list[str]:
        """Return its days in order."""
        first, last = date.fromisoformat(self.first), date.fromisoformat(self.last)
        return [(first + timedelta(n)).isoformat() for n in range((last - first).days + 1)]

    def holds(self, day: str) -> bool:
        """Whether a day is in it."""
        return self.first <= day <= self.last


@dataclass(frozen=True)
class Flow:
    """What happened in some days: counts of the team, fees in money, P(right) summed over cases."""

    received: int = 0
    unusual: int = 0
    asked: int = 0
    settled: int = 0
    settled_alone: int = 0
    outcomes: int = 0
    right: int = 0
    fees: float = 0.0
    promised_judged: float = 0.0

    @property
    def settled_with_experts(self) -> int:
        """Cases in whose answer somebody was heard."""
        return self.settled - self.settled_alone

    @property
    def alone_rate(self) -> float | None:
        """Share of the answers that the model gave alone."""
        return ratio(self.settled_alone, self.settled)

    @property
    def questions_per_case(self) -> float | None:
        """Questions for each settled case."""
        return ratio(self.asked, self.settled)

    @property
    def errors(self) -> int:
        """Answers that the outcome proved wrong."""
        return self.outcomes - self.right

    def record(self) -> Kept:
        """Return what was promised of the team's answers, and what was kept."""
        return Kept.of(n=self.outcomes, right=self.right, promised=self.promised_judged)


@dataclass(frozen=True)
class PersonFigures:
    """What a person did in some days.

    Attributes
    ----------
    asked, answered, uncounted, skipped, timed_out : int
    fees : float
    wait : float, optional
        Mean seconds from question to answer.
    record : Kept
    """

    asked: int
    answered: int
    uncounted: int
    skipped: int
    timed_out: int
    fees: float
    wait: float | None
    record: Kept


def ratio(part: float, whole: float) -> float | None:
    """Return part / whole; None where there is nothing to divide by."""
    return part / whole if whole else None


def flow(counts: Counts, days: Period) -> Flow:
    """Return what happened in some days."""
    sums = sums_of(counts, days)
    whole = {one.name: sums.get(one.name, 0) for one in fields(Flow) if one.name not in ("fees", "promised_judged")}
    return Flow(**whole, fees=sums.get("fees", 0) / MILLION, promised_judged=sums.get("promised_judged", 0) / MILLION)


def flow_by_day(counts: Counts, days: Period) -> list[tuple[str, Flow]]:
    """Return the flow of each day; a day without entries is there with zeros."""
    by_day: dict[str, dict[Tally, int]] = {day: {} for day in days.days()}
    for tally, amount in counts.items():
        if tally[1] == TEAM and tally[0] in by_day:
            by_day[tally[0]][tally] = amount
    return [(day, flow(own, Period(day, day))) for day, own in by_day.items()]


def person_figures(counts: Counts, days: Period, person: str) -> PersonFigures:
    """Return what a person did in some days."""
    sums = sums_of(counts, days, person)
    plain = {name: sums.get(name, 0) for name in ("asked", "answered", "uncounted", "skipped", "timed_out")}
    wait = ratio(sums.get("waited", 0) / 1000, plain["answered"])
    promised = sums.get("promised", 0) / MILLION
    record = Kept.of(n=sums.get("judged", 0), right=sums.get("right", 0), promised=promised)
    return PersonFigures(**plain, fees=sums.get("fees", 0) / MILLION, wait=wait, record=record)


def sums_of(counts: Counts, days: Period, person: str = TEAM) -> dict[str, int]:
    """Return every count of a person, or of the team, over some days."""
    sums: dict[str, int] = {}
    for (day, who, name), amount in counts.items():
        if who == person and days.holds(day):
            sums[name] = sums.get(name, 0) + amount
    return sums


def mean_wait(counts: Counts, days: Period, people: Iterable[str]) -> float | None:
    """Return the mean seconds from question to answer, over people."""
    of_them = set(people)
    sums = {"waited": 0, "answered": 0}
    for (day, person, name), amount in counts.items():
        if name in sums and person in of_them and days.holds(day):
            sums[name] += amount
    return ratio(sums["waited"] / 1000, sums["answered"])
