"""What a reader should know before believing a record: one sentence for each kind of doubt, names counted."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtrc, chdtrc

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.targets import TARGETS
from defero.core.trial import ASK, PLAIN
from defero.core.wording import count_of, join_names, list_in_words, money, percent
from defero.judge.accuracy import ClassRecall
from defero.judge.paired import Comparison, holm
from defero.judge.panels import PanelRecord
from defero.judge.record.members import MemberRecord, PromiseRecord
from defero.judge.record.ways import CostRecord, WayRecord, better_than_team

LEAST_EXPECTED = 5
"""Of fewer expected cases the chi-square law fails."""

FEW_CASES = 50
FEW_ANSWERS = 30
MANY = 4
"""Of fewer experts any panel of two is most of the team."""
MOST_NAMED = 3
"""How many experts who are never asked alone are named."""
NAMED = 2
"""How many experts a sentence names before it counts the others."""
SMALL_SHIFT = 0.1
"""Cases whose class shares differ from all cases' by less than this (half the sum of the gaps) are much the same."""
SMALL_ERROR = 0.02
"""Calibration errors below this change few decisions, however many cases prove them."""
MODEL_NAME = "the model"
RISK = 0.05
"""How often a sentence about several experts may be a false alarm."""
FEW_PANEL_CASES = 100
"""From fewer cases the threshold of a panel is little more than a guess on the safe side."""


def chance_of_choice(answered: IntArray, counts: FloatArray) -> float:
    """Return how likely such classes are among cases drawn at random without putting back: a chi-square test.

    Classes with fewer than five expected cases are taken as one, for the chi-square law fails them.
    """
    n_items, n_answered = counts.sum(), float(answered.sum())
    share = n_answered / n_items
    if n_answered in (0, n_items):
        return 1.0
    large = np.minimum(share, 1 - share) * counts >= LEAST_EXPECTED
    seen = np.append(answered[large], answered[~large].sum())
    expected = share * np.append(counts[large], counts[~large].sum())
    seen, expected = seen[expected > 0], expected[expected > 0]
    if len(seen) < 2:
        return 1.0
    # Drawing without putting back narrows the spread by (1 - share) n / (n - 1).
    distance = float(((seen - expected) ** 2 / expected).sum() * (n_items - 1) / (n_items * (1 - share)))
    return float(chdtrc(len(seen) - 1, distance))


def few_cases(n_items: int) -> str | None:
    """Say that there are too few cases to judge by.

    >>> few_cases(32)
    '32 cases are too few to judge by: look at the intervals.'
    """
    if n_items == 0:
        return "There is no case to judge by."
    if n_items == 1:
        return "One case is too few to judge by: look at the intervals."
    return f"{n_items} cases are too few to judge by: look at the intervals." if n_items < FEW_CASES else None


def nothing_deferred(coverage: float, *, n_experts: int) -> str | None:
    """Say that no expert was ever asked, so that the team is the model.

    >>> nothing_deferred(1.0, n_experts=3)
    'No case was deferred: the team is the model alone here.'
    """
    return "No case was deferred: the team is the model alone here." if n_experts and coverage == 1 else None


def no_better(gain: Comparison) -> str | None:
    """Say that the team is not better than the model, or not beyond doubt."""
    if gain.n == 0 or (gain.clear and gain.difference > 0):
        return None
    if gain.only_first + gain.only_second == 0:
        return "The team and the model are right on the same cases: no gain and no loss."
    how = "worse than the model" if gain.clear else "not better than the model beyond doubt"
    ends = ""
    if not math.isnan(gain.low):
        ends = f" ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
    return f"The team is {how}: {100 * gain.difference:+.1f} points{ends}, McNemar's p = {gain.p_value:.2g}."


def better_ways(records: Sequence[WayRecord], ask: str) -> str | None:
    """Say which other ways of asking are right more often than the team; None where none is.

    Of the plain ways and of the team's own ways, the one with the lowest cost each. The model alone has a sentence of
    its own elsewhere.
    """
    team = next((one for one in records if one.name == ask), None)
    better = [one for one in better_than_team(records, ask) if one.name != "model"]
    groups = [[one for one in better if one.name in names] for names in (PLAIN, ASK)]
    chosen = [min(group, key=lambda one: one.cost) for group in groups if group]
    if team is None or not chosen:
        return None
    clauses = [
        f"{one.words} is right on {percent(one.accuracy)} with {one.questions:.2f} questions per case "
        f"({100 * gain.difference:+.1f} points, 95 % interval {100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
        for one, gain in ((one, one.minus_team) for one in chosen)
        if gain is not None
    ]
    return (
        f"Another way of asking is right more often than the team ({percent(team.accuracy)} with "
        f"{team.questions:.2f} questions per case): {'; '.join(clauses)}."
    )


def cheaper_way(costs: CostRecord) -> str | None:
    """Say which way costs less than the team, beyond chance; None where there is none."""
    saved = {one.name: one.against_team.mean for one in costs.ways if one.against_team and one.against_team.low > 0}
    if not saved:
        return None
    one = min((costs.of(name) for name in saved), key=lambda way: way.cost)
    team, total, less = (money(value, like=costs.like) for value in (costs.team.cost, one.cost, saved[one.name]))
    return (
        f"Another way of asking costs less than the team ({team} per case), beyond chance: {one.words} costs {total} "
        f"per case and saves {less}."
    )


def idle_model(recall: Sequence[ClassRecall]) -> str | None:
    """Say that the model alone is right no more often than whoever always names the commonest class."""
    n_items = sum(one.model.total for one in recall)
    present = [one for one in recall if one.model.total]
    if n_items < FEW_CASES or len(present) < 2:
        return None
    commonest = max(present, key=lambda one: one.model.total)
    right = sum(one.model.right for one in recall)
    if right > commonest.model.total:
        return None
    model, always = (f"{100 * count / n_items:.1f} %" for count in (right, commonest.model.total))
    return (
        f"The model's accuracy is {model}, no better than always predicting {commonest.label} ({always}): "
        "it has not learned to tell the classes apart."
    )


def lost_classes(recall: Sequence[ClassRecall]) -> str | None:
    """Say which classes the team finds less often than the model alone does, beyond chance."""
    lost = sorted((one for one in recall if one.lost), key=lambda one: one.team.right - one.model.right)
    if not lost:
        return None
    examples = [
        f"{one.label} ({100 * one.team.value:.1f} % of {one.team.total} beside {100 * one.model.value:.1f} %)"
        for one in lost[:NAMED]
    ]
    word = "class" if len(lost) == 1 else "classes"
    return f"The team finds {word} {list_in_words(examples, total=len(lost))} less often than the model alone."


def broken_total(total: PromiseRecord) -> str | None:
    """Say that the team as a whole promises more than it keeps, by its 95 % interval."""
    if total.verdict != "less":
        return None
    return (
        f"The team promises more than it keeps: over all {total.kept.total} cases the deciders' mean probability of "
        f"being right is {total.promised:.3f}, and {total.kept.value:.3f} ({_ends(total)}) were right."
    )


def broken_promises(experts: Sequence[MemberRecord], model: MemberRecord, all_experts: PromiseRecord) -> str | None:
    """Say who promises more than they keep on the cases that they get; else whether all experts as one do."""
    members = [(expert.name, expert.promise) for expert in experts] + [(MODEL_NAME, model.promise)]
    broken = [(name, promise) for name, promise in members if promise.verdict == "less"]
    if not broken:
        return _broken_together(all_experts)
    broken.sort(key=lambda member: member[1].kept.value - member[1].promised)
    examples = [
        (name, f"{promise.promised:.2f} promised, {_ends(promise, 2)} kept") for name, promise in broken[:NAMED]
    ]
    if len(broken) > 1:
        who = list_in_words([f"{name} ({numbers})" for name, numbers in examples], total=len(broken))
        return f"{who} promise more than they keep on what they get."
    name, numbers = examples[0]
    if name == MODEL_NAME:
        return f"The model promises more than it keeps on what it decides: {numbers}."
    return f"{name} promises more than they keep on what they get: {numbers}."


def _broken_together(all_experts: PromiseRecord) -> str | None:
    """Say that the experts together promise more than they keep: with hundreds of them each alone got too few cases."""
    if all_experts.verdict != "less":
        return None
    return (
        f"Together the experts promise more than they keep on the {all_experts.kept.total} cases that they get: "
        f"{all_experts.promised:.2f} promised, {_ends(all_experts, 2)} kept."
    )


def _ends(promise: PromiseRecord, digits: int = 3) -> str:
    low, high = promise.interval
    return f"{low:.{digits}f} to {high:.{digits}f}"


def miscalibrated_estimates(experts: Sequence[MemberRecord], *, recalibrated: bool) -> str | None:
    """Say how many experts have miscalibrated probabilities, more than chance explains.

    An expert counts if the 95 % interval of the error excludes 0; returns None if so many false alarms are likely.
    """
    known = [expert for expert in experts if not math.isnan(expert.smooth_error_low)]
    off = [expert for expert in known if expert.smooth_error_low > 0 and expert.smooth_error >= SMALL_ERROR]
    if not off or _chance_of_at_least(len(off), len(known)) > RISK + 1e-9:
        return None
    low, high = (f"{100 * end([one.smooth_error for one in off]):.1f}" for end in (min, max))
    by = low if low == high else f"{low} to {high}"
    advice = "recalibration has not corrected it" if recalibrated else "call calibrate"
    whose = f"all {len(off)} experts" if len(off) == len(experts) else f"{len(off)} of {len(experts)} experts"
    whose = off[0].name if len(off) == 1 else whose
    return (
        f"The probabilities of {whose} are miscalibrated on these cases, by {by} points on average, more than "
        f"chance explains: {advice}."
    )


def _chance_of_at_least(count: int, total: int) -> float:
    """Return the probability of at least so many false alarms among so many experts, each with chance `RISK`.

    >>> round(_chance_of_at_least(1, 1), 4), round(_chance_of_at_least(2, 10), 4)
    (0.05, 0.0861)
    """
    return float(bdtrc(count - 1, total, RISK))


def thin_evidence(experts: Sequence[MemberRecord]) -> str | None:
    """Say whose probabilities were learned from few answers."""
    counts = [(expert.training_answers, expert.name) for expert in experts if expert.training_answers is not None]
    few = sorted((count, name) for count, name in counts if count < FEW_ANSWERS)
    if not few:
        return None
    if len(few) == 1:
        count, name = few[0]
        cases = "no training case" if count == 0 else f"only {count} training case{'s' if count > 1 else ''}"
        return f"{name} answered {cases}."
    who = list_in_words([name for _, name in few], most=NAMED)
    least = f"the fewest: {few[0][0]}"
    return f"{who} answered fewer than {FEW_ANSWERS} training cases ({least})."


def chosen_cases(
    names: Sequence[str], answered: IntArray, class_counts: Sequence[int], classes: Sequence[object]
) -> str | None:
    """Say whose recorded answers are no random choice of the cases.

    For each expert the classes of the cases that they answered are held against those of all cases: a chi-square
    test, adjusted for the number of experts (Holm), and only where the shares differ by more than `SMALL_SHIFT`.

    Parameters
    ----------
    names : J names
    answered : (J, K) int
        How many cases of each class the expert answered.
    class_counts : K whole numbers
        How many there are.
    classes : K labels
    """
    counts = np.asarray(class_counts, dtype=np.float64)
    if not len(names) or not counts.sum():
        return None
    p_values = holm([chance_of_choice(row, counts) for row in answered])
    total = answered.sum(axis=1, keepdims=True)
    excess = answered / np.maximum(total, 1) - counts / counts.sum()
    shift = np.abs(excess).sum(axis=1) / 2
    odd = np.flatnonzero((p_values < RISK) & (shift > SMALL_SHIFT) & (total[:, 0] > 0))
    if not odd.size:
        return None
    odd = odd[np.argsort(-shift[odd], kind="stable")]
    examples = []
    for j in odd[:NAMED]:
        k = int(np.argmax(excess[j]))
        share, of_all = answered[j, k] / total[j, 0], counts[k] / counts.sum()
        much = "mostly" if share > 0.5 else "many of"
        examples.append(
            f"{names[j]} saw {much} class {classes[k]} ({100 * share:.0f} % of theirs, {100 * of_all:.0f} % of all)"
        )
    tail = "their accuracies are about those cases" if len(odd) > 1 else "their accuracy is about those cases"
    return f"Recorded answers were not random: {list_in_words(examples, total=len(odd))}; {tail}."


def broken_panel(panel: PanelRecord) -> str | None:
    """Say that the panels kept less than was promised of them."""
    if panel.kept_promise != "less":
        return None
    what, asked_for = TARGETS.find(panel.target).broken, f"{panel.bound} {100 * panel.asked_for:.1f} %"
    return (
        f"Panels {what} than promised: {asked_for} promised, {100 * panel.kept:.1f} % ({100 * panel.low:.1f} to "
        f"{100 * panel.high:.1f}) here; are these cases like those of conformalize?"
    )


def large_panels(
    panel: PanelRecord, *, n_experts: int, recorded: float, calibrated_on: int | None = None
) -> str | None:
    """Say that the panels hold most of the team, so that little is gained by them, and what is known of the reason.

    Parameters
    ----------
    panel : PanelRecord
    n_experts : int
    recorded : float
        How many answers a case has on average.
    calibrated_on : int, optional
        On how many cases the panels were calibrated.
    """
    if n_experts < MANY or math.isnan(panel.filled_size) or panel.filled_size <= n_experts / 2:
        return None
    why = ". A larger alpha makes them smaller."
    if recorded <= n_experts / 2:
        why = ", because too few answers per case are recorded."
    elif calibrated_on is not None and calibrated_on < FEW_PANEL_CASES:
        cases = "1 deferred case" if calibrated_on == 1 else f"{calibrated_on} deferred cases"
        why = f", because conformalize had only {cases}."
    size = f"{panel.filled_size:.1f} of {n_experts} experts on average"
    return f"Panels are of little use here: they hold {size}{why}"


def impossible_estimates(above_one: float, *, recalibrated: bool) -> str | None:
    """Say how often an estimate of a probability exceeds 1, and what helps.

    >>> impossible_estimates(0.05, recalibrated=False)
    "5.0 % of the experts' estimates exceed 1, a fault of the softmax loss: call calibrate."
    """
    if math.isnan(above_one) or above_one == 0:
        return None
    share = f"{100 * above_one:.1f} %" if above_one >= 0.0005 else "less than 0.1 %"
    if recalibrated:
        return f"{share} of the experts' estimates exceeded 1 before recalibration, a fault of the softmax loss."
    return f"{share} of the experts' estimates exceed 1, a fault of the softmax loss: call calibrate."


def silent_experts(experts: Sequence[MemberRecord]) -> str | None:
    """Say of whom nothing is known here."""
    silent = [expert.name for expert in experts if expert.alone.total == 0]
    has = "has" if len(silent) == 1 else "have"
    return (
        f"{list_in_words(silent, most=NAMED)} {has} no recorded answer here and cannot be judged." if silent else None
    )


def unseen_classes(classes: Sequence[object], class_counts: Sequence[int]) -> str | None:
    """Say which classes no case has."""
    unseen = [str(label) for label, count in zip(classes, class_counts, strict=True) if count == 0]
    if not unseen or not sum(class_counts):
        return None
    word = "class" if len(unseen) == 1 else "classes"
    return f"No case here has the {word} {list_in_words(unseen, most=NAMED)}: the figures say nothing about such cases."


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


def insufficient_evidence(experts: Sequence[MemberRecord], *, least: int) -> str | None:
    """Name the experts who are not asked alone, and say how many answers of theirs were learned from."""
    few = [one for one in experts if one.training_answers is not None and one.training_answers < least]
    if not few:
        return None
    few.sort(key=lambda one: one.training_answers or 0)
    who = join_names((f"{one.name} ({one.training_answers})" for one in few), most=MOST_NAMED)
    return f"Insufficient evidence: never asked alone, with fewer than {least} answers to learn from: {who}."
