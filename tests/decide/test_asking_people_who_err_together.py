"""Twelve good people who find the same cases hard, and a poor model: the law knows how much more they can tell."""

import numpy as np
import pytest

from defero.decide import ask_in_turn
from defero.decide.terms import Terms
from defero.learn.law import KnownAnswers, fit_law

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


def test_it_asks_and_is_right_as_often_as_it_says(team):
    labels, answers, experts, model = team
    past, new = slice(0, N_PAST), slice(N_PAST, None)
    item, expert = (one.ravel() for one in np.indices((N_PAST, N_EXPERTS)))
    right = experts[expert][:, None]
    law = fit_law(KnownAnswers(model[past], labels[past], item, expert, answers[past].ravel(), right))
    assert law.difficulty == pytest.approx(2.0, abs=0.3)
    assert law.decoy == pytest.approx(0.5, abs=0.1)

    def asked(law, **more):
        terms = Terms(fees=[0.01] * N_EXPERTS)
        settled = ask_in_turn(answers[new], experts, model[new], terms=terms, law=law, **more)
        errors = settled.label != labels[new]
        return 1 - errors.mean(), settled.confidence.mean(), errors.mean() + settled.fees.mean()

    alone, kept = asked(None), asked(law)
    assert alone[1] > alone[0] + 0.03  # independent answers promise too much
    assert kept[1] == pytest.approx(kept[0], abs=0.02)
    assert kept[2] < alone[2] + 0.001  # errors and fees together
    assert kept[0] > (answers[new] == labels[new, None]).mean(axis=0).max() + 0.03
    assert asked(law, max_questions=1)[0] > 0.75
