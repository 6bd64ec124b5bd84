"""The alarm on promises: by hand, as a martingale, on many runs at once, and what correcting does."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from side_by_side import Watches

from defero.judge.drift import (
    PRIOR_OUTCOMES,
    SHIFTS,
    START,
    THRESHOLD,
    WEIGHTS,
    Watch,
    after_outcome,
    alarm_of,
    corrected_watch,
    promise,
    restarted_watch,
)

PROMISES = st.lists(st.tuples(st.floats(0.01, 0.99), st.booleans()), min_size=1, max_size=60)


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def test_both_sides_weigh_the_same_and_weights_add_up_to_one():
    assert sum(WEIGHTS) == pytest.approx(1)
    assert [-shift for shift in reversed(SHIFTS)] == list(SHIFTS)
    assert list(reversed(WEIGHTS)) == list(WEIGHTS)
    assert THRESHOLD - START >= 5_000


def test_one_outcome_by_hand():
    watch = after_outcome(Watch(), 0.8, right=False)
    for one, shift in zip(watch.suspects, SHIFTS, strict=True):
        ratio = (1 - sigmoid(math.log(4) + shift)) / 0.2
        assert one.evidence == pytest.approx((1 + START) * ratio)
        assert one.excess == pytest.approx(max(0.0, math.log(ratio)))
        if shift < 0:
            assert one.precision == pytest.approx(0.16 * (PRIOR_OUTCOMES + 1))
            assert one.shift == pytest.approx(-0.8 / (0.16 * (PRIOR_OUTCOMES + 1)))
        else:
            assert one.n == 0


@given(st.lists(st.floats(0.02, 0.98), min_size=1, max_size=6), st.sampled_from(["none", "corrected"]))
def test_evidence_minus_the_number_of_outcomes_is_a_martingale(promises, state):
    """Exact: over all outcomes, weighted by what was promised, the mean of M is M_0 + n, also while correcting."""
    start = Watch() if state == "none" else Watch(correction=-0.5, precision=3.0)
    mean = 0.0
    for outcomes in product((False, True), repeat=len(promises)):
        watch, chance = start, 1.0
        for proba, right in zip(promises, outcomes, strict=True):
            promised = promise(watch, proba)
            chance *= promised if right else 1 - promised
            watch = after_outcome(watch, proba, right=right)
        mean += chance * watch.evidence
    assert mean == pytest.approx(START + len(promises), rel=1e-9)


@given(PROMISES, st.booleans())
def test_many_runs_at_once_are_each_as_alone(outcomes, corrects):
    watch, watches = Watch(), Watches.begin(2)
    for place, (proba, right) in enumerate(outcomes):
        watch = after_outcome(watch, proba, right=right)
        watches.after(np.array([proba, 0.5]), right=np.array([right, place % 2 == 0]))
        if corrects and place == len(outcomes) // 2:
            watch = corrected_watch(watch)
            watches.correct(np.array([True, False]))
    assert watches.evidence[0] == pytest.approx([one.evidence for one in watch.suspects], rel=1e-9)
    assert watches.excess[0] == pytest.approx([one.excess for one in watch.suspects], abs=1e-9)
    assert watches.shift[0] == pytest.approx([one.shift for one in watch.suspects], abs=1e-9)
    assert (watches.correction[0], watches.precision[0]) == pytest.approx((watch.correction, watch.precision))
    assert watches.alarms()[0] == (alarm_of(watch) is not None)


@given(PROMISES)
def test_a_better_world_mirrors_a_worse_one(outcomes):
    worse, better = Watch(), Watch()
    for proba, right in outcomes:
        worse = after_outcome(worse, proba, right=right)
        better = after_outcome(better, 1 - proba, right=not right)
    mirrored = [one.evidence for one in reversed(better.suspects)]
    assert [one.evidence for one in worse.suspects] == pytest.approx(mirrored, rel=1e-9)


def test_the_change_is_where_the_product_of_e_values_is_largest():
    """The slow obvious twin: every possible start of the change, its log product by hand."""
    rng = np.random.default_rng(4)
    probas = rng.uniform(0.6, 0.95, 120)
    rights = rng.random(120) < np.where(np.arange(120) < 60, probas, probas - 0.4)
    watch = Watch()
    for proba, right in zip(probas, rights, strict=True):
        watch = after_outcome(watch, proba, right=bool(right))
    log_odds = np.log(probas / (1 - probas))
    best = []
    for shift in SHIFTS:
        shifted = 1 / (1 + np.exp(-(log_odds + shift)))
        log_ratio = np.log(np.where(rights, shifted / probas, (1 - shifted) / (1 - probas)))
        products = [log_ratio[start:].sum() for start in range(121)]
        best.append((max(products), 120 - int(np.argmax(products))))
    excess, n = max(best)
    likely = max(watch.suspects, key=lambda one: one.excess)
    assert (likely.excess, likely.n) == (pytest.approx(excess), n)
    assert 40 <= n <= 80


def test_everything_wrong_is_found_within_a_dozen_and_corrected():
    for proba, most in ((0.7, 14), (0.8, 10), (0.9, 7), (0.99, 5)):
        watch = Watch()
        while alarm_of(watch) is None:
            watch = after_outcome(watch, proba, right=False)
        assert watch.n <= most
        alarm, after = alarm_of(watch), corrected_watch(watch)
        assert (alarm.kept, alarm.n) == (0.0, watch.n)
        assert alarm.promised == pytest.approx(proba)
        assert promise(after, proba) < proba
        assert alarm_of(after) is None
        assert alarm.shift == pytest.approx(after.correction)


def test_the_edges_are_finite_and_a_watch_survives_json():
    watch = Watch()
    for proba, right in ((0.0, True), (1.0, False), (1.0, True), (0.0, False)):
        watch = after_outcome(watch, proba, right=right)
    assert math.isfinite(watch.evidence)
    assert Watch.from_dict(watch.to_dict()) == watch
    assert restarted_watch(watch) == Watch(n=4)


def test_an_outcome_is_judged_by_the_correction_of_now():
    """A promise that held a correction already counts as the one without it."""
    held, watch = 0.3, Watch(correction=-0.5)
    with_held = sigmoid(math.log(0.8 / 0.2) + held)
    plain, again = after_outcome(watch, 0.8, right=True), after_outcome(watch, with_held, right=True, included=held)
    assert plain.evidence == pytest.approx(again.evidence, rel=1e-9)
    assert plain.evidence != pytest.approx(after_outcome(watch, with_held, right=True).evidence, rel=1e-3)
