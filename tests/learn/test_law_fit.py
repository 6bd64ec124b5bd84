"""The fitted law: what was simulated is found, what is independent stays so, copies are people who answer as one."""

from dataclasses import replace

import numpy as np
import pytest

from defero.core.belief import Belief
from defero.core.law import Law, uniform_errors
from defero.core.scores import sigmoid
from defero.learn.law import MOST_ITEMS, KnownAnswers, find_copies, fit_law, gain_of_several, pooled_errors

J = 6


def known(labels, said, right, *, class_proba=None, n_classes=3):
    """Return the answers (n, J), -1 where there is none, with P(right), (n, J) or (n, J, K)."""
    item, expert = np.nonzero(said >= 0)
    proba = np.full((len(labels), n_classes), 1 / n_classes) if class_proba is None else class_proba
    p = right[item, expert]
    return KnownAnswers(proba, labels, item, expert, said[item, expert], p if p.ndim == 2 else p[:, None])


def simulated(seed, *, n=4_000, n_classes=3, difficulty=0.0, decoy=0.0, share=1.0):
    """Draw from the law itself: P(right) of each expert differs by item and class."""
    rng = np.random.default_rng(seed)
    law = Law(uniform_errors(n_classes), difficulty=difficulty, decoy=decoy)
    labels, right = rng.integers(n_classes, size=n), rng.uniform(0.45, 0.95, (n, J, n_classes))
    shift, weight = law.nodes
    node = rng.choice(len(shift), n, p=weight)
    p = sigmoid(law.at_nodes(right))[np.arange(n), :, labels, node]
    others = np.stack([(labels + step) % n_classes for step in range(1, n_classes)], axis=1)
    near = others[np.arange(n), rng.integers(n_classes - 1, size=n)]
    far = others[np.arange(n)[:, None], rng.integers(n_classes - 1, size=(n, J))]
    wrong = np.where(rng.random((n, J)) < decoy, near[:, None], far)
    said = np.where(rng.random((n, J)) < p, labels[:, None], wrong)
    said[rng.random((n, J)) > share] = -1
    return known(labels, said, right, n_classes=n_classes)


@pytest.mark.parametrize("difficulty", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("decoy", [0.0, 0.5])
def test_a_simulated_law_is_found(difficulty, decoy):
    law = fit_law(simulated(3, difficulty=difficulty, decoy=decoy))
    assert law.difficulty == pytest.approx(difficulty, abs=0.15 if difficulty else 0.25)
    assert law.decoy**2 == pytest.approx(decoy**2, abs=0.035)  # by c^2 more of the wrong answers agree
    assert law.temper <= 0.1  # the law holds: nothing is left to temper
    np.testing.assert_allclose(law.errors, uniform_errors(3), atol=0.05)
    np.testing.assert_allclose(law.prior, 1 / 3, atol=0.03)


@pytest.mark.parametrize("lean", [0.0, 0.5, 1.2])
def test_the_lean_of_wrong_answers_is_found(lean):
    rng = np.random.default_rng(0)
    n, proba = 2_000, rng.dirichlet(np.ones(4), 2_000)
    labels = (proba.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    wrong = (1 - np.eye(4))[labels] * proba**lean
    wrong = wrong.cumsum(axis=1) / wrong.sum(axis=1, keepdims=True)
    errors = (wrong[:, None] < rng.random((n, J, 1))).sum(axis=2)
    said = np.where(rng.random((n, J)) < 0.6, labels[:, None], errors)
    law = fit_law(known(labels, said, np.full((n, J), 0.6), class_proba=proba, n_classes=4))
    assert law.lean == pytest.approx(lean, abs=0.12)
    assert law.decoy <= 0.1


def test_who_looks_best_is_trusted_as_far_as_they_were_right():
    """Everybody is right on 70 %; what is said of each is off by chance, and the best of six is off the most."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=2_000)
    said = np.where(rng.random((2_000, J)) < 0.7, labels[:, None], 1 - labels[:, None])
    noisy = sigmoid(np.log(0.7 / 0.3) + 0.8 * rng.normal(size=(2_000, J)))
    law = fit_law(known(labels, said, noisy, n_classes=2))
    assert law.trust < 0.6
    best = law.when_asked(noisy.max(axis=1))
    assert best.mean() == pytest.approx(0.7, abs=0.03)
    assert fit_law(known(labels, said, np.full((2_000, J), 0.7), n_classes=2)).trust > 0.9


@pytest.mark.parametrize("difficulty", [0.0, 1.5])
def test_two_classes_have_no_decoy(difficulty):
    law = fit_law(simulated(0, n_classes=2, difficulty=difficulty, share=0.6))
    assert law.difficulty == pytest.approx(difficulty, abs=0.25)
    assert law.decoy == 0


def test_where_the_law_does_not_hold_reports_are_tempered():
    """Half of the answers repeat the first person's: what is reported of all answers is as honest as it can be."""
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=3_000)
    own = np.where(rng.random((3_000, J)) < 0.75, labels[:, None], 1 - labels[:, None])
    said = np.where(rng.random((3_000, J)) < 0.5, own[:, :1], own)
    half = known(labels[:1_500], said[:1_500], np.full((1_500, J), 0.75), n_classes=2)
    law = fit_law(half)
    new = Belief(law, np.full((1_500, 2), 0.5), np.full((1_500, J, 1), 0.75), said[1_500:])
    kept = np.mean(new.posterior.argmax(axis=1) == labels[1_500:])
    alone = Belief(Law.independent(2), new.class_proba, new.right, new.answer_idx)
    assert alone.posterior.max(axis=1).mean() > kept + 0.05
    assert new.reported.max(axis=1).mean() == pytest.approx(kept, abs=0.03)
    first = new.take(slice(None), np.where(np.arange(J) == 0, new.answer_idx, -1))
    assert first.reported.max(axis=1).mean() == pytest.approx(0.75, abs=0.02)  # the first answer counts in full


def test_a_model_whom_people_repeat_counts_among_the_answers():
    """Two people who mostly say what the model says."""
    rng = np.random.default_rng(1)
    labels = rng.integers(2, size=4_000)
    model = np.where(rng.random(4_000) < 0.75, labels, 1 - labels)
    said = np.where(rng.random((4_000, 2)) < 0.8, model[:, None], labels[:, None])
    proba, right = np.where(model[:, None] == np.arange(2), 0.75, 0.25), np.full((4_000, 2), 0.8)
    follows = fit_law(known(labels, said, right, class_proba=proba, n_classes=2))
    assert follows.temper > 0
    assert follows.model_counts > 0


def test_too_few_shared_items_are_taken_for_independent():
    law = fit_law(simulated(0, n=19, difficulty=2.0, decoy=0.5))
    assert (law.difficulty, law.decoy, law.temper, law.model_counts) == (0, 0, 0, 0)
    alone = simulated(0, n=200, difficulty=2.0)
    first = alone.take(np.flatnonzero(alone.expert_idx == 0))
    assert fit_law(first).difficulty == 0
    nobody = fit_law(first.take(np.arange(0)))
    np.testing.assert_array_equal(nobody.errors, uniform_errors(3))


def test_of_many_items_a_part_is_looked_at():
    assert fit_law(simulated(0, n=MOST_ITEMS + 2_000, difficulty=1.0)).difficulty == pytest.approx(1.0, abs=0.15)


def test_errors_by_hand_an_item_counts_once():
    labels = np.array([0, 0, 0, 1, 2])
    said = np.array([[1, -1], [1, -1], [0, -1], [2, 2], [0, -1]])
    found = pooled_errors(known(labels, said, np.full((5, 2), 0.5)))
    np.testing.assert_allclose(found, [[0, 3 / 4, 1 / 4], [1 / 3, 0, 2 / 3], [2 / 3, 1 / 3, 0]])
    two = pooled_errors(known(labels % 2, said % 3 % 2, np.full((5, 2), 0.5), n_classes=2))
    assert two.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def people(copies, *, n=600, skill=0.7, common=0.0, n_classes=3, seed=0):
    """Five people; `copies` (a, b): b says what a says. Of the others' answers some repeat a common source."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_classes, size=n)

    def own(shape):
        wrong = (labels.reshape(-1, *[1] * (len(shape) - 1)) + rng.integers(1, n_classes, size=shape)) % n_classes
        return np.where(rng.random(shape) < skill, labels.reshape(-1, *[1] * (len(shape) - 1)), wrong)

    said = np.where(rng.random((n, 5)) < common, own((n,))[:, None], own((n, 5)))
    for a, b in copies:
        said[:, b] = said[:, a]
    return labels, said


def test_copies_are_found():
    labels, said = people([(0, 3), (1, 4)])
    copies = find_copies(known(labels, said, np.full(said.shape, 0.7)), 5)
    assert copies.tolist() == [0, 1, 2, 0, 1]
    slips = said.copy()
    slips[::25, 3] = labels[::25]  # now and then the copy is right by itself
    assert find_copies(known(labels, slips, np.full(said.shape, 0.7)), 5).tolist() == [0, 1, 2, 0, 1]


def test_people_who_share_half_of_their_mistakes_are_no_copies():
    labels, said = people([], common=0.75)
    wrong = said != labels[:, None]
    either = wrong[:, 0] | wrong[:, 1]
    assert 0.4 < (said[either, 0] == said[either, 1]).mean() < 0.85
    assert find_copies(known(labels, said, np.full(said.shape, 0.7)), 5) is None
    assert find_copies(known(*people([]), np.full(said.shape, 0.7)), 5) is None


def test_good_people_agree_and_are_no_copies():
    labels, said = people([], skill=0.98)
    assert find_copies(known(labels, said, np.full(said.shape, 0.98)), 5) is None


def test_copies_need_twenty_items_and_five_errors_in_common():
    labels, said = people([(0, 3)], n=60)
    for n_common, found in ((19, False), (30, True)):
        apart = said.copy()
        apart[n_common:, 3] = -1
        copies = find_copies(known(labels, apart, np.full(said.shape, 0.7)), 5)
        assert (copies is not None) == found
    hardly_wrong = np.where(np.arange(60)[:, None] < 4, (labels[:, None] + 1) % 3, labels[:, None]) + np.zeros(
        (1, 2), int
    )
    assert find_copies(known(labels, hardly_wrong, np.full((60, 2), 0.9)), 2) is None


def test_a_law_of_copies_counts_them_once():
    labels, said = people([(0, 3), (0, 4)], n=2_000, n_classes=2)
    answers = known(labels, said, np.full(said.shape, 0.7), n_classes=2)
    blind, told = fit_law(answers), fit_law(answers, copies=find_copies(answers, 5))
    assert told.difficulty < 0.4 < blind.difficulty
    assert told.copies.tolist() == [0, 1, 2, 0, 0]


def test_what_all_answers_gained_over_the_model():
    labels, said = people([], n=400, skill=0.9)
    proba = np.full((400, 3), 0.2)
    proba[np.arange(400), np.where(np.arange(400) % 2 == 0, labels, (labels + 1) % 3)] = 0.6  # half of them right
    answers = known(labels, said, np.full(said.shape, 0.9), class_proba=proba)
    gain = gain_of_several(answers, Law.independent(3))
    assert gain.mean == pytest.approx(0.5, abs=0.05)
    assert gain.asks
    misled = replace(answers, codes=(answers.codes + 1) % 3)
    assert not gain_of_several(misled, Law.independent(3)).asks
    assert gain_of_several(answers.take(np.arange(0)), Law.independent(3)) is None
