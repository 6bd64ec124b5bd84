import numpy as np
import pytest
from hypothesis import given
from vote_panels import panels

from defero.core import InputError
from defero.decide.votes import ConfusionMatrices, bayes_vote


@given(panels())
def test_the_slow_twin_agrees(panel):
    answers, _, _, model = panel
    labels, k = model.argmax(axis=1), model.shape[1]
    found = ConfusionMatrices.fit(answers, labels, k, prior=3.0, min_per_class=1)
    for j in range(answers.shape[1]):
        pairs = [(y, m) for y, m in zip(labels, answers[:, j], strict=True) if m >= 0]
        accuracy = (sum(y == m for y, m in pairs) + 1) / (len(pairs) + 2)
        per_class = [sum(y == k_ for y, _ in pairs) for k_ in range(k)]
        assert found.enough[j] == (min(per_class) >= 1)
        for y in range(k):
            for m in range(k):
                centre = 1.0 if k == 1 else accuracy if y == m else (1 - accuracy) / (k - 1)
                expected = (pairs.count((y, m)) + 3 * centre) / (per_class[y] + 3)
                assert found.proba[j, y, m] == pytest.approx(expected)


def test_with_no_answers_the_prior_stands():
    found = ConfusionMatrices.fit(np.full((5, 1), -1), np.zeros(5, int), 3)
    assert found.proba[0] == pytest.approx(np.where(np.eye(3), 0.5, 0.25))
    assert found.enough.tolist() == [False]


def test_thirty_answers_in_each_class_are_enough():
    labels = np.repeat([0, 1], [30, 30])
    answers = np.stack([labels, labels, labels], axis=1)
    answers[0, 1] = -1
    answers[59, 2] = 0  # an error is an answer
    assert ConfusionMatrices.fit(answers, labels, 2).enough.tolist() == [True, False, True]


def test_an_expert_without_enough_data_is_heard_by_their_probability():
    matrices = ConfusionMatrices(np.array([[[0.1, 0.9], [0.9, 0.1]]] * 2), [True, False])
    answers, mask, flat = [[0, -1], [-1, 0]], np.full((2, 2), True), np.full((2, 2), 0.5)
    vote = bayes_vote(answers, mask, [0.8, 0.8], flat, confusion=matrices)
    assert vote.label.tolist() == [1, 0]
    assert vote.confidence.tolist() == pytest.approx([0.9, 0.8])


def test_who_mistakes_one_class_for_another_is_understood():
    """Three experts take half of class 1 for class 2, and are right otherwise: matrices find class 1 again."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=20_000)
    answers = np.where((labels == 1)[:, None] & (rng.random((20_000, 3)) < 0.5), 2, labels[:, None])
    held, test = slice(0, 2_000), slice(2_000, None)
    matrices = ConfusionMatrices.fit(answers[held], labels[held], 3)
    rest = (answers[test], np.full((18_000, 3), True), (answers == labels[:, None]).mean(axis=0))
    flat = np.full((18_000, 3), 1 / 3)
    plain = np.mean(bayes_vote(*rest, flat).label == labels[test])
    informed = np.mean(bayes_vote(*rest, flat, confusion=matrices).label == labels[test])
    # Symmetric: class 1 is lost where two of three take it for 2 (1/2). Matrices: only where all three do (1/8).
    assert plain == pytest.approx(1 - 1 / 6, abs=0.01)
    assert informed == pytest.approx(1 - 1 / 24, abs=0.01)


def test_matrices_cannot_be_changed():
    found = ConfusionMatrices.fit([[0]], [0], 2)
    with pytest.raises(ValueError, match="read-only"):
        found.proba[0, 0, 0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([[0]], [0], 2), {"prior": 0.0}, "prior must be a number of answers above 0, got 0.0"),
        (([[0]], [0], 2), {"prior": np.nan}, "prior must be a number of answers above 0, got nan"),
        (([[0]], [2], 2), {}, r"labels must lie in 0..1, got 2"),
        (([[0]], [-1], 2), {}, "labels must .*, got -1 for item 0"),
        (([[0]], ["a"], 2), {}, "labels must be whole numbers, got dtype <U1; encode"),
        (([[0]], [0, 1], 2), {}, r"labels must have 1 items .*, got 2"),
        (([[2]], [0], 2), {}, r"answers must be class numbers 0..1"),
    ],
)
def test_what_is_wrong_in_fit_is_said(arguments, options, message):
    with pytest.raises(InputError, match=message):
        ConfusionMatrices.fit(*arguments, **options)


@pytest.mark.parametrize(
    ("proba", "enough", "message"),
    [
        (np.full((1, 2, 3), 0.5), [True], r"proba must have shape \(J, K, K\), got \(1, 2, 3\)"),
        (np.full((1, 2, 2), 0.4), [True], "proba must be above 0 and add up to 1"),
        (np.eye(2)[None], [True], "proba must be above 0 and add up to 1"),
        (np.full((1, 2, 2), 0.5), [1], r"enough must be \(1,\) True or False, got \(1,\) of int64"),
    ],
)
def test_what_is_no_matrix_is_said(proba, enough, message):
    with pytest.raises(InputError, match=message):
        ConfusionMatrices(proba, enough)
