"""What is added to a record's cautions, and what is left out because it is said in better words elsewhere."""

from collections.abc import Sequence
from dataclasses import replace

from defero.core.wording import count_of, join_names
from defero.judge.record import cautions as doubts
from defero.judge.record.member import ExpertRecord
from defero.judge.record.recorded import FROM_ANSWERS
from defero.judge.record.team import TeamRecord
from defero.study.fitting.shared_answers import shared_caution
from defero.team import Team

NAMED = 3
"""How many experts a sentence names before it counts the others."""
UNCHECKED = (
    "It was not checked that these cases are new to the team: whoever evaluated it vouched for that. On cases that it "
    "was fitted on, the figures are too good."
)


def with_cautions(
    record: TeamRecord,
    team: Team,
    *,
    majority: str | None,
    rows_checked: bool,
    unusual: int = 0,
    others: Sequence[str] = (),
) -> TeamRecord:
    """Return the record with everything a reader should know, once.

    First comes what a majority for a truth does to every figure, where one was taken, whether the cases are known to
    be new, how many of them are `unusual`, and `others`. Experts with too few answers are named. What `fit`
    found of who answered what is told on its own; the record's sentence on the cases at hand is then left out, for it
    asks the same question less thoroughly.
    """
    # Where the label is known to be a majority, that is said first and in better words.
    cautions = [one for one in record.cautions if majority is None or not one.startswith(FROM_ANSWERS)]
    answering = team.facts.answering
    if answering is not None and answering.sentences:
        names = [expert.name for expert in record.experts]
        _drop(cautions, doubts.chosen_cases(names, record.skill.count, record.class_counts, record.classes))
    together = shared_caution(team, known=record.shared_errors)
    if together is not None:
        here = record.shared_errors.caution
        cautions.insert(cautions.index(here) + 1 if here in cautions else len(cautions), together)
    unproven = insufficient_evidence(record.experts, least=team.min_answers)
    if unproven is not None:
        thin = doubts.thin_evidence(record.experts)
        place = cautions.index(thin) if thin in cautions else len(cautions)
        if not _some_between(record.experts, team.min_answers, doubts.FEW_ANSWERS):
            _drop(cautions, thin)
        cautions.insert(place, unproven)
    first = [*([] if majority is None else [majority]), *([] if rows_checked else [UNCHECKED])]
    if unusual:
        first.append(unusual_cases(unusual, record.team.total))
    return replace(record, cautions=(*first, *others, *cautions))


def alike_in_groups(names: Sequence[str], groups: str) -> list[str]:
    """Say that the cases (n,) of one group may be alike, which the intervals do not know; `names` are the groups'.

    >>> alike_in_groups(["p1", "p1", "p2"], "patient")[0].split(";")[0]
    'The 3 cases have 2 values of patient'
    """
    n_groups = len(set(names))
    if n_groups == len(names):
        return []
    return [
        f"The {len(names):,} cases have {count_of(n_groups, 'value')} of {groups}; cases with the same {groups} may be "
        "alike, but the intervals and tests take cases as independent, so intervals may be too narrow."
    ]


def unusual_cases(count: int, total: int) -> str:
    """Say how many cases are unlike those that were learned from.

    >>> unusual_cases(1, 40)
    '1 of 40 cases is unlike those that were learned from; the certainty about it is bounded.'
    """
    verb, them = ("is", "it") if count == 1 else ("are", "them")
    return (
        f"{count} of {total} cases {verb} unlike those that were learned from; the certainty about {them} is bounded."
    )


def insufficient_evidence(experts: Sequence[ExpertRecord], *, least: int) -> str | None:
    """Name the experts who are not asked alone, and say how many answers of theirs were learned from."""
    few = [one for one in experts if one.training_answers is not None and one.training_answers < least]
    if not few:
        return None
    few.sort(key=lambda one: one.training_answers or 0)
    who = join_names((f"{one.name} ({one.training_answers})" for one in few), most=NAMED)
    return f"Insufficient evidence: never asked alone, with fewer than {least} answers to learn from: {who}."


def _some_between(experts: Sequence[ExpertRecord], least: int, enough: int) -> bool:
    """Tell whether somebody has enough answers to be asked, but not many."""
    return any(one.training_answers is not None and least <= one.training_answers < enough for one in experts)


def _drop(cautions: list[str], sentence: str | None) -> None:
    if sentence in cautions:
        cautions.remove(sentence)
