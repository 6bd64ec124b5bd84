"""Cases come in, are answered, skipped, taken back and erased, and their outcomes become known."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from defero.service import Problem, events
from defero.service.flow.command import BringCases, CaseCommand, Command, Round
from defero.service.views import Ledger
from defero.service.views.cases import Beliefs, CaseState, apply, first_step, state_reply, step_reply
from defero.service.views.policy import Person
from defero.service.views.promises import MODEL, drift_rows


def case_of(work: Round, case: str) -> CaseState:
    """Return where a case stands; raises `Problem` where there is none."""
    state = work.state(case)
    if state is None:
        raise Problem(404, "There is no such case.", case=case)
    return state


def case_of_person(work: Round, case: str, person: str, *, by: str) -> CaseState:
    """Return where a case stands; for an expert who was never asked about it there is none."""
    state = case_of(work, case)
    if by == person and person not in state.was_asked:  # what others are asked is not theirs to see
        raise Problem(404, "There is no such case.", case=case)
    return state


class GiveAnswer(CaseCommand):
    """A person's answer to a case.

    Attributes
    ----------
    case, person : str
    answer : label
    by : str
        Who sent it: the person, or the program or lead who speaks for them.
    """

    person: str
    answer: events.Label
    by: str

    def begin(self, work: Round) -> None:
        """Keep the answer. After the case is settled it does not count; the same answer again changes nothing."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if self.person not in work.team.people:
            raise Problem(422, "This person is no expert of the model.", person=self.person)
        answer = work.team.class_values[work.team.class_of(self.answer, what="answer")]
        before = state.all_answers.get(self.person)
        if before is not None:
            if before != answer:
                raise Problem(409, "This person has answered this case already, and otherwise.", case=self.case)
            return
        counted = not state.settled
        work.ledger.add(events.Answered(person=self.person, answer=answer, counted=counted, by=self.by), self.case)
        if counted:
            work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return whether the answer counts, and the next step."""
        state = work.ledger.cases[self.case]
        return {**state_reply(state, work.desk.names()), "counted": self.person in dict(state.answers)}


class Skip(CaseCommand):
    """A person gives a question back.

    Attributes
    ----------
    case, person, by : str
    note : str
        Why; kept with the content of the case.
    """

    person: str
    by: str
    note: str = ""

    def begin(self, work: Round) -> None:
        """Take the question back; it goes to somebody else, or the case is answered."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if state.asked != self.person:
            raise Problem(409, "The question is not with this person any more.", case=self.case)
        entry = work.ledger.add(events.Skipped(person=self.person, by=self.by), self.case)
        if self.note and not state.erased:
            work.desk.keep_note(entry, self.note)
        work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the next step."""
        return state_reply(work.ledger.cases[self.case], work.desk.names())


UNDO_SECONDS = 60.0
"""How long an answer can be taken back."""


class Undo(CaseCommand):
    """A person takes their last answer to a case back.

    Whoever was asked after it, and has not answered, is asked no more. After another answer or the outcome it is too
    late: somebody has relied on it.
    """

    person: str
    by: str

    def begin(self, work: Round) -> None:
        """Take the answer back; the question is theirs again, or goes on where it was not theirs when they answered."""
        state = case_of_person(work, self.case, self.person, by=self.by)
        if state.all_answers.get(self.person) is None:
            raise Problem(409, "There is no answer of this person to take back.", case=self.case)
        entries = _entries(work, self.case)
        place = max(
            i for i, one in enumerate(entries) if isinstance(one.fact, events.Answered) and one.person == self.person
        )
        answered, now = entries[place], work.ledger.now
        if now > answered.at + UNDO_SECONDS:
            raise Problem(409, f"An answer can be taken back for {UNDO_SECONDS:g} seconds.", case=self.case)
        if any(isinstance(one.fact, events.Answered | events.Outcome) for one in entries[place + 1 :]):
            raise Problem(409, "Somebody answered after this, or the outcome is known.", case=self.case)
        work.ledger.add(_undone(answered, _folded(entries[:place]), by=self.by, now=now), self.case)
        if not work.ledger.cases[self.case].settled and work.ledger.cases[self.case].asked is None:
            work.waiting[self.case] = None

    def reply(self, work: Round) -> dict[str, Any]:
        """Return where the case stands."""
        return state_reply(work.ledger.cases[self.case], work.desk.names())


def _entries(work: Round, case: str) -> list[events.Entry]:
    """Return all entries about a case, those of this transaction too."""
    return [*work.desk.history(case), *(one for one in work.ledger.entries if one.case == case)]


def _folded(entries: Sequence[events.Entry]) -> CaseState:
    state: CaseState | None = None
    for entry in entries:
        state = apply(state, entry)
    assert state is not None
    return state


def _undone(answered: events.Entry, before: CaseState, *, by: str, now: float) -> events.Undone:
    fact = answered.fact
    assert isinstance(fact, events.Answered)
    theirs = before.asked == fact.person and before.asked_at is not None
    due = before.due if theirs else None
    return events.Undone(
        person=fact.person,
        counted=fact.counted,
        asked_at=before.asked_at if theirs else None,
        due=None if due is None else max(due, now + UNDO_SECONDS),
        waited=answered.at - before.asked_at if theirs and before.asked_at is not None else 0.0,
        by=by,
    )


def gone_of(people: Mapping[str, Person]) -> set[str]:
    """Return the experts who left."""
    return {person for person, one in people.items() if one.removed and one.role == "expert"}


class Expire(Command):
    """Take back the questions that are due, and those of people who left, a thousand of each at a time."""

    def begin(self, work: Round) -> int:
        """Take back every question that is due, or that nobody has any more."""
        n_due, now, gone = 0, work.ledger.now, gone_of(work.ledger.people)
        due = [*work.desk.open_questions(due_before=now), *work.desk.open_questions(people=gone)]
        for case in dict.fromkeys(due):
            state = work.state(case)
            if state is None or state.asked is None:
                continue
            if state.asked in gone or (state.due is not None and state.due <= now):
                work.ledger.add(events.TimedOut(person=state.asked), case)
                work.waiting[case] = None
                n_due += 1
        return n_due


class AddCases(BringCases):
    """New cases of one request.

    Attributes
    ----------
    keys : n texts or None
        The client's own names of the cases.
    rows : n features
    matrix : (n, d)
        What `WorkingTeam.matrix` made of them, by the team of version `prepared_by`.
    request : str, optional
        The idempotency key, unique by caller.
    digest : str
        Of the content of the request.
    """

    ids: list[str] = field(default_factory=list)
    done_before: bool = False

    def begin(self, work: Round) -> None:
        """Keep the cases; a request that was done before only looks up what came of it."""
        self.ids, self.done_before = [], False
        if self.request is not None:
            before = work.desk.requests.get(self.request)
            if before is not None:
                self._again(work, before.digest, before.cases)
                return
        assert self.scored is not None
        scores, rows = self.scored.scores, self.scored.rows
        p_model = np.round(scores.class_proba[rows], 6).tolist()
        p_expert = np.round(scores.expert_proba[rows], 6).tolist()
        unusual = None if self.scored.unusual is None else self.scored.unusual[rows]
        for i in range(len(self.rows)):
            case = work.ledger.new_case()
            fact = events.Received(
                model=work.team.version,
                policy=work.ledger.policy.version,
                p_model=tuple(p_model[i]),
                p_expert=tuple(p_expert[i]),
                unusual="" if unusual is None else unusual[i],
            )
            work.ledger.add(fact, case)
            self.ids.append(case)
        work.desk.keep_rows({case: (key, row) for case, key, row in zip(self.ids, self.keys, self.rows, strict=True)})
        work.fresh.append((self.ids, self.scored))
        if self.request is not None:
            work.desk.keep_request(self.request, self.digest, self.ids)

    def _again(self, work: Round, digest: str, cases: Sequence[str]) -> None:
        if digest != self.digest:
            raise Problem(422, "This Idempotency-Key was used for another request; use a new key for new content.")
        self.ids = list(cases)
        self.done_before = True

    def reply(self, work: Round) -> dict[str, Any]:
        """Return the first step of each case; what another request of this round did is not in the log yet."""
        entries = work.desk.first_entries(self.ids) if self.done_before else {}
        if not all(case in entries for case in self.ids):
            entries = {case: work.entries_of(case) for case in self.ids}
        names = work.desk.names()
        believed, replies = Beliefs(work.ledger.model, names), []
        for case, key in zip(self.ids, self.keys, strict=True):
            received, step = first_step(entries[case])
            replies.append({"key": key, **step_reply(case, step, names), **believed.of(received)})
        return {"cases": replies}


class EraseCase(CaseCommand):
    """The content of a case is removed; an open case is answered by what is known."""

    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Remove the content, once."""
        state = case_of(work, self.case)
        if not state.erased:
            work.desk.erase_case(self.case)
            work.ledger.add(events.Erased(by=self.by), self.case)
            if not state.settled:
                work.waiting[self.case] = None
        return {"case": self.case, "erased": True}


SYSTEM = "system"
"""Who acts, where the policy says so."""


def raise_alarms(ledger: Ledger, judged: Iterable[str]) -> None:
    """Record new alarms of people and the model; with the policy "correct", correct their promises at once."""
    for who in judged:
        alarm = ledger.drift.alarm(who)
        if alarm is None:
            continue
        ledger.add(events.DriftRaised(person=who, **vars(alarm)))
        if ledger.policy.on_drift == "correct":
            ledger.add(events.DriftActed(person=who, action="correct", by=SYSTEM))


class GiveOutcomes(Command):
    """The truth of some cases.

    Attributes
    ----------
    outcomes : pairs of case and label
    by : str
        Who says so.
    """

    outcomes: Sequence[tuple[str, events.Label]]
    by: str

    @property
    def cases(self) -> Sequence[str]:
        """The cases whose truth is known."""
        return [case for case, _ in self.outcomes]

    def begin(self, work: Round) -> dict[str, Any]:
        """Keep them all, or none where one names no case or no class; what is known already is not kept twice."""
        known, changed = [], 0
        for case, label in self.outcomes:
            case_of(work, case)
            known.append((case, work.team.class_values[work.team.class_of(label, what=f"the outcome of {case}")]))
        for case, label in known:
            if work.ledger.cases[case].outcome != label:
                work.ledger.add(events.Outcome(label=label, by=self.by), case)
                changed += 1
                raise_alarms(work.ledger, (MODEL, *work.ledger.cases[case].was_asked))
        return {"received": len(self.outcomes), "changed": changed}


class ActOnDrift(Command):
    """The lead acts on an alarm, or withdraws a correction.

    Attributes
    ----------
    who : str
        A person, or "model".
    action : "correct", "dismiss" or "withdraw"
    by : str
    """

    who: str
    action: str
    by: str

    def begin(self, work: Round) -> dict[str, Any]:
        """Check that there is an alarm or a correction, and act."""
        ledger = work.ledger
        if self.who != MODEL and self.who not in ledger.people:
            raise Problem(404, "There is no such person.", person=self.who)
        if self.action != "withdraw" and not ledger.drift.state(self.who).alarmed:
            raise Problem(409, "There is no alarm to act on.", person=self.who)
        if self.action == "withdraw" and self.who not in ledger.drift.corrections():
            raise Problem(409, "There is no correction to withdraw.", person=self.who)
        ledger.add(events.DriftActed(person=self.who, action=self.action, by=self.by))
        rows = drift_rows(work.ledger.drift, work.desk.names())
        return next(row for row in rows if row["person"] == self.who)
