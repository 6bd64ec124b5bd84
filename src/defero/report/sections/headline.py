"""The first screen: whether the team is better than the model, by how much, and the cautions."""

import math
from pathlib import PurePath

from defero.core.wording import count_of, money
from defero.judge.record.cautions import no_better, nothing_deferred
from defero.judge.record.costs import CostRecord
from defero.judge.record.member import ExpertRecord
from defero.judge.record.promise import FEW
from defero.judge.record.team import TeamRecord
from defero.report.html import Html, bullet_list, joined, tag
from defero.report.numbers import by_chance, count, interval, percent, points, points_interval, with_minus
from defero.report.provenance import Provenance


def headline(record: TeamRecord, provenance: Provenance) -> Html:
    """Return the head of the page."""
    return tag(
        "header",
        tag(
            "p",
            f"Who should decide? A defero report on {PurePath(provenance.table).name}",
            attributes={"class": "eyebrow"},
        ),
        tag("h1", sentence(record)),
        tag("p", _meaning(record), attributes={"class": "lead"}),
        _facts(record),
    )


def sentence(record: TeamRecord) -> str:
    """Return the result in one sentence."""
    gain, cases = record.gain, count_of(record.team.total, "held-out case", "held-out cases")
    if not record.experts:
        return f"On {cases} the model is right on {percent(record.model.value)}."
    if record.costs is not None and record.costs.unequal:
        return f"On {cases} {_cost_sentence(record.costs)}"
    ends = points_interval(gain, before="95\u00a0% interval ")
    return (
        f"On {cases} the team is right on {percent(record.team.value)}, the model alone on "
        f"{percent(record.model.value)}: {points(gain.difference)} points{ends}."
    )


def _cost_sentence(costs: CostRecord) -> str:
    """Say what the team and the model alone cost, where errors cost differently."""
    team, model = (money(one.total.mean, like=costs.like) for one in (costs.team, costs.of("model")))
    saved = costs.team.against_model
    if saved is None:
        return f"the team costs {team} per case."
    verb = "saves" if saved.mean >= 0 else "loses"
    ends = ""
    if not math.isnan(saved.low):
        low, high = (money(one, like=costs.like).replace("-", "\u2212") for one in (saved.low, saved.high))
        ends = f" (95\u00a0% interval of the savings {low} to {high})"
    amount = money(abs(saved.mean), like=costs.like)
    return f"the team costs {team} per case, the model alone {model}: it {verb} {amount}{ends}."


def cautions(record: TeamRecord) -> Html:
    """Return the cautions that the head does not state already; empty if there are none."""
    in_head = (nothing_deferred(record.coverage, n_experts=len(record.experts)), no_better(record.gain))
    sentences = [with_minus(sentence) for sentence in record.cautions if sentence not in in_head]
    if not sentences:
        return Html("")
    return tag(
        "section",
        tag("h2", "Before you rely on this", attributes={"id": "cautions-title"}),
        bullet_list(sentences),
        attributes={"class": "cautions", "id": "cautions", "aria-labelledby": "cautions-title"},
    )


def recorded_only(record: TeamRecord) -> Html:
    """Say that the team could only ask experts with a recorded answer."""
    n_experts = len(record.experts)
    if n_experts == 0:
        return Html("")
    answered = (
        f"All {n_experts} experts answered every case."
        if record.recorded == n_experts
        else f"On average {record.recorded:.1f} of {n_experts} experts answered a case."
    )
    return tag(
        "p",
        "This report uses recorded answers: for each case the team could only choose among the experts whose answer is "
        f"in the table. {answered}",
        attributes={"class": "aside"},
    )


def answering(sentences: tuple[str, ...]) -> Html:
    """Return what training learned about which cases experts answered; empty if there are no sentences."""
    if not sentences:
        return Html("")
    return tag(
        "section",
        tag("h2", "Were answers given at random?", attributes={"id": "answering-title"}),
        tag("p", "Experts are evaluated on the cases that they answered. In the training data:"),
        bullet_list(sentences),
        attributes={"class": "cautions", "id": "answering", "aria-labelledby": "answering-title"},
    )


def _meaning(record: TeamRecord) -> str:
    gain = record.gain
    if not record.experts:
        return "The team has no experts: this report is about the model alone."
    nothing = nothing_deferred(record.coverage, n_experts=len(record.experts))
    if nothing is not None:
        return nothing
    if gain.n and gain.only_first + gain.only_second == 0:
        return "The team and the model alone are right on exactly the same cases: nothing is gained or lost."
    chance = f"(McNemar's exact test, {by_chance(gain.p_value)})"
    if record.costs is not None and record.costs.unequal:
        return (
            "Errors cost differently here, so the cost says which is better, not the accuracy. The team is right on "
            f"{percent(record.team.value)}, the model alone on {percent(record.model.value)}."
        )
    if gain.clear:
        how = "better" if gain.difference > 0 else "worse"
        return f"The team is {how} than the model alone: a difference this large is unlikely to be chance {chance}."
    return f"These cases do not show whether the team is better than the model alone: it may be chance {chance}."


def _facts(record: TeamRecord) -> Html:
    if not record.experts:
        facts = [("Model accuracy", percent(record.model.value), f"95 % interval {interval(*record.model.interval)}")]
        return tag("dl", joined(_fact(*fact) for fact in facts), attributes={"class": "facts"})
    facts = [
        ("Team accuracy", percent(record.team.value), f"95 % interval {interval(*record.team.interval)}"),
        ("Model alone", percent(record.model.value), f"95 % interval {interval(*record.model.interval)}"),
        (
            "Gain in points",
            points(record.gain.difference),
            f"{count(record.only_team_right)} cases won, {count(record.only_model_right)} lost",
        ),
        ("Decided by the model", percent(record.coverage), _workload(record)),
    ]
    if record.costs is not None and record.costs.unequal:
        costs = record.costs
        facts.insert(0, ("Model alone, cost", money(costs.of("model").total.mean, like=costs.like), "per case"))
        spent, errors = (money(one, like=costs.like) for one in (costs.team.spent, costs.team.errors))
        note = f"per case: {spent} for questions, {errors} for errors"
        facts.insert(0, ("Team cost", money(costs.team.total.mean, like=costs.like), note))
    # By the lower end of the interval, and of those with enough answers: ten right of ten say little.
    answering_experts = [expert for expert in record.experts if expert.alone.total >= FEW]
    best = max(answering_experts, key=lambda expert: expert.alone.interval[0], default=None)
    if best is not None:
        facts.insert(len(facts) - 2, ("Best expert with enough answers", percent(best.alone.value), _team_beside(best)))
    return tag("dl", joined(_fact(*fact) for fact in facts), attributes={"class": "facts"})


def _workload(record: TeamRecord) -> str:
    """Return who decides the rest, and the model's share if every expert could be asked."""
    if record.recorded == len(record.experts) or math.isnan(record.coverage_with_all):
        return "the experts decide the rest"
    return f"with the recorded answers; {percent(record.coverage_with_all)} if every expert could be asked"


def _team_beside(best: ExpertRecord) -> str:
    """Return the best expert's name and interval, and the team on the same cases."""
    return (
        f"{best.name}, 95 % interval {interval(*best.alone.interval)}; the team has {percent(best.gain.first)} on the "
        f"same {count_of(best.gain.n, 'case', 'cases')}"
    )


def _fact(name: str, value: str, note: str) -> Html:
    return tag(
        "div",
        tag("dt", name),
        tag("dd", value, attributes={"class": "big"}),
        tag("dd", note, attributes={"class": "small"}),
    )
