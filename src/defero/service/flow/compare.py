"""A model beside the one that decides: what it would have done with the same new cases."""

from collections.abc import Sequence

from defero.service.events import Asked, Compared, Observed, Received, Settled
from defero.service.flow.steps import Batch, take_steps
from defero.service.flow.team import Row, Team
from defero.service.problems import Problem
from defero.service.views.ledger import Ledger

Step = Asked | Observed | Settled


def compare_new(ledger: Ledger, candidate: Team, cases: Sequence[str], rows: Sequence[Row]) -> None:
    """Record what another model makes of new cases, by the policy of now; nothing where it cannot read them."""
    first = _first_steps(ledger)
    scratch = Ledger(now=ledger.now, people=ledger.people, policy=ledger.policy, asked_today=ledger.asked_today.copy())
    for case in cases:
        scratch.add(Received(model=candidate.version, policy=ledger.policy.version, p_model=(), p_expert=()), case)
    try:
        matrix = candidate.matrix(rows)
    except Problem:
        return
    batch = Batch([scratch.cases[case] for case in cases], matrix, candidate.router.score_features(matrix), rows)
    take_steps(scratch, candidate, batch)
    others = _first_steps(scratch)
    for case in cases:
        one, other = first[case], others[case]
        fact = Compared(
            model=candidate.version,
            label=other.label,
            p_right=other.p_right,
            asks=_asks(other),
            same_label=one.label == other.label,
            same_step=_asks(one) == _asks(other),
        )
        ledger.add(fact, case)


def _first_steps(ledger: Ledger) -> dict[str, Step]:
    first: dict[str, Step] = {}
    for entry in ledger.entries:
        if isinstance(entry.fact, Asked | Observed | Settled):
            first.setdefault(str(entry.case), entry.fact)
    return first


def _asks(step: Step) -> str | None:
    return None if isinstance(step, Settled) else step.person
