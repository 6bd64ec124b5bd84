"""The first screen: who is better, by how much, how sure that is, and what to beware of."""

import math
from pathlib import PurePath

from defero.core.wording import count_of
from defero.metrics.record.cautions import no_better, nothing_deferred
from defero.metrics.record.member import ExpertRecord
from defero.metrics.record.team import TeamRecord
from defero.report.html import Html, joined, listed, tag
from defero.report.provenance import Provenance
from defero.report.wording import by_chance, count, interval, percent, points, points_interval, with_minus


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
    """Say it in one sentence with numbers."""
    gain, cases = record.gain, count_of(record.team.total, "held-out case", "held-out cases")
    if not record.experts:
        return f"On {cases} the model is right on {percent(record.model.value)}."
    ends = points_interval(gain, before="95\u00a0% interval ")
    return (
        f"On {cases} the team is right on {percent(record.team.value)}, the model alone on "
        f"{percent(record.model.value)}: {points(gain.difference)} points{ends}."
    )


def cautions(record: TeamRecord) -> Html:
    """Return what to beware of in plain words, less what the head has said; nothing where there is nothing."""
    said = (nothing_deferred(record.coverage, n_experts=len(record.experts)), no_better(record.gain))
    sentences = [with_minus(sentence) for sentence in record.cautions if sentence not in said]
    if not sentences:
        return Html("")
    return tag(
        "section",
        tag("h2", "Before you rely on this", attributes={"id": "cautions-title"}),
        listed(sentences),
        attributes={"class": "cautions", "id": "cautions", "aria-labelledby": "cautions-title"},
    )


def recorded_only(record: TeamRecord) -> Html:
    """Say what recorded data can tell, and what not."""
    n_experts = len(record.experts)
    if n_experts == 0:
        return Html("")
    everybody = record.recorded == n_experts
    there = (
        f"Here all {n_experts} experts answered every case."
        if everybody
        else f"Here {record.recorded:.1f} of {n_experts} experts answered a case on average."
    )
    return tag(
        "p",
        "What this rests on: answers that were recorded before. The team could only ask experts whose answer to the "
        f"case is recorded, and it decided among those. {there}",
        attributes={"class": "aside"},
    )


def answering(said: tuple[str, ...]) -> Html:
    """Return what training found of who answered what; nothing where that was nothing."""
    if not said:
        return Html("")
    return tag(
        "section",
        tag("h2", "Were answers given at random?", attributes={"id": "answering-title"}),
        tag("p", "Experts are judged by the cases that they answered. When the team was trained:"),
        listed(said),
        attributes={"class": "cautions", "id": "answering", "aria-labelledby": "answering-title"},
    )


def _meaning(record: TeamRecord) -> str:
    gain = record.gain
    if not record.experts:
        return "The team has no experts: everything here is about the model alone."
    nothing = nothing_deferred(record.coverage, n_experts=len(record.experts))
    if nothing is not None:
        return nothing
    if gain.n and gain.only_first + gain.only_second == 0:
        return "The team is right on the very cases where the model is: nothing is gained or lost."
    chance = f"(McNemar's exact test, {by_chance(gain.p_value)})"
    if gain.clear:
        how = "better" if gain.difference > 0 else "worse"
        return f"The team is {how} than its model alone: chance hardly explains so large a difference {chance}."
    return f"These cases do not tell whether the team is better than its model alone: it may be chance {chance}."


def _facts(record: TeamRecord) -> Html:
    if not record.experts:
        facts = [("Model right", percent(record.model.value), f"95 % interval {interval(*record.model.interval)}")]
        return tag("dl", joined(_fact(*fact) for fact in facts), attributes={"class": "facts"})
    facts = [
        ("Team right", percent(record.team.value), f"95 % interval {interval(*record.team.interval)}"),
        ("Model alone", percent(record.model.value), f"95 % interval {interval(*record.model.interval)}"),
        (
            "Gain in points",
            points(record.gain.difference),
            f"{count(record.only_team_right)} cases won, {count(record.only_model_right)} lost",
        ),
        ("Decided by the model", percent(record.coverage), _workload(record)),
    ]
    # By the lower end: one right answer of one is no record.
    known = [expert for expert in record.experts if expert.alone.total]
    best = max(known, key=lambda expert: expert.alone.interval[0], default=None)
    if best is not None:
        facts.insert(2, ("Best single expert", percent(best.alone.value), _beside(best)))
    return tag("dl", joined(_fact(*fact) for fact in facts), attributes={"class": "facts"})


def _workload(record: TeamRecord) -> str:
    """Say who decides the rest, and what the model would decide if every expert could be asked."""
    if record.recorded == len(record.experts) or math.isnan(record.coverage_with_all):
        return "the experts decide the rest"
    return f"with the recorded answers; {percent(record.coverage_with_all)} if every expert could be asked"


def _beside(best: ExpertRecord) -> str:
    """Return the best expert's name, and the team on the same cases."""
    return f"{best.name}; on these {count_of(best.gain.n, 'case', 'cases')} the team has {percent(best.gain.first)}"


def _fact(name: str, value: str, note: str) -> Html:
    return tag(
        "div",
        tag("dt", name),
        tag("dd", value, attributes={"class": "big"}),
        tag("dd", note, attributes={"class": "small"}),
    )
