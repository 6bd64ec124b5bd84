"""Figures of the console: by hand, and beside a slow obvious twin."""

from hypothesis import given
from hypothesis import strategies as st

from defero.judge.intervals import wilson_interval
from defero.service.views.promises import MILLION, Kept
from defero.service.views.tallies import TEAM, Period, flow, flow_by_day, mean_wait, person_figures, sums_of

DAYS = ["2026-11-14", "2026-11-15", "2026-11-16"]
counts_of = st.dictionaries(
    st.tuples(
        st.sampled_from(DAYS),
        st.sampled_from([TEAM, "p1", "p2"]),
        st.sampled_from(["received", "settled", "settled_alone", "asked", "fees", "waited", "answered", "judged"]),
    ),
    st.integers(0, 10**6),
)


@given(counts_of)
def test_the_days_of_a_period_add_up_to_it(counts):
    days = Period(DAYS[0], DAYS[2])
    whole, parts = flow(counts, days), [one for _, one in flow_by_day(counts, days)]
    for name in ("received", "settled", "settled_alone", "asked"):
        assert getattr(whole, name) == sum(getattr(one, name) for one in parts) == sums_of(counts, days).get(name, 0)
        slow = 0
        for key, amount in counts.items():
            if key[1] == TEAM and key[2] == name:
                slow += amount
        assert getattr(whole, name) == slow


@given(counts_of)
def test_a_day_outside_changes_nothing(counts):
    more = {**counts, ("2026-11-13", TEAM, "received"): 7, ("2026-11-17", TEAM, "received"): 7}
    assert flow(more, Period(DAYS[0], DAYS[2])) == flow(counts, Period(DAYS[0], DAYS[2]))


def test_a_period_and_the_one_before_it_meet_and_are_as_long():
    period = Period.ending(at=1_800_000_000.0, n_days=30)
    assert len(period.days()) == len(period.before().days()) == 30
    assert (period.before().last, period.first) == ("2026-12-16", "2026-12-17")
    assert period.days()[-1] == "2027-01-15"


def test_money_and_promises_by_hand():
    day = "2026-11-16"
    counts = {
        (day, TEAM, "settled"): 10,
        (day, TEAM, "settled_alone"): 4,
        (day, TEAM, "asked"): 8,
        (day, TEAM, "fees"): 12 * MILLION,
        (day, TEAM, "outcomes"): 5,
        (day, TEAM, "right"): 4,
        (day, TEAM, "promised_judged"): round(4.5 * MILLION),
        (day, "p1", "asked"): 8,
        (day, "p1", "answered"): 6,
        (day, "p1", "waited"): 90_000,
        (day, "p1", "judged"): 5,
        (day, "p1", "right"): 3,
        (day, "p1", "promised"): 4 * MILLION,
    }
    did = flow(counts, Period(day, day))
    assert (did.fees, did.errors, did.alone_rate, did.questions_per_case) == (12.0, 1, 0.4, 0.8)
    assert did.record().promised == 0.9
    ann = person_figures(counts, Period(day, day), "p1")
    assert (ann.wait, ann.record.promised, ann.record.kept) == (15.0, 0.8, 0.6)
    assert (ann.record.low, ann.record.high) == wilson_interval(3, 5)
    assert mean_wait(counts, Period(day, day), ["p1", "p2"]) == 15.0
    assert mean_wait(counts, Period(day, day), ["p2"]) is None


@given(st.integers(1, 500), st.floats(0, 1), st.floats(0, 1))
def test_a_verdict_says_on_which_side_of_the_interval_the_promise_lies(n, kept, promised):
    record = Kept.of(n=n, right=round(kept * n), promised=promised * n)
    inside = record.low <= record.promised <= record.high
    assert inside == (record.verdict == "")
    if record.verdict:
        assert (record.verdict == "below") == (record.kept < record.promised)
