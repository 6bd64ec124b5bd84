"""Two specialists and eight others: what each vote makes of what is known of them. K = 10, 20,000 items."""

import numpy as np
import pytest

from defero.decide import Terms, ask_in_turn
from defero.decide.votes import bayes_vote, majority_vote, weighted_vote
from defero.learn.law import KnownAnswers, find_copies, fit_law

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


def law_of(answers, labels, experts, model):
    """Fit the law, copies included, on items whose label is known."""
    item, expert = (one.ravel() for one in np.indices(answers.shape))
    known = KnownAnswers(model, labels, item, expert, answers.ravel(), experts[item, expert][:, None])
    return fit_law(known, copies=find_copies(known, answers.shape[1]))


@pytest.mark.parametrize("clone_accuracy", [0.35, 0.6, 0.8, 0.9])
def test_five_near_clones_do_not_outvote_the_top_expert(clone_accuracy):
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=12_000)
    clones = near_clones(rng, labels, clone_accuracy, 5)
    assert np.mean(clones[:, 0] == clones[:, 1]) == pytest.approx(0.95, abs=0.007)
    answers = np.hstack([say(rng, labels, 0.9)[:, None], clones])
    experts = known_roughly(rng, np.array([0.9] + [clone_accuracy] * 5), len(labels))
    model = posterior(rng, labels)
    held, test = slice(0, 2_000), slice(2_000, None)
    law = law_of(answers[held], labels[held], experts[held], model[held])
    heard = (answers[test], np.full(answers[test].shape, True), experts[test])
    top = float(np.mean(answers[test, 0] == labels[test]))
    plain = right(bayes_vote(*heard, model[test]), labels[test])
    bayes = bayes_vote(*heard, model[test], law=law)
    assert right(bayes, labels[test]) >= top - 0.01
    assert right(bayes, labels[test]) > plain + 0.02
    assert bayes.confidence.mean() == pytest.approx(right(bayes, labels[test]), abs=0.05)
