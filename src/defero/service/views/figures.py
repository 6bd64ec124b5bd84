"""Figures of the console, from the tallies: flow, promised against kept, money and waiting, for a period of days."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date, timedelta

from defero.service.views.kept import MILLION, Kept
from defero.service.views.tallies import TEAM, Tally, day_of

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
