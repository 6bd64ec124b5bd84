"""Kept: promised against kept, with the interval of what was kept; of all, and by how many experts were heard.

Of a panel, two people or more, there is a second promise: at least one of them is right with a probability of at least
the largest of theirs, however much they err together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from defero.judge.intervals import wilson_interval
from defero.service.events import Label
from defero.service.views.cases import CaseState

MILLION = 1_000_000
"""Tallies count probabilities and money in millionths."""


@dataclass(frozen=True)
class Kept:
    """Promised against kept: of n answers with an outcome.

    >>> Kept.of(n=100, right=70, promised=85.0).verdict
    'below'
    >>> Kept.of(n=0, right=0, promised=0.0).kept is None
    True
    """

    n: int
    promised: float | None
    kept: float | None
    low: float | None
    high: float | None

    @classmethod
    def of(cls, *, n: int, right: int, promised: float) -> "Kept":
        """Return the shares, and Wilson's 95 % interval of what was kept."""
        if n == 0:
            return cls(0, None, None, None, None)
        low, high = wilson_interval(right, n)
        return cls(n, promised / n, right / n, low, high)

    @property
    def verdict(self) -> str:
        """Return "below" or "above" where the promise lies outside the interval, "" where it does not."""
        if self.promised is None or self.low is None or self.high is None:
            return ""
        return "below" if self.high < self.promised else "above" if self.low > self.promised else ""


ALONE, ONE, SEVERAL = "alone", "one", "several"
GROUPS = (ALONE, ONE, SEVERAL)
"""Nobody was heard, one expert, or a panel of two and more."""


@dataclass(frozen=True)
class Heard:
    """Promised against kept of cases with an outcome.

    Attributes
    ----------
    groups : {group: Kept}
        Of the team's answer, for each of `GROUPS`.
    covered : Kept
        Of panels: somebody in them was right. What is promised is a lower bound.
    """

    groups: Mapping[str, Kept]
    covered: Kept


def group_of(state: CaseState) -> str:
    """Return the group of a case by the number of answers that counted."""
    return GROUPS[min(len(state.answers), 2)]


def judged_by_heard(before: CaseState, outcome: Label) -> Iterator[tuple[str, int]]:
    """Yield what an outcome adds to the tallies of the team; a correction takes back the earlier one."""
    assert before.step is not None
    group, first = group_of(before), before.outcome is None
    labels = [label for _, label in before.answers]
    promised = dict(zip(before.was_asked, before.promised, strict=True))
    best = max((promised.get(person, 0.0) for person, _ in before.answers), default=0.0)
    if first:
        yield f"outcomes_{group}", 1
        yield f"promised_judged_{group}", round(MILLION * before.step.p_right)
    yield f"right_{group}", int(before.step.label == outcome) - int(not first and before.step.label == before.outcome)
    if group == SEVERAL:
        if first:
            yield "panels_promised", round(MILLION * best)
        yield "panels_covered", int(outcome in labels) - int(not first and before.outcome in labels)


def heard_figures(sums: Mapping[str, int]) -> Heard:
    """Return the figures from the team's sums by name of the tally.

    >>> sums = {"outcomes_several": 10, "right_several": 8, "promised_judged_several": 9_000_000}
    >>> heard_figures({**sums, "panels_covered": 9, "panels_promised": 8_500_000}).covered.kept
    0.9
    """

    def record(n: str, right: str, promised: str) -> Kept:
        return Kept.of(n=sums.get(n, 0), right=sums.get(right, 0), promised=sums.get(promised, 0) / MILLION)

    groups = {one: record(f"outcomes_{one}", f"right_{one}", f"promised_judged_{one}") for one in GROUPS}
    return Heard(groups, record(f"outcomes_{SEVERAL}", "panels_covered", "panels_promised"))
