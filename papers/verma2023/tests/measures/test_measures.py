"""The figures of one run: by hand, against loops, and at the edges. No stored data needed."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from defero import InputError
from defero_verma2023.measures.conformal_figures import PROCEDURES, VOTES, conformal_figures
from defero_verma2023.measures.measure import measure
from defero_verma2023.measures.team_outputs import TeamOutputs
from defero_verma2023.measures.who_decides import team_correct, who_decides

LINKS = ("ova", "softmax", "decoupled", "asymmetric", "moe")
BY_INDEX = ("naive_as_run", "naive", "regularized", "top5")
"""Votes in which ties, or a fault that is followed, depend on the order of the experts."""


def team(link="ova", *, n=300, n_classes=3, n_experts=2, seed=0):
    """Random outputs that know something of the labels and the experts."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)
    right = rng.random((n, n_experts)) < np.linspace(0.5, 0.9, n_experts)
    answers = np.where(right, labels[:, None], (labels[:, None] + 1) % n_classes)
    class_logits = rng.normal(size=(n, n_classes))
    class_logits[np.arange(n), labels] += 1
    expert_logits = rng.normal(size=(n, n_experts)) + right
    model = rng.normal(size=n) if link == "moe" else None
    return TeamOutputs(link, class_logits, expert_logits, answers, labels, model)


def two_items(link, *, model=None):
    """Expert 0 leads on the first item, class 1 on the second; the truth is 1 and 1, expert 1 alone says so."""
    classes, experts = np.array([[0.0, 1.0], [0.0, 3.0]]), np.array([[2.0, 0.0], [2.0, 0.0]])
    answers, labels = np.array([[0, 1], [0, 1]]), np.array([1, 1])
    return TeamOutputs(link, classes, experts, answers, labels, None if model is None else np.array(model))


@pytest.mark.parametrize("link", ["ova", "softmax"])
def test_by_hand(link):
    found = measure(two_items(link), sets=False)
    assert found["system_accuracy"] == 0.5
    assert found["class_accuracy"] == 1.0
    assert found["coverage"] == 0.5
    assert found["expert_accuracy"] == [0.0, 1.0]
    assert found["best_expert"] == 1.0
    assert found["ece"] == pytest.approx(np.mean(found["ece_by_expert"]))


def test_the_error_of_softmax_is_capped_at_one():
    """t / (1 - sum t) = exp(2) / (1 + e) and 1 / (1 + e) on item 1, exp(2) / (1 + e^3) and 1 / (1 + e^3) on item 2."""
    found = measure(two_items("softmax"), sets=False)
    sure = [1.0, math.exp(2) / (1 + math.exp(3))]
    unsure = [1 / (1 + math.e), 1 / (1 + math.exp(3))]
    expected = [np.mean(sure), np.mean([1 - one for one in unsure])]
    np.testing.assert_allclose(found["ece_by_expert"], expected)


def test_a_class_wins_a_tie_and_an_expert_does_in_a_mixture():
    level = TeamOutputs("ova", np.array([[1.0, 0.0]]), np.array([[1.0]]), np.array([[0]]), np.array([0]))
    assert who_decides(level).tolist() == [-1]
    mixture = two_items("moe", model=[2.0, 2.5])
    assert who_decides(mixture).tolist() == [0, -1]
    assert team_correct(mixture, who_decides(mixture)).tolist() == [False, True]


@pytest.mark.parametrize("link", LINKS)
@given(seed=st.integers(0, 1000))
def test_permuting_the_experts_permutes_their_figures_and_nothing_else(link, seed):
    one = team(link, n=60, n_experts=3, seed=seed)
    order = np.random.default_rng(seed).permutation(3)
    other = TeamOutputs(
        link, one.class_logits, one.expert_logits[:, order], one.answers[:, order], one.labels, one.model_logit
    )
    ours, theirs = measure(one, sets=False), measure(other, sets=False)
    for name in ("system_accuracy", "class_accuracy", "coverage", "best_expert"):
        assert ours[name] == theirs[name]
    assert ours["ece"] == pytest.approx(theirs["ece"], abs=1e-12)
    np.testing.assert_allclose(np.array(ours["ece_by_expert"])[order], theirs["ece_by_expert"], atol=1e-12)


@pytest.mark.parametrize("link", ["ova", "softmax", "decoupled", "asymmetric"])
def test_sets_and_votes_do_not_depend_on_the_order_of_the_experts(link):
    one = team(link, n=400, n_experts=6)
    order = np.array([4, 2, 0, 5, 1, 3])
    other = TeamOutputs(link, one.class_logits, one.expert_logits[:, order], one.answers[:, order], one.labels)
    ours, theirs = conformal_figures(one), conformal_figures(other)
    for name in ("all_correct", "missed_share", "any_correct", "regularized_as_run", "naive_as_written"):
        assert ours.sets[name].size == pytest.approx(theirs.sets[name].size, abs=1e-9)
    for name in (vote for vote in VOTES if vote not in BY_INDEX):
        assert ours.votes[name] == pytest.approx(theirs.votes[name], abs=1e-9)


def test_top_expert_and_top_five_are_what_loops_over_items_say():
    one = team("ova", n=200, n_experts=7)
    found = conformal_figures(one, n_splits=3, seed=5)
    rng = np.random.default_rng(5)
    first, five = [], []
    for _ in range(3):
        test = rng.permutation(200)[160:]
        for size, accuracies in ((1, first), (5, five)):
            right = 0
            for i in test:
                ranked = sorted(range(7), key=lambda j: -one.expert_logits[i, j])
                said = one.class_logits[i].argmax()
                if one.expert_logits[i].max() > one.class_logits[i].max():
                    votes = [one.answers[i, j] for j in ranked[:size]]
                    said = min(set(votes), key=lambda label: (-votes.count(label), label))
                right += said == one.labels[i]
            accuracies.append(right / len(test))
    assert found.votes["top_expert"] == pytest.approx(np.mean(first), abs=1e-12)
    assert found.votes["top5"] == pytest.approx(np.mean(five), abs=1e-12)


def test_every_figure_is_there_under_its_name():
    found = measure(team(n=400, n_experts=4), calibration=team(n=200, n_experts=4, seed=1))
    kinds = ("size", "empty", "missed_share", "all_correct", "any_correct")
    names = {f"sets.{procedure}.{kind}" for procedure in PROCEDURES for kind in kinds}
    names |= {f"votes.{vote}.system_accuracy" for vote in VOTES}
    names |= {"calibrated.system_accuracy", "calibrated.coverage", "calibrated.ece"}
    names |= {"system_accuracy", "class_accuracy", "coverage", "ece", "ece_by_expert", "expert_accuracy", "best_expert"}
    assert set(found) == names
    assert not [name for name in names if np.isnan(found[name]).any()]


def test_our_sets_keep_their_promises():
    """800 items, most of them deferred, ten splits: a standard deviation of about 0.01."""
    found = conformal_figures(team("decoupled", n=4000, n_experts=5), n_splits=10)
    assert found.sets["missed_share"].missed_share == pytest.approx(0.1, abs=0.025)
    assert found.sets["all_correct"].all_correct == pytest.approx(0.9, abs=0.025)
    assert found.sets["any_correct"].any_correct == pytest.approx(0.9, abs=0.025)


def test_calibration_brings_the_error_down():
    """Random numbers for log-odds: what they claim is wrong, and calibration finds that out."""
    found = measure(team(n=2000), calibration=team(n=2000, seed=1), sets=False)
    assert found["calibrated.ece"] < 0.5 * found["ece"]
    assert found["calibrated.system_accuracy"] >= found["system_accuracy"]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("n_experts", [1, 2, 10])
@pytest.mark.parametrize("n", [1, 5, 40])
def test_few_items_give_nan_and_no_error(link, n_experts, n):
    found = measure(team(link, n=n, n_experts=n_experts), calibration=team(link, n_experts=n_experts))
    assert 0 <= found["system_accuracy"] <= 1
    if link != "moe":
        assert not math.isnan(found["votes.top_expert.system_accuracy"])
        if n < 30:
            assert math.isnan(found["sets.any_correct.size"])
            assert math.isnan(found["votes.any_correct_bayes.system_accuracy"])


def test_where_nobody_is_deferred_no_set_is_known():
    kept = team("ova", n=200)
    kept = TeamOutputs("ova", kept.class_logits + 20, kept.expert_logits, kept.answers, kept.labels)
    found = measure(kept)
    assert found["coverage"] == 1.0
    assert math.isnan(found["sets.missed_share.size"])
    assert found["votes.top_expert.system_accuracy"] == pytest.approx(found["class_accuracy"], abs=0.05)


def test_one_classifier_has_no_experts():
    found = measure(team("decoupled", n_experts=0), calibration=team("decoupled", n_experts=0))
    assert found["system_accuracy"] == found["class_accuracy"] == found["calibrated.system_accuracy"]
    assert found["coverage"] == 1.0
    assert math.isnan(found["ece"])
    assert math.isnan(found["best_expert"])
    assert not any(name.startswith("sets") for name in found)


def test_a_mixture_of_experts_has_no_sets():
    with pytest.raises(InputError, match="weights are no probabilities: it has no conformal sets"):
        conformal_figures(team("moe"))
    found = measure(team("moe"), calibration=team("moe"))
    assert not any(name.startswith(("sets", "votes", "calibrated")) for name in found)


def test_the_same_seed_gives_the_same_figures():
    one = team(n=300, n_experts=3)
    assert measure(one, seed=4) == measure(one, seed=4)
    assert measure(one, seed=4) != measure(one, seed=5)


def test_measuring_needs_no_torch():
    program = "import sys, defero_verma2023.measures.measure; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
