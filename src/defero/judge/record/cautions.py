"""What a reader should know before believing a record: one sentence for each kind of doubt, names counted."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import bdtrc, pdtr

from defero.core.answers import Answers
from defero.core.checks.arrays import IntArray
from defero.core.labels import MISSING
from defero.core.order import row_order
from defero.core.registry import TARGETS
from defero.core.trial import ASK, PLAIN, Trial
from defero.core.wording import count_of, list_in_words, money, percent
from defero.judge.accuracy import ClassRecall
from defero.judge.intervals import Comparison, clopper_pearson_interval
from defero.judge.panels import PanelRecord
from defero.judge.record.members import MemberRecord, TeamPromises
from defero.judge.record.ways import CostRecord, WayRecord, better_than_team

if TYPE_CHECKING:
    from defero.judge.record.team import Record

FEW_CASES = 50
FEW_ANSWERS = 30
MANY = 4
"""Of fewer experts any panel of two is most of the team."""
NAMED = 2
"""How many experts a sentence names before it counts the others."""
SMALL_ERROR = 0.02
"""Calibration errors below this change few decisions, however many cases prove them."""
RISK = 0.05
"""How often a sentence about several experts may be a false alarm."""
FEW_PANEL_CASES = 100
"""From fewer cases the threshold of a panel is little more than a guess on the safe side."""
FROM_ANSWERS = "The label is the most frequent answer"


def cautions_of(record: "Record", trial: Trial, *, panel_cases: int | None = None) -> tuple[str, ...]:
    """Return every caution that a record calls for, the gravest first; one sentence for each kind.

    Parameters
    ----------
    record : Record
    trial : Trial
        What the record is of.
    panel_cases : int, optional
        On how many cases the panels were calibrated.
    """
    experts, costs = record.experts, record.costs
    nothing = nothing_deferred(record.coverage, n_experts=len(experts))
    sentences = (
        few_cases(record.team.total),
        nothing,
        None if nothing or not experts else no_better(record.team_minus_model),
        better_ways(record.ways, record.ask) if costs is None else cheaper_way(costs),
        # Where errors cost differently, the cheapest labels may be wrong more often than the commonest class.
        None if trial.cost_matrix is not None else idle_model(record.recall),
        lost_classes(record.recall),
        broken_promises(experts, record.promises),
        None if record.panel is None else broken_panel(record.panel),
        miscalibrated_estimates(experts, recalibrated=record.recalibrated),
        None
        if record.panel is None
        else large_panels(
            record.panel, n_experts=len(experts), recorded=record.recorded_answers_per_item, calibrated_on=panel_cases
        ),
        record.shared_errors.caution,
        thin_evidence(experts),
        impossible_estimates(record.estimates_above_one, recalibrated=record.recalibrated),
        silent_experts(experts),
        unseen_classes(record.classes, record.class_counts),
        below_chance(trial),
        labels_from_answers(trial, rng=np.random.default_rng(0)),
    )
    return tuple(sentence for sentence in sentences if sentence)


def few_cases(n_items: int) -> str | None:
    """Say that there are too few cases to judge by.

    >>> few_cases(32)
    '32 cases are too few to judge by: look at the intervals.'
    """
    are = "case is" if n_items == 1 else "cases are"
    return f"{n_items} {are} too few to judge by: look at the intervals." if n_items < FEW_CASES else None


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
    ends = "" if math.isnan(gain.low) else f" ({100 * gain.low:+.1f} to {100 * gain.high:+.1f})"
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
    cheaper = [(one, one.against_team) for one in costs.ways if one.against_team and one.against_team.low > 0]
    if not cheaper:
        return None
    one, saved = min(cheaper, key=lambda pair: pair[0].cost)
    team, total, less = (money(value, like=costs.like) for value in (costs.team.cost, one.cost, saved.per_case))
    return (
        f"Another way of asking costs less than the team ({team} per case), beyond chance: {one.words} costs {total} "
        f"per case and saves {less}."
    )


def idle_model(recall: Sequence[ClassRecall]) -> str | None:
    """Say that the model alone is right no more often than whoever always names the commonest class."""
    n_items = sum(one.model.total for one in recall)
    present = [one for one in recall if one.model.total]
    right = sum(one.model.right for one in recall)
    if n_items < FEW_CASES or len(present) < 2 or right > max(one.model.total for one in present):
        return None
    commonest = max(present, key=lambda one: one.model.total)
    model, always = (f"{100 * count / n_items:.1f} %" for count in (right, commonest.model.total))
    return (
        f"The model's accuracy is {model}, no better than always predicting {commonest.label} ({always}): "
        "it has not learned to tell the classes apart."
    )


def lost_classes(recall: Sequence[ClassRecall]) -> str | None:
    """Say which classes the team finds less often than the model alone does, beyond chance."""
    lost = sorted((one for one in recall if one.lost), key=lambda one: one.team.right - one.model.right)
    examples = [
        f"{one.label} ({100 * one.team.value:.1f} % of {one.team.total} beside {100 * one.model.value:.1f} %)"
        for one in lost[:NAMED]
    ]
    which = list_in_words(examples, total=len(lost))
    return f"Classes that the team finds less often than the model alone: {which}." if lost else None


def broken_promises(experts: Sequence[MemberRecord], promises: TeamPromises) -> str | None:
    """Say that the deciders promise more than they keep, by their intervals: the team, the members, the worst first.

    Where one decides every case, the promise of the team is theirs. With hundreds of experts each alone may have got
    too few cases: then all of them are judged as one.
    """
    named = [("the model", promises.model), *((one.name, one.promise) for one in experts)]
    alone = any(promise.kept.total == promises.total.kept.total for _, promise in named)
    broken = [(name, promise) for name, promise in named if promise.verdict == "less"]
    broken.sort(key=lambda member: member[1].kept.value - member[1].promised)
    if not broken and promises.all_experts.verdict == "less":
        broken = [("all experts together", promises.all_experts)]
    if promises.total.verdict == "less" and not alone:
        broken.insert(0, ("the team in total", promises.total))
    examples = []
    for name, promise in broken[: NAMED + 1]:
        low, high = promise.interval
        examples.append(
            f"{name} ({promise.promised:.3f} promised, {low:.3f} to {high:.3f} kept, {promise.kept.total} cases)"
        )
    return f"More was promised than kept: {list_in_words(examples, total=len(broken))}." if broken else None


def broken_panel(panel: PanelRecord) -> str | None:
    """Say that the panels kept less than was promised of them."""
    if panel.kept_promise != "less":
        return None
    what, asked_for = TARGETS.find(panel.target).broken, f"{panel.bound} {100 * panel.asked_for:.1f} %"
    return (
        f"Panels {what} than promised: {asked_for} promised, {100 * panel.kept:.1f} % ({100 * panel.low:.1f} to "
        f"{100 * panel.high:.1f}) here; are these cases like those of conformalize?"
    )


def miscalibrated_estimates(experts: Sequence[MemberRecord], *, recalibrated: bool) -> str | None:
    """Say how many experts have miscalibrated probabilities, more than chance explains.

    An expert counts if the 95 % interval of the error excludes 0; returns None if so many false alarms are likely.
    """
    errors = [expert.figures["smooth_error"] for expert in experts]
    known = [error for error in errors if not math.isnan(error.low)]
    off = [error.value for error in known if error.low > 0 and error.value >= SMALL_ERROR]
    if not off or float(bdtrc(len(off) - 1, len(known), RISK)) > RISK + 1e-9:
        return None
    low, high = f"{100 * min(off):.1f}", f"{100 * max(off):.1f}"
    by = low if low == high else f"{low} to {high}"
    advice = "recalibration has not corrected it" if recalibrated else "call calibrate"
    return (
        f"The probabilities of {len(off)} of {count_of(len(experts), 'expert')} are miscalibrated on these cases, by "
        f"{by} points on average, more than chance explains: {advice}."
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
        why = f", because conformalize had only {count_of(calibrated_on, 'deferred case')}."
    size = f"{panel.filled_size:.1f} of {n_experts} experts on average"
    return f"Panels are of little use here: they hold {size}{why}"


def thin_evidence(experts: Sequence[MemberRecord]) -> str | None:
    """Say whose probabilities were learned from few answers."""
    counts = [(expert.training_answers, expert.name) for expert in experts if expert.training_answers is not None]
    few = sorted((count, name) for count, name in counts if count < FEW_ANSWERS)
    who = list_in_words([f"{name} ({count})" for count, name in few[: NAMED + 1]], total=len(few))
    return f"Few answers to learn from: {who}." if few else None


def impossible_estimates(above_one: float, *, recalibrated: bool) -> str | None:
    """Say how often an estimate of a probability exceeds 1, and what helps.

    >>> impossible_estimates(0.05, recalibrated=False)
    "5.0 % of the experts' estimates exceed 1, a fault of the softmax loss: call calibrate."
    """
    if math.isnan(above_one) or above_one == 0:
        return None
    what = "exceeded 1 before recalibration" if recalibrated else "exceed 1"
    advice = "" if recalibrated else ": call calibrate"
    return f"{percent(above_one)} of the experts' estimates {what}, a fault of the softmax loss{advice}."


def silent_experts(experts: Sequence[MemberRecord]) -> str | None:
    """Say of whom nothing is known here."""
    silent = [expert.name for expert in experts if expert.alone.total == 0]
    return f"No recorded answer here, so not judged: {list_in_words(silent, most=NAMED)}." if silent else None


def unseen_classes(classes: Sequence[object], class_counts: Sequence[int]) -> str | None:
    """Say which classes no case has."""
    unseen = [label for label, count in zip(classes, class_counts, strict=True) if count == 0]
    which = list_in_words(unseen, most=NAMED)
    return f"No case here, so the figures say nothing of it: class {which}." if unseen and sum(class_counts) else None


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


LEAST_VOTES = 3
"""A majority of fewer answers is nobody's or one's."""
LEAST_SHARE = 0.9
"""A label that equals the majority less often was hardly made from it."""
ACCUSATION = 1e-3
"""The sentences below accuse the data, so they need more than the usual evidence."""
MOST_CELLS = 1_000_000
"""Of more cells of cases and experts a random part of the cases is looked at."""
N_DRAWS = 10
SHRINKAGE = 5.0
"""An expert's error rate is shrunk toward everybody's as if these were so many answers."""


def labels_from_answers(trial: Trial, *, rng: np.random.Generator) -> str | None:
    """Say that the label is the most frequent of the same answers more often than independent errors explain.

    If experts err independently given the label, at rates of their own, then in some cases another class gets more
    answers. Hard cases make that more frequent, never less. If it hardly happens, the label was made from the answers.
    """
    order = row_order(None, trial.label_idx, Answers.from_cells(trial.answer_idx, expert_names=trial.expert_names))
    rows = order[trial.observed[order].sum(axis=1) >= LEAST_VOTES]
    most = max(1, MOST_CELLS // max(1, len(trial.expert_names)))
    rows = rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
    if not len(rows):
        return None
    label_idx, n_classes = trial.label_idx[rows], len(trial.classes)
    outvoted = _outvoted(trial.answer_idx[rows], label_idx, n_classes=n_classes)
    expected = _outvoted_by_chance(trial.answer_idx[rows], label_idx, n_classes=n_classes, rng=rng)
    share = 1 - outvoted / len(rows)
    if share < LEAST_SHARE or outvoted > expected / 2 or pdtr(outvoted, expected) > ACCUSATION:
        return None
    return (
        f"{FROM_ANSWERS} in {percent(share)} of the {len(rows)} cases with {LEAST_VOTES} answers or more, where "
        f"independent errors would make it {percent(1 - expected / len(rows))}. If the labels were made from these "
        "answers, every expert looks better than they are, and so does the team."
    )


def _outvoted(answer_idx: IntArray, label_idx: IntArray, *, n_classes: int) -> int:
    """Count the cases in which another class has more answers than the label."""
    votes = np.stack([(answer_idx == k).sum(axis=1) for k in range(n_classes)], axis=1)
    return int((votes.max(axis=1) > votes[np.arange(len(votes)), label_idx]).sum())


def _outvoted_by_chance(
    answer_idx: IntArray, label_idx: IntArray, *, n_classes: int, rng: np.random.Generator
) -> float:
    """Return how many cases would be so if errors were independent, and fell on the other classes alike."""
    observed = answer_idx != MISSING
    wrong = observed & (answer_idx != label_idx[:, None])
    pooled = wrong.sum() / observed.sum()
    rate = (wrong.sum(axis=0) + SHRINKAGE * pooled) / (observed.sum(axis=0) + SHRINKAGE)
    counts = []
    for _ in range(N_DRAWS):
        step = np.where(rng.random(observed.shape) < rate, rng.integers(1, max(2, n_classes), observed.shape), 0)
        drawn = np.where(observed, (label_idx[:, None] + step) % n_classes, MISSING)
        counts.append(_outvoted(drawn, label_idx, n_classes=n_classes))
    return float(np.mean(counts))


def below_chance(trial: Trial) -> str | None:
    """Say that every expert is right less often than a guess among the classes."""
    counts, right = trial.observed.sum(axis=0), trial.expert_correct.sum(axis=0)
    total, guess = int(counts.sum()), 1 / len(trial.classes)
    if not total or (right >= guess * counts)[counts > 0].any():
        return None
    low, high = clopper_pearson_interval(int(right.sum()), total, level=1 - ACCUSATION)
    if high >= guess:
        return None
    return (
        f"Every expert is right less often than a guess among {len(trial.classes)} classes ({percent(guess)}): "
        f"{percent(right.sum() / total)} of {total} answers ({100 * low:.1f} to {100 * high:.1f}). Do the codes of "
        "answers and labels mean the same?"
    )
