import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vote_panels import panels

from defero.core import InputError
from defero.decide.votes import majority_vote

EVERYBODY = np.full((1, 4), True)


def slow_majority(answers, mask, experts, model, *, ties):
    """The rule, in words: one item, one class at a time."""
    labels, shares = [], []
    for row, said in enumerate(answers):
        votes = [(m, p) for m, asked, p in zip(said, mask[row], experts[row], strict=True) if asked and m >= 0]
        if not votes:
            labels.append(int(np.argmax(model[row])))
            shares.append(max(model[row]))
            continue
        counts = [sum(m == k for m, _ in votes) for k in range(len(model[row]))]
        sides = [k for k, count in enumerate(counts) if count == max(counts)]
        if ties == "confident":
            boldest = {k: max(p for m, p in votes if m == k) for k in sides}
            sides = [k for k in sides if boldest[k] == max(boldest.values())]
            likeliest = max(model[row][k] for k in sides)
            sides = [k for k in sides if model[row][k] == likeliest]
        labels.append(sides[0])
        shares.append(max(counts) / len(votes))
    return labels, shares


@pytest.mark.parametrize("ties", ["confident", "smallest-label"])
@given(panels())
def test_the_slow_twin_agrees(ties, panel):
    answers, mask, experts, model = panel
    vote = majority_vote(answers, mask, n_classes=model.shape[1], expert_proba=experts, class_proba=model, ties=ties)
    labels, shares = slow_majority(*panel, ties=ties)
    assert vote.label.tolist() == labels
    assert vote.confidence.tolist() == pytest.approx(shares)
    assert np.array_equal(vote.heard, mask & (answers >= 0))


@given(panels(fewest_experts=1), st.randoms(use_true_random=False))
def test_permuting_experts_changes_nothing(panel, random):
    answers, mask, experts, model = panel
    order = list(range(answers.shape[1]))
    random.shuffle(order)
    plain = majority_vote(answers, mask, n_classes=model.shape[1], expert_proba=experts, class_proba=model)
    permuted = majority_vote(
        answers[:, order], mask[:, order], n_classes=model.shape[1], expert_proba=experts[:, order], class_proba=model
    )
    assert np.array_equal(permuted.label, plain.label)
    assert np.array_equal(permuted.confidence, plain.confidence)
    assert np.array_equal(permuted.heard, plain.heard[:, order])


def test_ties_fall_to_the_confident_then_the_model_then_the_first():
    answers = np.array([[2, 2, 1, 1]])
    vote = majority_vote(answers, EVERYBODY, n_classes=3, expert_proba=[0.6, 0.8, 0.7, 0.7])
    assert vote.label.tolist() == [2]
    assert vote.confidence.tolist() == [0.5]
    alike = {"n_classes": 3, "expert_proba": [0.6, 0.8, 0.8, 0.7]}
    assert majority_vote(answers, EVERYBODY, class_proba=[[0.5, 0.2, 0.3]], **alike).label.tolist() == [2]
    assert majority_vote(answers, EVERYBODY, class_proba=[[0.5, 0.25, 0.25]], **alike).label.tolist() == [1]
    assert majority_vote(answers, EVERYBODY, **alike).label.tolist() == [1]
    assert majority_vote(answers, EVERYBODY, n_classes=3).label.tolist() == [1]


def test_the_smallest_label_wins_ties_whatever_else_is_known():
    vote = majority_vote(
        [[2, 2, 1, 1]],
        EVERYBODY,
        n_classes=3,
        expert_proba=[0.9, 0.9, 0.1, 0.1],
        class_proba=[[0.0, 0.0, 1.0]],
        ties="smallest-label",
    )
    assert vote.label.tolist() == [1]


def test_a_plain_majority_needs_no_tie_rule():
    vote = majority_vote([[0, 1, 1, -1]], EVERYBODY, n_classes=2, expert_proba=[1.0, 0.1, 0.1, 1.0])
    assert vote.label.tolist() == [1]
    assert vote.confidence.tolist() == pytest.approx([2 / 3])
    assert vote.heard.tolist() == [[True, True, True, False]]


def test_labels_come_in_their_own_type():
    vote = majority_vote([[1]], [[True]], n_classes=2, classes=["benign", "malign"])
    assert vote.label.tolist() == ["malign"]


@pytest.mark.parametrize("ties", ["confident", "smallest-label"])
def test_where_nobody_is_heard_the_model_answers(ties):
    answers, mask = np.array([[0, 1], [-1, 0]]), np.array([[False, False], [True, False]])
    model = [[0.25, 0.75], [0.125, 0.875]]
    vote = majority_vote(answers, mask, n_classes=2, class_proba=model, ties=ties)
    assert vote.label.tolist() == [1, 1]
    assert vote.confidence.tolist() == [0.75, 0.875]
    assert vote.by_model.all()
    nobody = majority_vote(np.empty((2, 0), int), np.empty((2, 0), bool), n_classes=2, class_proba=model, ties=ties)
    assert nobody.label.tolist() == [1, 1]


def test_no_items_are_no_answers():
    assert len(majority_vote(np.empty((0, 3), int), np.empty((0, 3), bool), n_classes=2)) == 0


def test_nothing_is_written_into_the_arguments():
    answers, mask = np.array([[0, 1]]), np.array([[True, True]])
    majority_vote(answers, mask, n_classes=2)
    assert answers.tolist() == [[0, 1]]
    assert mask.all()
    assert answers.flags.writeable


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mask": [[True, True], [False, True]]}, r"nobody is heard on item 1 .* pass class_proba"),
        ({"mask": [[True, True]]}, r"mask must have shape \(2, 2\) of answers, got \(1, 2\)"),
        ({"mask": [[1, 1], [1, 1]]}, "mask must be True or False for each answer, got dtype int64"),
        ({"answers": [0, 1]}, r"answers must have two axes \(n, J\), one column per expert, got shape \(2,\)"),
        ({"answers": [["a", "b"]] * 2}, "answers must be class numbers, -1 where missing, got dtype <U1; encode"),
        ({"answers": [[0.0, np.nan]] * 2}, "answers must be class numbers, -1 where missing, got dtype float64"),
        ({"answers": [[0, 1], [0, 3]]}, r"class numbers 0..2, or -1 where missing, got 3 at row 1, column 1"),
        ({"answers": [[-2, 1], [0, 2]]}, "or -1 where missing, got -2 at row 0, column 0"),
        ({"n_classes": 0}, "n_classes must be a whole number of at least 1, got 0"),
        ({"n_classes": 2.5}, "n_classes must be a whole number of at least 1, got 2.5"),
        ({"ties": "coin"}, "ties must be one of confident, smallest-label, got 'coin'"),
        ({"expert_proba": [0.5, 1.5]}, r"expert_proba must lie in \[0, 1\], got 1.5 at row 0, column 1"),
        ({"expert_proba": [0.5, np.nan]}, "expert_proba must be finite, got nan"),
        ({"expert_proba": [0.5]}, r"expert_proba must have shape \(2,\) or \(2, 2\)"),
        ({"class_proba": [[0.5, 0.5]] * 2}, r"class_proba must have shape \(2, 3\), got \(2, 2\)"),
        ({"class_proba": [[0.5, 0.5, 0.5]] * 2}, "class_proba must sum to 1 in each row, got 1.5 for item 0"),
        ({"class_proba": np.empty((2, 0))}, "class_proba must have at least one class, got no column"),
        ({"classes": ["a", "b"]}, "classes must be 3 labels, one per class number, got 2"),
    ],
)
def test_what_is_wrong_is_said(changed, message):
    good = {"answers": [[0, 1], [2, -1]], "mask": np.full((2, 2), True), "n_classes": 3, "expert_proba": [0.5, 0.6]}
    arguments = good | changed
    with pytest.raises(InputError, match=message):
        majority_vote(arguments.pop("answers"), arguments.pop("mask"), **arguments)
