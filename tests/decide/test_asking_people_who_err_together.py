"""Twelve good people who find the same cases hard, and a poor model: the discount must not silence the first answer."""

import numpy as np
import pytest

from defero.decide import ask_in_turn
from defero.decide.terms import Terms
from defero.decide.votes import vote_discount

N_CLASSES, N_EXPERTS, N_PAST = 20, 12, 2_000


@pytest.fixture(scope="module")
def team():
    """Return labels, answers, accuracies and the probabilities of a model that is right on 29 %."""
    rng = np.random.default_rng(0)
    labels, difficulty = rng.integers(N_CLASSES, size=6_000), rng.normal(size=6_000)
    right = 1 / (1 + np.exp(2.0 * difficulty[:, None] - 2.2 - 0.5 * rng.normal(size=N_EXPERTS)))
    tempting = (labels + rng.integers(1, N_CLASSES, size=6_000)) % N_CLASSES
    wrong = (labels[:, None] + rng.integers(1, N_CLASSES, size=right.shape)) % N_CLASSES
    wrong = np.where(rng.random(right.shape) < 0.5, tempting[:, None], wrong)
    answers = np.where(rng.random(right.shape) < right, labels[:, None], wrong)
    logits = rng.normal(size=(6_000, N_CLASSES))
    logits[np.arange(6_000), labels] += 1.2
    model = np.exp(1.2 * logits)
    return labels, answers, right.mean(axis=0), model / model.sum(axis=1, keepdims=True)


def test_it_asks_and_is_right_more_often_than_one_expert_or_than_without_the_discount(team):
    labels, answers, experts, model = team
    past, new = slice(0, N_PAST), slice(N_PAST, None)
    discount = vote_discount(answers[past], labels[past], experts)
    assert discount.mean() == pytest.approx(0.35, abs=0.03)

    def asked(discount):
        settled = ask_in_turn(
            answers[new], experts, model[new], terms=Terms(fees=[0.01] * N_EXPERTS), discount=discount
        )
        share_right = float(np.mean(settled.label == labels[new]))
        return share_right, settled.n_asked.mean(), settled.confidence.mean()

    alone, kept = asked(None), asked(discount)
    assert alone == pytest.approx((0.945, 2.07, 0.993), abs=0.005)
    assert kept == pytest.approx((0.952, 1.91, 0.959), abs=0.005)
    # Where the first answer was discounted as one of twelve it counted like a coin: 71 % right, below every person.
    assert kept[0] > (answers[new] == labels[new, None]).mean(axis=0).max() + 0.05
    one_only = ask_in_turn(answers[new], experts, model[new], discount=discount, max_questions=1)
    assert np.mean(one_only.label == labels[new]) > 0.75
