"""Two specialists and eight others: what each vote makes of what is known of them. K = 10, 20,000 items."""

import numpy as np
import pytest

from defero.decide import Terms, ask_in_turn
from defero.decide.votes import bayes_vote, majority_vote, vote_discount, weighted_vote

N_CLASSES = 10


def say(rng, labels, accuracy):
    wrong = (labels + rng.integers(1, N_CLASSES, size=len(labels))) % N_CLASSES
    return np.where(rng.random(len(labels)) < accuracy, labels, wrong)


def near_clones(rng, labels, accuracy, count, *, agree=0.95):
    """Return answers (n, count) of which each two agree on a share of the items, by redrawing a few of each."""
    by_chance = accuracy**2 + (1 - accuracy) ** 2 / (N_CLASSES - 1)
    redrawn = 1 - np.sqrt((agree - by_chance) / (1 - by_chance))
    original = say(rng, labels, accuracy)
    columns = [np.where(rng.random(len(labels)) < redrawn, say(rng, labels, accuracy), original) for _ in range(count)]
    return np.stack(columns, axis=1)


def known_roughly(rng, accuracy, n_items):
    """P(right), known up to noise of 0.3 on the logit."""
    logit = np.log(accuracy) - np.log1p(-accuracy)
    return 1 / (1 + np.exp(-logit - 0.3 * rng.normal(size=(n_items, len(accuracy)))))


def posterior(rng, labels):
    """softmax(g) with g_k = 1[k = y] + N(0, 1), which is the true posterior given g."""
    g = (np.arange(N_CLASSES) == labels[:, None]) + rng.normal(size=(len(labels), N_CLASSES))
    return np.exp(g) / np.exp(g).sum(axis=1, keepdims=True)


def right(answer, labels):
    return float(np.mean(answer.label == labels))


@pytest.fixture(scope="module", params=[0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def team(request):
    rng = np.random.default_rng(request.param)
    labels = rng.integers(N_CLASSES, size=20_000)
    accuracy = np.array([0.9] * 2 + [0.35] * 8)
    answers = np.stack([say(rng, labels, one) for one in accuracy], axis=1)
    return labels, answers, known_roughly(rng, accuracy, len(labels)), posterior(rng, labels)


def test_bayes_vote_of_the_top_five(team):
    labels, answers, experts, model = team
    assert np.mean(model.argmax(axis=1) == labels) == pytest.approx(0.34, abs=0.01)
    mask = np.argsort(np.argsort(-experts, axis=1), axis=1) < 5
    bayes = right(bayes_vote(answers, mask, experts, model), labels)
    weighted = right(weighted_vote(answers, mask, experts, n_classes=N_CLASSES), labels)
    ours = right(majority_vote(answers, mask, n_classes=N_CLASSES, expert_proba=experts, class_proba=model), labels)
    first = right(majority_vote(answers, mask, n_classes=N_CLASSES, ties="smallest-label"), labels)
    assert bayes >= ours + 0.015
    assert bayes >= first + 0.05
    assert bayes > weighted > ours > first
    assert (bayes, weighted, ours, first) == pytest.approx((0.965, 0.950, 0.944, 0.902), abs=0.004)


def test_a_confidence_of_the_bayes_vote_is_the_share_right(team):
    labels, answers, experts, model = team
    vote = bayes_vote(answers, np.full(answers.shape, True), experts, model)
    assert vote.confidence.mean() == pytest.approx(right(vote, labels), abs=0.006)


def test_one_after_the_other_is_best_and_two_questions_do(team):
    labels, answers, experts, model = team
    panel = ask_in_turn(answers, experts, model, terms=Terms(fees=np.full(10, 0.01)))
    assert right(panel, labels) >= 0.965
    assert (right(panel, labels), panel.n_asked.mean()) == pytest.approx((0.972, 2.13), abs=0.01)


@pytest.mark.parametrize("clone_accuracy", [0.35, 0.6, 0.8, 0.9])
def test_five_near_clones_do_not_outvote_the_top_expert(clone_accuracy):
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=22_000)
    clones = near_clones(rng, labels, clone_accuracy, 5)
    assert np.mean(clones[:, 0] == clones[:, 1]) == pytest.approx(0.95, abs=0.005)
    answers = np.hstack([say(rng, labels, 0.9)[:, None], clones])
    experts = known_roughly(rng, np.array([0.9] + [clone_accuracy] * 5), len(labels))
    model = posterior(rng, labels)
    held, test = slice(0, 2_000), slice(2_000, None)
    discount = vote_discount(answers[held], labels[held], experts[held])
    heard = (answers[test], np.full(answers[test].shape, True), experts[test])
    top = float(np.mean(answers[test, 0] == labels[test]))
    plain = right(bayes_vote(*heard, model[test]), labels[test])
    bayes = right(bayes_vote(*heard, model[test], discount=discount), labels[test])
    weighted = right(weighted_vote(*heard, n_classes=N_CLASSES, discount=discount), labels[test])
    assert (1 / (1 + 5 * discount[1:])).sum() == pytest.approx(1.0, abs=0.4)
    assert bayes >= top - 0.01
    assert bayes > plain + 0.02
    # Without the model the vote is close to a tie between the top expert and clones at 0.8: 1.2 points are lost.
    assert weighted >= top - 0.015


def test_five_clones_among_the_eight_others():
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=22_000)
    accuracy = np.array([0.9] * 2 + [0.35] * 8)
    answers = np.stack([say(rng, labels, one) for one in accuracy], axis=1)
    answers[:, 5:] = near_clones(rng, labels, 0.35, 5)
    experts, model = known_roughly(rng, accuracy, len(labels)), posterior(rng, labels)
    held, test = slice(0, 2_000), slice(2_000, None)
    discount = vote_discount(answers[held], labels[held], experts[held])
    heard = (answers[test], np.full(answers[test].shape, True), experts[test], model[test])
    top = float(np.mean(answers[test, 0] == labels[test]))
    assert right(bayes_vote(*heard), labels[test]) < top
    assert right(bayes_vote(*heard, discount=discount), labels[test]) > top + 0.05
