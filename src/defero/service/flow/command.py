"""Command: one request to change something; `do_all` does those that wait together, in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from defero.core.labels import Labels
from defero.core.scores import Scores
from defero.service.events import Entry, Settled
from defero.service.flow.steps import Batch, take_steps
from defero.service.flow.team import Row, WorkingTeam
from defero.service.flow.what_if import compare_new
from defero.service.problems import Problem
from defero.service.views.cases import CaseState
from defero.service.views.ledger import Ledger
from defero.service.views.promises import MODEL


@dataclass(frozen=True)
class Request:
    """A request with an idempotency key that was done: the digest of its content, and the cases that came of it."""

    digest: str
    cases: tuple[str, ...]


class Desk(Protocol):
    """Contents of cases, names, notes and questions that are due; kept in the transaction of the ledger."""

    def states(self, cases: Sequence[str]) -> dict[str, CaseState]:
        """Return where some cases stand; those that do not exist are left out."""

    def rows(self, cases: Sequence[str]) -> dict[str, Row]:
        """Return the features of some cases; those that were erased are left out."""

    def keep_rows(self, contents: Mapping[str, tuple[str | None, Row]]) -> None:
        """Keep the key and the features of new cases."""

    def names(self) -> dict[str, str]:
        """Return everybody's name by id."""

    def set_name(self, person: str, name: str) -> None:
        """Set the name of a person."""

    def set_addresses(self, addresses: Mapping[str, str]) -> None:
        """Replace all e-mail addresses, by person."""

    def forget_address(self, person: str) -> None:
        """Remove the e-mail address of a person."""

    def keep_note(self, entry: Entry, words: str) -> None:
        """Keep what somebody wrote about a case."""

    def erase_case(self, case: str) -> None:
        """Remove the content of a case."""

    def first_entries(self, cases: Iterable[str]) -> dict[str, list[Entry]]:
        """Return what the log has of some cases, from the beginning."""

    def history(self, case: str) -> list[Entry]:
        """Return all entries about a case that are in the log."""

    def open_questions(
        self, *, due_before: float | None = None, person: str | None = None, people: Iterable[str] | None = None
    ) -> list[str]:
        """Return the cases whose question is due, or is with somebody; at most a thousand, the oldest first."""

    def request(self, key: str) -> Request | None:
        """Return the request of an idempotency key, if it was done before."""

    def keep_request(self, key: str, digest: str, cases: Sequence[str]) -> None:
        """Remember that a request is done."""


@dataclass(frozen=True, eq=False)
class Scored:
    """New cases of all commands of a round as the model sees them, and which of them are a command's.

    Attributes
    ----------
    features : (n, d)
    scores : Scores of n cases
    unusual : (n,), optional
    rows : slice
        The command's own.
    contents : n features as they came in
    """

    features: Any
    scores: Scores
    unusual: Labels | None
    rows: slice
    contents: Sequence[Row]


@dataclass
class Round:
    """What the commands of one transaction share.

    Attributes
    ----------
    ledger, desk, team
    fresh : list of ids and Scored
        Cases that are new in this round, by command.
    waiting : ids
        Older cases that need a next step, in order.
    candidate : WorkingTeam, optional
        A model beside the one that decides, compared with it on new cases.
    """

    ledger: Ledger
    desk: Desk
    team: WorkingTeam
    candidate: WorkingTeam | None = None
    fresh: list[tuple[list[str], Scored]] = field(default_factory=list)
    waiting: dict[str, None] = field(default_factory=dict)
    _by_case: dict[str, list[Entry]] = field(default_factory=dict)
    _n_indexed: int = 0

    def entries_of(self, case: str) -> list[Entry]:
        """Return what this round has added about a case."""
        for entry in self.ledger.entries[self._n_indexed :]:
            if entry.case is not None:
                self._by_case.setdefault(entry.case, []).append(entry)
        self._n_indexed = len(self.ledger.entries)
        return self._by_case.get(case, [])

    def state(self, case: str) -> CaseState | None:
        """Return where a case stands; None where there is no such case."""
        if case not in self.ledger.cases:
            self.ledger.cases.update(self.desk.states([case]))
        return self.ledger.cases.get(case)


class Command(ABC):
    """A request to change something; each one is a dataclass."""

    @property
    def cases(self) -> Sequence[str]:
        """The cases that it is about, to be read before it begins."""
        return ()

    @abstractmethod
    def begin(self, work: Round) -> None:
        """Check everything, then add what happened; a `Problem` leaves nothing behind. May be called again."""

    def reply(self, work: Round) -> Any:
        """Return the reply, once next steps are taken; None where nobody waits for one."""
        return None


@dataclass
class CaseCommand(Command):
    """A request about one case."""

    case: str

    @property
    def cases(self) -> Sequence[str]:
        """The case."""
        return (self.case,)


@runtime_checkable
class BringsCases(Protocol):
    """A command with new cases: `do_all` scores those of all commands together, and sets `scored`."""

    rows: Sequence[Row]
    matrix: Any
    prepared_by: str
    scored: Scored | None


def do_all(work: Round, commands: Sequence[Command]) -> list[Any]:
    """Do commands in turn, take the next steps of all cases together, and return each reply or `Problem`."""
    score_together(work.team, [command for command in commands if isinstance(command, BringsCases)])
    results: list[Any] = [None] * len(commands)
    for place, command in enumerate(commands):
        try:
            command.begin(work)
        except Problem as problem:
            results[place] = problem
    step_cases(work)
    return [
        result if isinstance(result, Problem) else command.reply(work)
        for result, command in zip(results, commands, strict=True)
    ]


def score_together(team: WorkingTeam, commands: Sequence[BringsCases]) -> None:
    """Score the new cases of all commands in one call, and give each command its part."""
    if not commands:
        return
    for command in commands:
        if command.prepared_by != team.version:  # another model took over in between
            command.matrix, command.prepared_by = team.matrix(command.rows), team.version
    features = commands[0].matrix if len(commands) == 1 else np.concatenate([one.matrix for one in commands])
    contents = [row for one in commands for row in one.rows]
    scores, unusual, start = team.router.score_features(features), team.router.unusual(features), 0
    for command in commands:
        command.scored = Scored(features, scores, unusual, slice(start, start + len(command.rows)), contents)
        start += len(command.rows)


def step_cases(work: Round) -> None:
    """Take the next step of every case that waits for one: older cases first, then new ones."""
    states = work.ledger.cases
    older = [case for case in work.waiting if not states[case].settled]
    contents = work.desk.rows(older)
    for case in older:
        if case not in contents:
            _settle_unseen(work, case, "its content was erased")
    known = [case for case in older if case in contents]
    for case in [case for case in known if not work.team.reads(contents[case])]:  # another model took over
        _settle_unseen(work, case, "the model of now needs other columns")
        known.remove(case)
    if known:
        matrix = work.team.matrix([contents[case] for case in known])
        scores = work.team.router.score_features(matrix)
        batch = Batch([states[case] for case in known], matrix, scores, [contents[case] for case in known])
        take_steps(work.ledger, work.team, batch)
    if work.fresh:
        new = [states[case] for cases, _ in work.fresh for case in cases]
        whole = work.fresh[0][1]
        features, scores, rows_in = whole.features, whole.scores, whole.contents
        if len(new) < len(features):  # some requests were refused, or done before
            rows = np.concatenate([np.arange(len(features))[scored.rows] for _, scored in work.fresh])
            features, scores, rows_in = features[rows], scores.take(rows), [whole.contents[row] for row in rows]
        take_steps(work.ledger, work.team, Batch(new, features, scores, rows_in))
        if work.candidate is not None:
            compare_new(work.ledger, work.candidate, [state.case for state in new], rows_in)
    work.waiting.clear()
    work.fresh.clear()


def _settle_unseen(work: Round, case: str, why: str) -> None:
    """Answer an open case that cannot be scored any more by what its last step knew."""
    state = work.ledger.cases[case]
    if state.step is not None:
        shift = work.ledger.drift.corrections().get(MODEL, 0.0)
        terms = {**vars(state.step), "shift": shift, "reason": f"answered: {why}"}
        work.ledger.add(Settled(**terms, heard=tuple(person for person, _ in state.answers)), case)
