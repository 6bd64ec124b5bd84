"""Command: one request to change something; `do_all` does those that wait together, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from defero.core.labels import Labels
from defero.core.scores import Scores
from defero.service.events import Settled
from defero.service.flow.desk import Desk
from defero.service.flow.steps import Batch, take_steps
from defero.service.flow.team import Row, Team
from defero.service.problems import Problem
from defero.service.views.cases import CaseState
from defero.service.views.ledger import Ledger


@dataclass(frozen=True, eq=False)
class Scored:
    """New cases as the model sees them: features (n, d), scores, and what makes them unusual (n,)."""

    features: Any
    scores: Scores
    unusual: Labels | None

    def take(self, rows: slice) -> "Scored":
        """Return some of them."""
        unusual = None if self.unusual is None else self.unusual[rows]
        return Scored(self.features[rows], self.scores.take(rows), unusual)


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
    """

    ledger: Ledger
    desk: Desk
    team: Team
    fresh: list[tuple[list[str], Scored]] = field(default_factory=list)
    waiting: dict[str, None] = field(default_factory=dict)

    def state(self, case: str) -> CaseState | None:
        """Return where a case stands; None where there is no such case."""
        if case not in self.ledger.cases:
            self.ledger.cases.update(self.desk.states([case]))
        return self.ledger.cases.get(case)


class Command(Protocol):
    """A request to change something.

    A command may also have `rows`, the features of new cases, `matrix`, what the model takes, made by the team of
    version `prepared_by`: then `do_all` scores the cases of all commands together and sets `scored`.
    """

    @property
    def cases(self) -> Sequence[str]:
        """The cases that it is about, to be read before it begins."""

    def begin(self, work: Round) -> None:
        """Check everything, then add what happened; a `Problem` leaves nothing behind. May be called again."""

    def reply(self, work: Round) -> Any:
        """Return the reply, once next steps are taken."""


class BringsCases(Protocol):
    """A command with new cases."""

    rows: Sequence[Row]
    matrix: Any
    prepared_by: str
    scored: Scored | None


def do_all(work: Round, commands: Sequence[Command]) -> list[Any]:
    """Do commands in turn, take the next steps of all cases together, and return each reply or `Problem`."""
    score_together(work.team, [command for command in commands if hasattr(command, "scored")])  # type: ignore[misc]
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


def score_together(team: Team, commands: Sequence[BringsCases]) -> None:
    """Score the new cases of all commands in one call, and give each command its part."""
    if not commands:
        return
    for command in commands:
        if command.prepared_by != team.version:  # another model took over in between
            command.matrix, command.prepared_by = team.matrix(command.rows), team.version
    features = commands[0].matrix if len(commands) == 1 else np.concatenate([one.matrix for one in commands])
    whole = Scored(features, team.router.score_features(features), team.router.unusual(features))
    start = 0
    for command in commands:
        command.scored = whole.take(slice(start, start + len(command.rows)))
        start += len(command.rows)


def step_cases(work: Round) -> None:
    """Take the next step of every case that waits for one: older cases first, then new ones."""
    states = work.ledger.cases
    older = [case for case in work.waiting if not states[case].settled]
    rows = work.desk.rows(older)
    for case in older:
        if case not in rows:
            _settle_unseen(work, case)
    known = [case for case in older if case in rows]
    if known:
        matrix = work.team.matrix([rows[case] for case in known])
        scores = work.team.router.score_features(matrix)
        take_steps(work.ledger, work.team, Batch([states[case] for case in known], matrix, scores))
    if work.fresh:
        new = [states[case] for cases, _ in work.fresh for case in cases]
        features = np.concatenate([scored.features for _, scored in work.fresh])
        scores = _joined([scored.scores for _, scored in work.fresh])
        take_steps(work.ledger, work.team, Batch(new, features, scores))
    work.waiting.clear()
    work.fresh.clear()


def _joined(parts: Sequence[Scores]) -> Scores:
    if len(parts) == 1:
        return parts[0]
    class_proba, expert_proba, model_proba, expert_raw = (
        np.concatenate([getattr(one, name) for one in parts])
        for name in ("class_proba", "expert_proba", "model_proba", "expert_raw")
    )
    return Scores(class_proba, expert_proba, model_proba, expert_raw, parts[0].link)


def _settle_unseen(work: Round, case: str) -> None:
    """Answer an open case whose content was erased by what its last step knew: nobody can be asked about it."""
    state = work.ledger.cases[case]
    if state.step is not None:
        terms = {**vars(state.step), "reason": "answered: its content was erased"}
        work.ledger.add(Settled(**terms, heard=tuple(person for person, _ in state.answers)), case)
