"""Who decides: the paper's rule against a slow twin, fees and absences, the baselines."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from defero.core.codec import pack, unpack
from defero.core.errors import InputError
from defero.core.scores import Scores
from defero.decide.rules import RULES as RULES_BY_NAME
from defero.decide.rules import (
    AlwaysAskBest,
    AskAtRandom,
    AskBelowThreshold,
    Grounds,
    MostLikelyRight,
    NeverAsk,
    best_expert,
    compare,
)

RULES = [MostLikelyRight(), NeverAsk(), AlwaysAskBest(), AskAtRandom(0.25, 7), AskBelowThreshold(0.75)]
grid = st.sampled_from([0.0, 0.125, 0.25, 0.5, 0.75, 1.0])  # exact in binary, so that ties are ties


def team(model, experts):
    """Scores of n items: P(model right) (n,), P(expert right) (n, J)."""
    model, experts = np.asarray(model, dtype=float), np.asarray(experts, dtype=float)
    classes = np.stack([model, 1 - model], axis=1)
    return Scores(classes, experts, model, np.zeros(experts.shape), "logit")


def decide(scores, rule, *, expert_names, **terms):
    return compare(scores, rule, expert_names=expert_names, **terms).decision(expert_names)


def names(n_experts):
    return tuple(f"dr_{j}" for j in range(n_experts))


def slow_rule(model, experts, fees, can):
    """Eq. 7, item by item: the model unless some expert is worth at least as much; the first of equals."""
    chosen = []
    for i in range(len(model)):
        who, worth = -1, None
        for j in range(len(experts[i])):
            value = experts[i][j] - fees[i][j]
            if can[i][j] and value >= model[i] and (worth is None or value > worth):
                who, worth = j, value
        chosen.append(who)
    return chosen


@st.composite
def situations(draw):
    n, n_experts = draw(st.integers(1, 4)), draw(st.integers(0, 4))
    shape = (n, n_experts)
    return (
        draw(arrays(float, n, elements=grid)),
        draw(arrays(float, shape, elements=grid)),
        draw(arrays(float, shape, elements=grid)),
        draw(arrays(bool, shape)),
    )


@given(situations())
def test_the_slow_twin_agrees(situation):
    model, experts, fees, can = situation
    decision = decide(
        team(model, experts), MostLikelyRight(), expert_names=names(experts.shape[1]), fees=fees, available=can
    )
    assert decision.expert.tolist() == slow_rule(*(part.tolist() for part in situation))
    for i, j in enumerate(decision.expert):
        wrong = 1 - model[i] if j < 0 else 1 - experts[i, j] + fees[i, j]
        assert decision.expected_cost[i] == wrong


@given(situations())
def test_no_other_choice_is_expected_to_cost_less(situation):
    model, experts, fees, can = situation
    decision = decide(
        team(model, experts), MostLikelyRight(), expert_names=names(experts.shape[1]), fees=fees, available=can
    )
    others = np.where(can, 1 - experts + fees, np.inf)
    assert (decision.expected_cost <= np.minimum(1 - model, others.min(axis=1, initial=np.inf))).all()


def test_the_paper_asks_an_expert_at_a_tie():
    decision = decide(team([0.75, 0.75], [[0.75], [0.5]]), MostLikelyRight(), expert_names=("ann",))
    assert decision.name.tolist() == ["ann", "model"]
    assert decision.reason == ["ann 0.750 >= model 0.750", "model 0.750 > ann 0.500"]


@given(st.permutations([0.125, 0.25, 0.5, 0.75]), st.permutations(range(4)), grid)
def test_permuting_experts_permutes_the_answer(experts, order, model):
    plain = decide(team([model], [experts]), MostLikelyRight(), expert_names=names(4))
    permuted_names = tuple(names(4)[j] for j in order)
    permuted = decide(team([model], [[experts[j] for j in order]]), MostLikelyRight(), expert_names=permuted_names)
    assert permuted.name.tolist() == plain.name.tolist()
    assert permuted.expected_cost.tolist() == plain.expected_cost.tolist()
    assert permuted.reason == plain.reason


def test_estimates_above_one_are_ranked_before_they_are_capped():
    raw = np.log([[2.0, 3.0]])
    scores = Scores([[1.0, 0.0]], [[1.0, 1.0]], [1.0], raw, "log")
    decision = decide(scores, MostLikelyRight(), expert_names=("ann", "bob"))
    assert decision.name.tolist() == ["bob"]
    assert decision.expected_cost.tolist() == [0.0]


def test_fees_per_expert_and_per_item():
    scores = team([0.5, 0.5], [[0.75, 0.625]] * 2)
    each = decide(scores, MostLikelyRight(), expert_names=("ann", "bob"), fees=[0.25, 0.0])
    assert each.name.tolist() == ["bob", "bob"]
    assert each.expected_cost.tolist() == [0.375, 0.375]
    both = decide(scores, MostLikelyRight(), expert_names=("ann", "bob"), fees=[[0.25, 0.0], [0.125, 0.25]])
    assert both.name.tolist() == ["bob", "ann"]
    assert both.expected_cost.tolist() == [0.375, 0.375]
    assert both.best_value.tolist() == [0.625, 0.625]


def test_absences_per_expert_and_per_item():
    scores = team([0.5, 0.5], [[0.75, 0.625]] * 2)
    each = decide(scores, MostLikelyRight(), expert_names=("ann", "bob"), available=[False, True])
    assert each.name.tolist() == ["bob", "bob"]
    both = decide(
        scores, MostLikelyRight(), expert_names=("ann", "bob"), available=np.array([[True, False], [False, False]])
    )
    assert both.name.tolist() == ["ann", "model"]
    assert both.reason[1] == "no expert available"
    assert both.best_expert.tolist() == [0, -1]
    assert both.best_value[1] == -np.inf


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_nobody_to_ask_leaves_the_model(rule):
    for n_experts, available in ((2, [False, False]), (0, None)):
        scores = team([0.25, 0.75], np.full((2, n_experts), 0.875))
        decision = decide(scores, rule, expert_names=names(n_experts), available=available)
        assert decision.name.tolist() == ["model", "model"]
        assert decision.reason == ["no expert available"] * 2
        assert decision.expected_cost.tolist() == [0.75, 0.25]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
@given(situations())
def test_no_rule_asks_the_absent(rule, situation):
    model, experts, fees, can = situation
    decision = decide(team(model, experts), rule, expert_names=names(experts.shape[1]), fees=fees, available=can)
    rows = np.flatnonzero(decision.deferred)
    assert can[rows, decision.expert[rows]].all()
    assert len(decision.reason) == len(model)


def test_the_model_alone_and_the_best_expert_always():
    scores = team([0.25, 1.0], [[0.5, 0.75], [0.5, 0.25]])
    assert decide(scores, NeverAsk(), expert_names=names(2)).name.tolist() == ["model", "model"]
    always = decide(scores, AlwaysAskBest(), expert_names=names(2))
    assert always.name.tolist() == ["dr_1", "dr_0"]
    assert always.reason == ["dr_1 0.750 >= model 0.250", "dr_0 by rule, with model 1.000 and best expert dr_0 0.500"]


def test_a_threshold_is_on_the_models_confidence():
    scores = team([0.5, 0.75, 0.875], [[0.25]] * 3)
    decision = decide(scores, AskBelowThreshold(0.75), expert_names=("ann",))
    assert decision.name.tolist() == ["ann", "model", "model"]


def test_asking_at_random_keeps_its_share_and_asks_all_alike():
    scores = team(np.full(6_000, 0.5), np.full((6_000, 3), 0.5))
    decision = decide(scores, AskAtRandom(share=0.3, seed=1), expert_names=names(3))
    assert abs(decision.deferred.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 6_000)
    assert np.abs(decision.load - 600).max() < 5 * np.sqrt(600)
    again = decide(scores, AskAtRandom(share=0.3, seed=1), expert_names=names(3))
    other = decide(scores, AskAtRandom(share=0.3, seed=2), expert_names=names(3))
    assert np.array_equal(decision.expert, again.expert)
    assert not np.array_equal(decision.expert, other.expert)
    assert decide(scores, AskAtRandom(share=0.0), expert_names=names(3)).coverage == 1
    assert decide(scores, AskAtRandom(share=1.0), expert_names=names(3)).coverage == 0


@given(arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 4)), elements=grid | st.just(-np.inf)))
def test_the_best_expert_is_the_first_of_the_best(values):
    best, worth = best_expert(values)
    for i, row in enumerate(values.tolist()):
        assert worth[i] == max(row)
        assert best[i] == (-1 if max(row) == -np.inf else row.index(max(row)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.kind)
def test_a_rule_comes_back(rule):
    assert unpack(RULES_BY_NAME[rule.kind], pack(rule)) == rule


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fees": [0.1]}, r"fees must have shape \(2,\) or \(3, 2\), one column per expert, got \(1,\)"),
        ({"fees": 0.1}, r"fees must have shape \(2,\) or \(3, 2\), one column per expert, got \(\)"),
        ({"fees": np.zeros((2, 3))}, r"fees must have shape \(2,\) or \(3, 2\), .* got \(2, 3\)"),
        ({"fees": [0.1, np.nan]}, "fees must be finite; to exclude an expert pass available=False"),
        ({"fees": [0.1, np.inf]}, "fees must be finite; to exclude an expert pass available=False"),
        ({"fees": ["cheap", "dear"]}, "fees must be numbers in the unit of the error costs"),
        ({"available": [True]}, r"available must have shape \(2,\) or \(3, 2\), one column per expert, got \(1,\)"),
        ({"available": [1, 0]}, "available must be True or False for each expert, got dtype int64"),
        ({"available": ["yes", "no"]}, "available must be True or False for each expert, got dtype <U3"),
    ],
)
def test_what_is_wrong_is_said(options, message):
    with pytest.raises(InputError, match=message):
        decide(team([0.5] * 3, [[0.5, 0.5]] * 3), MostLikelyRight(), expert_names=names(2), **options)


@given(situations())
def test_dearer_experts_are_asked_no_more(situation):
    model, experts, fees, can = situation
    assume(experts.shape[1] > 0)
    scores, who = team(model, experts), names(experts.shape[1])
    cheap = decide(scores, MostLikelyRight(), expert_names=who, available=can)
    dear = decide(scores, MostLikelyRight(), expert_names=who, fees=fees, available=can)
    assert (dear.deferred <= cheap.deferred).all()
    assert (dear.expected_cost >= cheap.expected_cost).all()


@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 7)), elements=st.one_of(grid, st.just(-np.inf))))
def test_the_best_expert_is_the_first_largest_in_either_order_of_memory(value):
    first = [row.tolist().index(max(row)) if max(row) > -np.inf else -1 for row in value]
    for ordered in (np.ascontiguousarray(value), np.asfortranarray(value)):
        best, best_value = best_expert(ordered)
        assert best.tolist() == first
        assert best_value.tolist() == value.max(axis=1).tolist()


def test_the_best_of_300_experts_is_found_in_either_order_of_memory():
    value = np.zeros((2, 300))
    value[0, 299], value[1, 256] = 1.0, 1.0
    for ordered in (value, np.asfortranarray(value)):
        assert best_expert(ordered)[0].tolist() == [299, 256]


@given(st.integers(1, 9), st.integers(1, 4), st.booleans())
def test_blocks_joined_are_the_whole(n_items, at_once, ask):
    rng = np.random.default_rng(n_items)
    scores = team(rng.random(n_items), rng.random((n_items, 3)))
    rule = AlwaysAskBest() if ask else MostLikelyRight()
    whole = compare(scores, rule, expert_names=names(3))
    starts = range(0, n_items, at_once)
    blocks = (compare(scores.take(slice(start, start + at_once)), rule, expert_names=names(3)) for start in starts)
    for joined, array in zip(Grounds.joined(blocks, n_items), whole, strict=True):
        assert joined.tolist() == array.tolist()
        assert joined.dtype == array.dtype
