"""Command: one request to change something; `do_all` does those that wait together, in one transaction."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, dataclass_transform

import numpy as np

from defero.core.labels import Labels
from defero.core.scores import Scores
from defero.service import Problem
from defero.service.events import Entry, Row, Settled
from defero.service.flow.steps import CaseBatch, take_steps
from defero.service.flow.team import WorkingTeam
from defero.service.flow.what_if import compare_new
from defero.service.store.contents import SqlDesk
from defero.service.views import Ledger
from defero.service.views.cases import CaseState
from defero.service.views.promises import MODEL


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
    desk: SqlDesk
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


@dataclass_transform()
class Command(ABC):
    """A request to change something; each one is a dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(cls)

    @property
    def cases(self) -> Sequence[str]:
        """The cases that it is about, to be read before it begins."""
        return ()

    @abstractmethod
    def begin(self, work: Round) -> Any:
        """Check everything, then add what happened; a `Problem` leaves nothing behind. May be called again.

        Returns the reply where that is known before next steps are taken.
        """

    def reply(self, work: Round) -> Any:
        """Return the reply, once next steps are taken; None where nobody waits for one."""
        return None


class BringCases(Command):
    """A request with new cases: `do_all` scores those of all commands together, and sets `scored`."""

    keys: Sequence[str | None]
    rows: Sequence[Row]
    matrix: Any
    prepared_by: str
    request: str | None = None
    digest: str = ""
    scored: Scored | None = None


class CaseCommand(Command):
    """A request about one case."""

    case: str

    @property
    def cases(self) -> Sequence[str]:
        """The case."""
        return (self.case,)


def do_all(work: Round, commands: Sequence[Command]) -> list[Any]:
    """Do commands in turn, take the next steps of all cases together, and return each reply or `Problem`."""
    score_together(work.team, [command for command in commands if isinstance(command, BringCases)])
    results: list[Any] = [None] * len(commands)
    for place, command in enumerate(commands):
        try:
            results[place] = command.begin(work)
        except Problem as problem:
            results[place] = problem
    step_cases(work)
    return [
        command.reply(work) if result is None else result for result, command in zip(results, commands, strict=True)
    ]


def score_together(team: WorkingTeam, commands: Sequence[BringCases]) -> None:
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
        batch = CaseBatch([states[case] for case in known], matrix, scores, [contents[case] for case in known])
        take_steps(work.ledger, work.team, batch)
    if work.fresh:
        new = [states[case] for cases, _ in work.fresh for case in cases]
        whole = work.fresh[0][1]
        features, scores, rows_in = whole.features, whole.scores, whole.contents
        if len(new) < len(features):  # some requests were refused, or done before
            rows = np.concatenate([np.arange(len(features))[scored.rows] for _, scored in work.fresh])
            features, scores, rows_in = features[rows], scores.take(rows), [whole.contents[row] for row in rows]
        take_steps(work.ledger, work.team, CaseBatch(new, features, scores, rows_in))
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
