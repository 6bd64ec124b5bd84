import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score

from defero.core import Decision, InputError
from defero.judge import system_accuracy, system_labels, wilson_interval

NAMES = np.array(["ash", "birch", "cedar"], dtype=object)


@st.composite
def teams(draw, *, n_classes=3, least=1):
    """Labels, the model's labels, answers with gaps (-1), and a choice among those who answered."""
    n, n_experts = draw(st.integers(least, 20)), draw(st.integers(1, 4))
    column = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    labels, model = np.array(draw(column), int), np.array(draw(column), int)
    cell = st.integers(-1, n_classes - 1)
    row = st.lists(cell, min_size=n_experts, max_size=n_experts)
    answers = np.array(draw(st.lists(row, min_size=n, max_size=n)), int).reshape(n, n_experts)
    expert = [draw(st.sampled_from([-1, *np.flatnonzero(answers[i] >= 0).tolist()])) for i in range(n)]
    return labels, model, answers, np.array(expert, int)


def decision(expert, *, n_experts):
    n = len(expert)
    names = tuple(f"e{j}" for j in range(n_experts))
    zeros, nobody = np.zeros(n), np.full(n, -1)
    return Decision(np.asarray(expert), names, zeros, zeros, nobody, zeros)


def test_a_case_by_hand():
    labels, model = [0, 1, 2, 1], [0, 0, 0, 1]
    answers = [[1, 1], [1, -1], [0, 2], [0, -1]]
    expert = [-1, 0, 1, 0]
    assert system_labels(model, answers, expert).tolist() == [0, 1, 2, 0]
    assert system_accuracy(labels, model, answers, expert) == 0.75
    assert system_accuracy(labels, model, answers, expert, sample_weight=[1, 1, 0, 2]) == 0.5


@given(teams())
def test_labels_and_accuracy_equal_the_obvious_loop(team):
    labels, model, answers, expert = team
    slow = [model[i] if e == -1 else answers[i, e] for i, e in enumerate(expert)]
    assert system_labels(model, answers, expert).tolist() == slow
    assert system_accuracy(labels, model, answers, expert) == pytest.approx(accuracy_score(labels, slow))


@given(teams(), st.data())
def test_weights_agree_with_scikit_learn_and_whole_weights_repeat_items(team, data):
    labels, model, answers, expert = team
    weight = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels))))
    weighted = system_accuracy(labels, model, answers, expert, sample_weight=weight)
    if weight.sum() == 0:
        assert math.isnan(weighted)
        return
    said = system_labels(model, answers, expert)
    rows = np.repeat(np.arange(len(labels)), weight)
    assert weighted == pytest.approx(accuracy_score(labels, said, sample_weight=weight))
    assert weighted == pytest.approx(system_accuracy(labels[rows], model[rows], answers[rows], expert[rows]))


@given(teams(), st.randoms(use_true_random=False))
def test_the_order_of_items_and_of_experts_does_not_matter(team, random):
    labels, model, answers, expert = team
    rows, columns = list(range(len(labels))), list(range(answers.shape[1]))
    random.shuffle(rows)
    random.shuffle(columns)
    place = np.argsort(columns)
    moved = np.where(expert == -1, -1, place[expert])
    mixed = system_accuracy(labels[rows], model[rows], answers[rows][:, columns], moved[rows])
    assert mixed == pytest.approx(system_accuracy(labels, model, answers, expert))


@given(teams())
def test_names_numbers_floats_and_frames_say_the_same(team):
    labels, model, answers, expert = team
    expected = system_accuracy(labels, model, answers, expert)
    named = np.where(answers == -1, None, NAMES[answers])
    gaps = np.where(answers == -1, np.nan, answers)
    masked = np.ma.array(answers, mask=answers == -1)
    frame = pd.DataFrame(answers).mask(answers == -1).astype("Int64")
    assert system_accuracy(NAMES[labels], NAMES[model], named, expert) == expected
    assert system_accuracy(NAMES[labels].tolist(), NAMES[model].astype(str), named, expert) == expected
    for same in (gaps, masked, frame):
        assert system_accuracy(labels, model, same, expert) == expected


@given(teams())
def test_a_decision_is_taken_as_it_is(team):
    labels, model, answers, expert = team
    whole = decision(expert, n_experts=answers.shape[1])
    assert system_accuracy(labels, model, answers, whole) == system_accuracy(labels, model, answers, expert)


def test_arguments_stay_as_they_are_and_the_result_is_a_new_array():
    model, answers = np.array([0, 1]), np.array([[1], [0]])
    said = system_labels(model, answers, [-1, -1])
    said[0] = 9
    assert model.tolist() == [0, 1]
    assert system_labels(model, answers, [0, -1]).tolist() == [1, 1]
    assert model.tolist() == [0, 1]


def test_minus_one_is_an_answer_in_a_float_array():
    answers = np.array([[-1.0], [np.nan]])
    assert system_accuracy([-1, 1], [1, 1], answers, [0, -1]) == 1.0


def test_no_items_have_no_accuracy():
    assert math.isnan(system_accuracy([], [], np.empty((0, 2), int), np.empty(0, int)))


def test_no_experts_leave_the_model():
    assert system_accuracy([0, 1], [0, 0], np.empty((2, 0), int), [-1, -1]) == 0.5


SILENT = "item 1 was deferred to expert 0, who has no recorded answer there; .*available="


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: system_labels([0, 0, 0], [[-1], [-1], [-1]], [-1, 0, 0]), SILENT),
        (lambda: system_labels(["a", "a"], [[None], [None]], [-1, 0]), SILENT),
        (lambda: system_labels([0.0, 0.0], [[0.0], [np.nan]], [-1, 0]), SILENT),
        (lambda: system_labels([0, 0], [[0, 0], [0, 0]], [0, 2]), "expert must be below 2, .* got 2 for item 1"),
        (
            lambda: system_labels([0, 0], [[0], [0]], [0, -2]),
            r"expert must be -1 \(the model\) or .* got -2 for item 1",
        ),
        (lambda: system_labels([0, 0], [[0], [0]], [0.0, 1.0]), "expert must be expert numbers.* got dtype float64"),
        (lambda: system_labels([0], [[0]], [[0]]), r"expert must have one axis \(n,\)"),
        (lambda: system_labels([0, 0], [[0], [0]], [0]), "expert must have 2 items like the other arguments, got 1"),
        (lambda: system_labels([0], [[0], [0]], [0, 0]), "model_labels must have 2 items"),
        (lambda: system_labels([0, 0], [0, 0], [0, 0]), r"answers must have two axes \(n, J\)"),
        (lambda: system_labels([0], [["a"]], [0]), "answers must have the form of model_labels, got 'a' beside "),
        (lambda: system_labels([None], [["a"]], [-1]), "model_labels must be given in every row, got none"),
        (lambda: system_accuracy([0], [0, 0], [[0], [0]], [0, 0]), "labels must have 2 items"),
        (lambda: system_accuracy([0.0, np.nan], [0, 0], [[0], [0]], [0, 0]), "labels must .* got nan in row 1"),
        (lambda: system_accuracy(["a"], [0], [[0]], [0]), "labels must have the form of the labels of the team"),
        (lambda: system_accuracy([0], [0], [[0]], [0], sample_weight=[-1]), "sample_weight must be finite and not neg"),
        (lambda: system_accuracy([0], [0], [[0]], [0], sample_weight=[1, 1]), "sample_weight must have 1 items"),
        (lambda: system_accuracy([0], [0], [[0]], [0], sample_weight=["x"]), "sample_weight must be numbers"),
        (lambda: wilson_interval(3, 2), r"successes must lie in 0\.\.total, got 3 of 2"),
        (lambda: wilson_interval(-1, 2), r"successes must lie in 0\.\.total, got -1 of 2"),
        (lambda: wilson_interval(1, 2, level=95), r"level must lie in \(0, 1\), got 95; for a 95% interval pass 0.95"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


@given(st.integers(1, 500), st.data(), st.floats(0.5, 0.999))
def test_wilson_agrees_with_scipy(total, data, level):
    successes = data.draw(st.integers(0, total))
    expected = binomtest(successes, total).proportion_ci(level, method="wilson")
    low, high = wilson_interval(successes, total, level=level)
    assert (low, high) == (pytest.approx(expected.low, abs=1e-9), pytest.approx(expected.high, abs=1e-9))
    assert 0 <= low <= successes / total <= high <= 1


@given(st.integers(1, 10**9), st.data())
def test_wilson_is_symmetric_and_its_ends_are_exact(total, data):
    successes = data.draw(st.integers(0, total))
    low, high = wilson_interval(successes, total)
    mirrored = wilson_interval(total - successes, total)
    assert (1 - high, 1 - low) == (pytest.approx(mirrored[0], abs=1e-12), pytest.approx(mirrored[1], abs=1e-12))
    assert wilson_interval(0, total)[0] == 0.0
    assert wilson_interval(total, total)[1] == 1.0


def test_wilson_by_hand_without_items_and_at_extreme_levels():
    # 1 of 1 at z = 1: (1 + 1/2 - 1/2) / 2 = 1/2.
    low, high = wilson_interval(1, 1, level=math.erf(1 / math.sqrt(2)))
    assert (low, high) == (pytest.approx(0.5), 1.0)
    assert all(math.isnan(end) for end in wilson_interval(0, 0))
    low, high = wilson_interval(5, 10, level=1 - 2**-53)
    assert 0 < low < 0.5 < high < 1
