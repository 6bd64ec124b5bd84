"""Assigning a batch: against brute force, exact by programs and by prices; limits, prices, words."""

import numpy as np
import pytest
from exact_assigning import best_gain, drawn_batch
from hypothesis import given, settings
from hypothesis import strategies as st

from defero.core import InputError
from defero.decide import assign
from defero.decide.terms import Terms

SIZES = st.tuples(st.integers(1, 6), st.integers(1, 3))


def check_within(batch, capacity, share, fees, budget):
    n = len(batch)
    for count, (low, high) in zip(batch.load.tolist(), capacity, strict=True):
        assert low <= count <= high
    assert batch.deferred.sum() <= (n if share is None else share * n + 1e-9)
    if fees is not None:
        rows = np.flatnonzero(batch.deferred)
        assert fees[rows, batch.expert[rows]].sum() <= budget + 1e-9


def limits_of(capacity, share, n):
    lower, upper = np.array(capacity).T
    return lower, upper, n if share is None else int(np.floor(share * n + 1e-9))


@settings(max_examples=60, deadline=None)
@given(SIZES, st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.3]), st.sampled_from(["exact", "prices"]))
def test_equals_brute_force(size, seed, ties, absent, method):
    n, j = size
    value, capacity, share, _, _ = drawn_batch(
        np.random.default_rng(seed), n=n, j=j, ties=ties, absent=absent, money=False
    )
    best = best_gain(value, *limits_of(capacity, share, n))
    if best is None:
        with pytest.raises(InputError) as error:
            assign(value, terms=Terms(capacity=capacity, at_most_asked=share), method=method)
        assert error.value.argument == "capacity"
        return
    batch = assign(value, terms=Terms(capacity=capacity, at_most_asked=share), method=method)
    check_within(batch, capacity, share, None, None)
    assert batch.saved == pytest.approx(best, abs=1e-9)
    assert batch.gap == 0


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(0, 10**6), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_a_budget_equals_brute_force(size, seed, ties, absent):
    n, j = size
    value, capacity, share, fees, budget = drawn_batch(
        np.random.default_rng(seed), n=n, j=j, ties=ties, absent=absent, money=True
    )
    terms = Terms(capacity=capacity, at_most_asked=share, fees=fees, budget=budget)
    best = best_gain(value, *limits_of(capacity, share, n), fees, budget)
    if best is None:
        with pytest.raises(InputError) as error:
            assign(value, terms=terms)
        assert error.value.argument in ("capacity", "budget")
        return
    batch = assign(value, terms=terms)
    check_within(batch, capacity, share, fees, budget)
    assert batch.saved == pytest.approx(best, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(SIZES, st.integers(0, 10**6), st.booleans())
def test_by_prices_a_budget_is_never_exceeded(size, seed, ties):
    n, j = size
    value, capacity, share, fees, budget = drawn_batch(
        np.random.default_rng(seed), n=n, j=j, ties=ties, absent=0.2, money=True
    )
    terms = Terms(capacity=capacity, at_most_asked=share, fees=fees, budget=budget)
    best = best_gain(value, *limits_of(capacity, share, n), fees, budget)
    try:
        batch = assign(value, terms=terms, method="prices")
    except InputError:
        return
    assert best is not None
    check_within(batch, capacity, share, fees, budget)
    assert batch.saved <= best + 1e-9
    assert batch.saved + batch.gap >= best - 1e-9


def test_prices_are_what_one_more_question_saves():
    """A hundred items, exact: raise each limit by one and solve again."""
    rng = np.random.default_rng(3)
    value = rng.uniform(-0.3, 0.7, (100, 4))
    capacity = [(0, 3), (0, 4), (36, 40), (0, 30)]
    batch = assign(value, terms=Terms(capacity=capacity, at_most_asked=0.5))
    for j in range(4):
        low, high = capacity[j]
        more = (low + 1, high) if batch.prices[j] < 0 else (low, high + 1)
        again = assign(value, terms=Terms(capacity=[*capacity[:j], more, *capacity[j + 1 :]], at_most_asked=0.5))
        assert again.saved - batch.saved == pytest.approx(batch.prices[j], abs=1e-9)
    again = assign(value, terms=Terms(capacity=capacity, at_most_asked=0.51))
    assert again.saved - batch.saved == pytest.approx(batch.deferral_price, abs=1e-9)
    assert (batch.prices[:2] > 0).all()
    assert batch.prices[2] < 0


@pytest.mark.parametrize("method", ["exact", "prices"])
@pytest.mark.parametrize("budget", [0.0, 1.0, 6.0, 6.5, 15.0, 100.0])
def test_the_price_of_money_is_what_a_little_more_of_it_saves(method, budget):
    """Questions of fee 2: with a budget for k of them the next one in order of gain would be asked."""
    gain = np.linspace(0.9, 0.1, 9)[np.random.default_rng(0).permutation(9)]
    batch = assign(gain[:, None], terms=Terms(fees=[2.0], budget=budget), method=method)
    left = np.sort(gain)[::-1][int(budget // 2) :]
    assert batch.money_price == pytest.approx(left[0] / 2 if len(left) else 0.0, rel=1e-6)
    said = [sentence for sentence in batch.sentences() if "budget" in sentence]
    assert len(said) == (1 if len(left) else 0)
    assert all("margin" in sentence and "fees counted" in sentence for sentence in said)


@pytest.mark.parametrize("method", ["exact", "prices"])
def test_a_reason_names_the_limit_that_is_used_up(method):
    gain, names = np.array([[0.5, -0.1], [0.4, -0.1], [0.3, 0.2], [-0.2, -0.1]]), ["ann", "bob"]
    terms = {"expert_names": names, "method": method}
    capacity = assign(gain, terms=Terms(capacity={"ann": 1}), **terms)
    assert capacity.name.tolist() == ["ann", "model", "bob", "model"]
    assert "capacity of ann is used up" in capacity.reason[1]
    assert "worth its fee" in capacity.reason[3]
    share = assign(gain, terms=Terms(at_most_asked=0.25), **terms).reason
    assert ["used up" in reason for reason in share] == [False, True, True, False]
    budget = assign(gain, terms=Terms(budget=1.0, fees=[1.0, 1.0]), **terms).reason
    assert ["budget is used up" in reason for reason in budget] == [False, True, True, False]
    assert all("used up" not in reason for reason in assign(gain, **terms).reason)


@pytest.mark.parametrize("ties", [False, True])
def test_by_prices_is_as_good_as_the_program_and_prices_place_nearly_everybody(ties):
    rng = np.random.default_rng(0)
    n, j = 1_500, 6
    value = rng.normal(0.1, 0.2, (n, j)) + rng.normal(0, 0.2, (n, 1))
    if ties:
        value = value.round(1)
    value[rng.random((n, j)) < 0.1] = -np.inf
    capacity = [(0, 120), (150, 200), (0, 200), (0, 90), (140, 140), (0, None)]
    terms = Terms(capacity=capacity, at_most_asked=0.5)
    exact, by_prices = (assign(value, terms=terms, method=method) for method in ("exact", "prices"))
    assert by_prices.saved == pytest.approx(exact.saved, abs=1e-6)
    assert (exact.gap, by_prices.gap) == (0, 0)
    if not ties:
        for batch in (exact, by_prices):
            net = value - batch.prices - batch.deferral_price
            own = np.where(net.max(axis=1) > 0, net.argmax(axis=1), -1)
            assert (own != batch.expert).sum() <= 2 * j


def test_a_large_batch_goes_through_a_sample_and_stays_within_its_limits(monkeypatch):
    monkeypatch.setattr("defero.decide.assigning.pricing.SAMPLE", 2_000)
    monkeypatch.setattr("defero.decide.assigning.pricing.NEAR", 3_000)
    monkeypatch.setattr("defero.decide.assigning.pricing._ROWS_AT_ONCE", 1_700)
    rng = np.random.default_rng(1)
    value = rng.normal(0.0, 0.2, (20_000, 5))
    fees = rng.uniform(0.5, 2.0, value.shape)
    capacity = [(0, 2_000), (1_900, 3_000), (0, 1_000), (0, 5_000), (0, 0)]
    batch = assign(value, terms=Terms(capacity=capacity, at_most_asked=0.4))
    check_within(batch, capacity, 0.4, None, None)
    assert batch.gap <= 1e-6 * batch.saved
    paid = assign(value, terms=Terms(capacity=capacity, at_most_asked=0.4, fees=fees, budget=6_000.0))
    check_within(paid, capacity, 0.4, fees, 6_000.0)
    assert paid.gap <= 5e-4 * paid.saved
    assert paid.money_price > 0
    assert paid.saved < batch.saved


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_permuting_experts_changes_no_total(seed):
    rng = np.random.default_rng(seed)
    value, capacity, share, _, _ = drawn_batch(rng, n=12, j=3, ties=False, absent=0.0, money=False)
    capacity = [(low, high + 2) for low, high in capacity]
    if share is not None and share * 12 < sum(low for low, _ in capacity):
        share = None
    order = rng.permutation(3)
    one = assign(value, terms=Terms(capacity=capacity, at_most_asked=share))
    other = assign(value[:, order], terms=Terms(capacity=[capacity[j] for j in order], at_most_asked=share))
    assert other.saved == pytest.approx(one.saved)
    assert np.array_equal(np.where(other.expert < 0, -1, order[other.expert]), one.expert)


def test_what_it_says():
    value = [[0.4, 0.3], [0.5, 0.1], [0.2, -0.1], [-0.2, -0.05]]
    names = ["dr_a", "dr_b"]
    batch = assign(
        value, terms=Terms(capacity={"dr_a": (0, 1), "dr_b": (2, None)}), expert_names=names, answer_cost=[0.6] * 4
    )
    assert batch.name.tolist() == ["dr_b", "dr_a", "model", "dr_b"]
    assert batch.expected_cost == pytest.approx([0.3, 0.1, 0.6, 0.65])
    assert batch.sentences()[0] == "One more question to dr_a would save 0.20."
    assert "must go to dr_b" in batch.sentences()[1]
    assert "dr_a: 0.100" in batch.reason[1]
    assert len(repr(assign(np.ones((50, 3)), terms=Terms(capacity=[2, 3, 4], at_most_asked=0.1))).splitlines()) <= 10
    frame = batch.to_frame()
    assert list(frame) == ["route", "expected_cost", "reason"]
    assert frame["route"].tolist() == batch.name.tolist()


def test_edges():
    assert assign(np.empty((0, 2))).expert.shape == (0,)
    assert assign(np.empty((3, 0))).expert.tolist() == [-1] * 3
    assert assign(np.full((3, 1), -np.inf), method="prices").expert.tolist() == [-1] * 3
    assert assign([[0.5], [0.5]], terms=Terms(at_most_asked=0.0)).expert.tolist() == [-1, -1]
    assert assign([[-0.5], [-0.4]], terms=Terms(capacity=[(1, 1)])).expert.tolist() == [-1, 0]
    free = assign([[0.5, 0.6], [0.4, -0.1]])
    assert free.expert.tolist() == [1, 0]
    assert free.sentences() == []
    for method in ("exact", "prices"):
        nothing = assign([[0.5], [0.4]], terms=Terms(fees=[1.0], budget=0.0), method=method)
        assert nothing.expert.tolist() == [-1, -1]


@pytest.mark.parametrize(
    ("argument", "facts", "options"),
    [
        ("capacity", ["80 questions", "95"], {"capacity": {"ann": (95, 80)}}),
        (
            "capacity",
            ["at_most_asked=0.5", "2 questions", "ask for 3"],
            {"capacity": [(3, 4), 1], "at_most_asked": 0.5},
        ),
        ("capacity", ["4 cases", "ask for 5"], {"capacity": [(3, 4), (2, 4)]}),
        ("capacity", ["bob", "2 cases", "3"], {"capacity": [0, (3, 4)]}),
        ("capacity", ["ann, bob", "3 cases", "ask for 4"], {"capacity": [(2, 4), (2, 4)]}),
        ("capacity", ["no expert anne", "'ann'"], {"capacity": {"anne": 3}}),
        ("capacity", ["ann", "-1"], {"capacity": {"ann": -1}}),
        ("capacity", ["2 experts"], {"capacity": [1, 2, 3]}),
        ("at_most_asked", ["1.5"], {"at_most_asked": 1.5}),
        ("budget", ["fees"], {"budget": 5.0}),
        ("budget", ["-1"], {"budget": -1.0, "fees": [1, 1]}),
        ("budget", ["3", "4"], {"budget": 3.0, "fees": [2, 2], "capacity": [(2, 2), 1]}),
        ("method", ["simplex"], {"method": "simplex"}),
    ],
)
def test_what_cannot_be_met_is_said(argument, facts, options):
    value = np.full((4, 2), 0.1)
    value[2:, 1] = -np.inf
    if facts[0] == "ann, bob":
        value[3] = -np.inf
    method = options.pop("method", "auto")
    with pytest.raises(InputError) as error:
        assign(value, expert_names=["ann", "bob"], terms=Terms(**options), method=method)
    assert error.value.argument == argument
    for fact in facts:
        assert fact in str(error.value)


def test_lower_limits_that_collide_are_refused_however_many_kinds_of_cases_there_are(monkeypatch):
    """With too many kinds for a check beforehand the assignment itself says so."""
    value = np.array([[0.1, 0.2], [0.3, 0.1], [0.2, -np.inf]])
    value[2, 0] = -np.inf
    for most_kinds in (0, 10):
        monkeypatch.setattr("defero.decide.assigning.limits._MOST_KINDS", most_kinds)
        for method in ("exact", "prices"):
            with pytest.raises(InputError) as error:
                assign(value, terms=Terms(capacity=[(1, 2), (2, 2)]), method=method)
            assert error.value.argument == "capacity"


@pytest.mark.parametrize("value", [[[np.nan]], [[np.inf]], [0.5], [["x"]]])
def test_gains_that_are_no_numbers(value):
    with pytest.raises(InputError) as error:
        assign(value)
    assert error.value.argument == "gain"
