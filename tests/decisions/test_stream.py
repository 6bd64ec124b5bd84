"""A stream of cases under quotas: never exceeded, near the offline optimum, and nobody's afternoon is used up."""

import json
from datetime import datetime, timedelta

import numpy as np
import pytest

from defero.core import InputError
from defero.decisions import StreamPlan, StreamState, assign, stream_step

NAMES = ("a", "b", "c", "d", "e")
QUOTA = dict(zip(NAMES, (100, 150, 80, 120, 60), strict=True))
HOURS = [0] * 8 + [1] * 10 + [0] * 6
MONDAY = datetime(2026, 11, 16)


def gains(rng, n):
    skill = np.array([0.8, 0.75, 0.7, 0.85, 0.9])
    return 0.15 * rng.standard_normal((n, 5)) + skill - rng.beta(4, 2, (n, 1)) - 0.02


def run_day(plan, state, day, hours, value):
    """Send cases that arrive at these hours through the stream; return the state and whom each case went to."""
    chosen = np.full(len(hours), -1)
    for i, hour in enumerate(hours):
        state, decision = stream_step(plan, state, MONDAY + timedelta(days=day, hours=float(hour)), value[i])
        chosen[i] = decision.expert
    return state, chosen


def loads(chosen):
    return np.bincount(chosen[chosen >= 0], minlength=5)


@pytest.mark.parametrize("known", [None, 2_000])
def test_ten_thousand_cases_stay_within_their_quotas_and_near_the_offline_optimum(known):
    """Five days of 2,000 cases from prices of 0: all days together at most 1 point below the best of each day."""
    rng = np.random.default_rng(0)
    week = {name: 5 * most - 20 for name, most in QUOTA.items()}
    plan = StreamPlan(NAMES, {"day": QUOTA, "week": week}, hours=HOURS, weekdays=[1] * 5 + [0] * 2, cases_per_day=known)
    state, ours, best, total = StreamState.start(plan), 0.0, 0.0, np.zeros(5, int)
    for day in range(5):
        value, hours = gains(rng, 2_000), 8 + 10 * np.sort(rng.random(2_000))
        state, chosen = run_day(plan, state, day, hours, value)
        assert (loads(chosen) <= list(QUOTA.values())).all()
        total += loads(chosen)
        asked = np.flatnonzero(chosen >= 0)
        ours += value[asked, chosen[asked]].sum()
        best += assign(value, capacity=QUOTA, expert_names=NAMES, method="prices").saved
    assert (total <= list(week.values())).all()
    assert state.used["week"] == tuple(total.tolist())
    assert best / 10_000 - ours / 10_000 < 0.01
    assert ours > 0.9 * best


def test_a_morning_rush_does_not_starve_the_afternoon():
    """Three quarters of 2,000 cases arrive in the first two of ten hours: nearly half of each quota is left at 13."""
    rng = np.random.default_rng(1)
    plan = StreamPlan(NAMES, {"day": QUOTA}, hours=HOURS)
    hours = np.sort(np.concatenate([8 + 2 * rng.random(1_500), 10 + 8 * rng.random(500)]))
    value = gains(rng, 2_000)
    _, chosen = run_day(plan, StreamState.start(plan), 0, hours, value)
    most = np.array(list(QUOTA.values()))
    assert (loads(chosen[hours < 10]) <= (0.2 + plan.ahead) * most).all()
    assert (loads(chosen[hours < 13]) <= (0.5 + plan.ahead) * most).all()
    asked = chosen >= 0
    assert asked[hours >= 13].mean() > asked[hours < 10].mean()
    without = StreamPlan(NAMES, {"day": QUOTA}, hours=HOURS, ahead=1.0, step=1e-9)
    _, greedy = run_day(without, StreamState.start(without), 0, hours, value)
    assert loads(greedy[hours >= 13]).sum() < 0.1 * loads(chosen[hours >= 13]).sum()


def test_what_a_quiet_morning_leaves_over_is_used_in_the_afternoon():
    rng = np.random.default_rng(2)
    plan = StreamPlan(NAMES, {"day": QUOTA}, hours=HOURS, cases_per_day=1_000)
    hours = np.sort(np.concatenate([8 + 5 * rng.random(50), 13 + 5 * rng.random(950)]))
    _, chosen = run_day(plan, StreamState.start(plan), 0, hours, gains(rng, 1_000))
    assert loads(chosen[hours >= 13]).sum() > 0.6 * sum(QUOTA.values())


def test_the_state_is_small_and_survives_json():
    rng = np.random.default_rng(3)
    plan = StreamPlan(NAMES, {"day": QUOTA, "week": QUOTA}, hours=HOURS)
    assert StreamPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    value, hours = gains(rng, 60), 8 + np.sort(rng.random(60))
    whole, _ = run_day(plan, StreamState.start(plan), 0, hours, value)
    half, _ = run_day(plan, StreamState.start(plan), 0, hours[:30], value[:30])
    text = json.dumps(half.to_dict())
    assert len(text) < 1_000
    resumed, _ = run_day(plan, StreamState.from_dict(json.loads(text)), 0, hours[30:], value[30:])
    assert resumed == whole


def test_periods_turn_and_late_cases_do_not_turn_them_back():
    plan = StreamPlan(("ann",), {"day": {"ann": 1}, "week": {"ann": 2}}, ahead=1.0, step=1e-6)
    state, asked = StreamState.start(plan), []
    times = [MONDAY, MONDAY, MONDAY + timedelta(days=1), MONDAY, MONDAY + timedelta(days=2), MONDAY + timedelta(days=7)]
    for time in times:
        state, decision = stream_step(plan, state, time, [5.0])
        asked.append(decision.expert == 0)
    assert asked == [True, False, True, False, False, True]


def test_late_cases_of_yesterday_do_not_use_up_today():
    plan = StreamPlan(("ann",), {"day": {"ann": 40}}, ahead=0.0, step=1e-6)

    def asked(time):
        state, _ = stream_step(plan, StreamState.start(plan), MONDAY + timedelta(minutes=6), [-1.0])
        count = 0
        for _ in range(60):
            state, decision = stream_step(plan, state, time, [5.0])
            count += decision.expert == 0
        return count

    assert asked(MONDAY - timedelta(minutes=5)) <= asked(MONDAY + timedelta(minutes=6)) < 5


def test_prices_of_a_batch_can_start_a_stream():
    plan = StreamPlan(("ann", "bob"), {"day": {"ann": 3}})
    state = StreamState.start(plan, prices=[0.3, -0.1])
    assert state.prices == (0.3, 0.0)
    _, decision = stream_step(plan, state, MONDAY, [0.25, -0.1])
    assert (decision.name, decision.reason) == ("model", "model: no question is worth its price")


@pytest.mark.parametrize(
    ("argument", "options"),
    [
        ("quotas", {"quotas": {"month": {"a": 1}}}),
        ("quotas", {"quotas": {"day": {"x": 1}}}),
        ("quotas", {"quotas": {"day": {"a": -1}}}),
        ("hours", {"quotas": {}, "hours": [1] * 23}),
        ("weekdays", {"quotas": {}, "weekdays": [0] * 7}),
        ("cases_per_day", {"quotas": {}, "cases_per_day": 0}),
        ("ahead", {"quotas": {}, "ahead": 2}),
    ],
)
def test_what_is_wrong_is_said(argument, options):
    with pytest.raises(InputError) as error:
        StreamPlan(NAMES, **options)
    assert error.value.argument == argument


def test_gains_must_be_numbers_of_every_expert():
    plan = StreamPlan(NAMES, {})
    for value in ([0.1], [0.1] * 4 + [np.nan]):
        with pytest.raises(InputError) as error:
            stream_step(plan, StreamState.start(plan), MONDAY, value)
        assert error.value.argument == "gain"
