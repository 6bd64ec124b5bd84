"""Promises: what was promised against what was kept, and a watch for each expert and the model, fed by outcomes.

Judged are outcomes of cases that the model of now decided. An expert is judged by the answers that they were asked
for, the model by the cases that it answered alone. So an alarm speaks of cases whose outcome became known.

Of a panel, two people or more, there is a second promise: at least one of them is right with a probability of at least
the largest of theirs, however much they err together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from defero.judge.drift import (
    THRESHOLD,
    Alarm,
    Watch,
    after_outcome,
    alarm_of,
    corrected_watch,
    restarted_watch,
    without_correction,
)
from defero.judge.intervals import wilson_interval
from defero.service.events import DriftActed, DriftRaised, Label, Outcome
from defero.service.views.cases import CaseState

MODEL = "model"
"""In place of the id of a person."""
_BEGUN = {"correct": corrected_watch, "dismiss": restarted_watch, "withdraw": without_correction}
ACTIONS = tuple(_BEGUN)
"""Correct the promise by the outcomes since the change; leave it as it is; take back an earlier correction."""


@dataclass(frozen=True)
class DriftState:
    """A watch, and whether its alarm waits for somebody to act on it."""

    watch: Watch
    alarmed: bool = False


class DriftBook:
    """The drift states of everybody, read from plain values when they are needed.

    Parameters
    ----------
    saved : mapping, optional
        What `plain` gave.

    Examples
    --------
    >>> book = DriftBook()
    >>> while book.alarm("p1") is None:
    ...     book.judge("p1", 0.9, right=False)
    >>> book.apply(DriftActed(person="p1", action="correct", by="p9"))
    >>> sorted(book.corrections()), book.alarm("p1")
    (['p1'], None)
    >>> DriftBook(book.plain()).plain() == book.plain()
    True
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        self._saved = dict(saved or {})
        self._states: dict[str, DriftState] = {}

    def state(self, who: str) -> DriftState:
        """Return what is known of an expert or the model."""
        if who not in self._states:
            saved = self._saved.get(who)
            read = DriftState(Watch()) if saved is None else _read(saved)
            self._states[who] = read
        return self._states[who]

    def known(self) -> list[str]:
        """Return everybody who was judged."""
        return sorted({*self._saved, *(who for who, state in self._states.items() if state.watch.n)})

    def judge(self, who: str, proba: float, *, right: bool, shift: float = 0.0) -> None:
        """Take one more outcome; `proba` is what was promised, with a correction of `shift` in it."""
        state = self.state(who)
        self._states[who] = replace(state, watch=after_outcome(state.watch, proba, right=right, included=shift))

    def alarm(self, who: str) -> Alarm | None:
        """Return an alarm that was not raised yet."""
        state = self.state(who)
        return None if state.alarmed else alarm_of(state.watch)

    def apply(self, fact: DriftRaised | DriftActed) -> None:
        """Remember that an alarm waits for somebody, or correct, dismiss or withdraw: then the watch begins anew."""
        state = self.state(fact.person)
        if isinstance(fact, DriftRaised):
            self._states[fact.person] = replace(state, alarmed=True)
        else:
            self._states[fact.person] = DriftState(_BEGUN[fact.action](state.watch))

    def corrections(self) -> dict[str, float]:
        """Return what is added to the log-odds of promises, where it is not 0."""
        saved = {who: float(one["correction"]) for who, one in self._saved.items()}
        both = saved | {who: state.watch.correction for who, state in self._states.items()}
        return {who: shift for who, shift in both.items() if shift}

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        new = {who: _plain(state) for who, state in self._states.items() if state.watch.n}
        return dict(sorted({**self._saved, **new}.items()))


def judged(before: CaseState, fact: Outcome, model: str | None) -> Iterator[tuple[str, float, float, bool]]:
    """Yield who is judged by the outcome of a case: the id, the promise, the correction in it, and if they were right.

    The first outcome counts; a later correction of it would make the promise look back.
    """
    if before.outcome is not None or before.step is None or before.step.model != model:
        return
    promised = dict(zip(before.was_asked, zip(before.promised, before.shifts, strict=True), strict=True))
    for person, answer in before.answers:
        if person in promised:
            yield person, *promised[person], answer == fact.label
    if before.settled and not before.answers:
        yield MODEL, before.step.p_right, before.step.shift, before.step.label == fact.label


def drift_rows(book: DriftBook, names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what the console shows of each expert and the model.

    `evidence` reaches `threshold` at an alarm; `alarm` says since how many outcomes, by the best guess, and what was
    promised and kept in these; `correction` is added to the log-odds of the model's promise.
    """
    rows = []
    for who in book.known():
        state = book.state(who)
        alarm = alarm_of(state.watch) if state.alarmed else None
        rows.append(
            {
                "person": who,
                "name": names.get(who, who),
                "outcomes": state.watch.n,
                "evidence": state.watch.evidence,
                "threshold": THRESHOLD,
                "alarmed": state.alarmed,
                "alarm": None if alarm is None else vars(alarm),
                "correction": state.watch.correction,
            }
        )
    return rows


def _plain(state: DriftState) -> dict[str, Any]:
    return {**state.watch.to_dict(), "alarmed": state.alarmed}


def _read(saved: Mapping[str, Any]) -> DriftState:
    values = {name: value for name, value in saved.items() if name != "alarmed"}
    return DriftState(Watch.from_dict(values), saved["alarmed"])


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
COVERED = "covered"
"""Of panels: somebody in them was right. What is promised is a lower bound."""


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


def heard_figures(sums: Mapping[str, int]) -> dict[str, Kept]:
    """Return what was promised and kept by group, and of panels that are covered, from the team's sums by tally.

    >>> sums = {"outcomes_several": 10, "right_several": 8, "promised_judged_several": 9_000_000}
    >>> heard_figures({**sums, "panels_covered": 9, "panels_promised": 8_500_000})[COVERED].kept
    0.9
    """

    def record(n: str, right: str, promised: str) -> Kept:
        return Kept.of(n=sums.get(n, 0), right=sums.get(right, 0), promised=sums.get(promised, 0) / MILLION)

    groups = {one: record(f"outcomes_{one}", f"right_{one}", f"promised_judged_{one}") for one in GROUPS}
    return groups | {COVERED: record(f"outcomes_{SEVERAL}", "panels_covered", "panels_promised")}
