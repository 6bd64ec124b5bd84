"""Majority vote: one expert, one vote; what all votes share: the strongest voice, the model where nobody is heard."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, class_probabilities, one_of, whole_number
from defero.core.checks.experts import answer_numbers, expert_probabilities, heard_answers
from defero.core.errors import InputError
from defero.core.labels import named
from defero.core.posterior import at, first_best, tally
from defero.core.results import Answer


def strongest(answers: IntArray, heard: BoolArray, values: FloatArray, *, n_classes: int) -> FloatArray:
    """Return the largest value among those who answered each class, (n, K); 0 where nobody did.

    >>> strongest(np.array([[1, 1]]), np.array([[True, True]]), np.array([[0.5, 0.75]]), n_classes=2).tolist()
    [[0.0, 0.75]]
    """
    best = np.zeros((len(answers), n_classes))
    for j in range(answers.shape[1]):
        rows = np.flatnonzero(heard[:, j])
        cells = (rows, answers[rows, j])
        best[cells] = np.maximum(best[cells], values[rows, j])
    return best


def optional_model(value: ArrayLike | None, *, heard: BoolArray, n_classes: int) -> FloatArray | None:
    """Return the model's probabilities where given; without them somebody must be heard on each item."""
    if value is not None:
        model = class_probabilities(value)
        if model.shape != (len(heard), n_classes):
            raise InputError(f"must have shape ({len(heard)}, {n_classes}), got {model.shape}.", argument="class_proba")
        return model
    silent = np.flatnonzero(~heard.any(axis=1))
    if silent.size:
        raise InputError(
            f": nobody is heard on item {silent[0]} (no expert in the mask has answered it); "
            "pass class_proba, so that the model answers, or leave the item out.",
            argument="mask",
        )
    return None


def majority_vote(
    answers: ArrayLike,
    mask: ArrayLike,
    *,
    n_classes: int,
    expert_proba: ArrayLike | None = None,
    class_proba: ArrayLike | None = None,
    ties: Literal["confident", "smallest-label"] = "confident",
    classes: ArrayLike | None = None,
) -> Answer:
    """Return the class that most of the experts heard have answered.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers, -1 where missing.
    mask : (n, J) bool
        Whom to hear; those who have not answered are passed over.
    n_classes : int
        K.
    expert_proba : (J,) or (n, J), optional
        P(expert j is right | x), for ties.
    class_proba : (n, K), optional
        The model's P(y = k | x), for ties and for items on which nobody is heard: there the model answers.
        Without it such an item is an error.
    ties : "confident" or "smallest-label"
        "confident": the side with the more confident expert, then the class that the model finds likelier,
        then the first class; a step without its probabilities is passed over.
        "smallest-label": the first class at once.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.

    Returns
    -------
    Answer
        Its confidence is the share of the votes heard that went to the label, which is not P(the label is
        right); where nobody is heard it is the model's probability.

    Examples
    --------
    >>> answers, everybody = np.array([[0, 1, 1], [0, 1, -1]]), np.full((2, 3), True)
    >>> vote = majority_vote(answers, everybody, n_classes=2, expert_proba=[0.6, 0.9, 0.7])
    >>> vote.label.tolist(), vote.confidence.round(3).tolist()
    ([1, 1], [0.667, 0.5])
    >>> majority_vote(answers, everybody, n_classes=2, ties="smallest-label").label.tolist()
    [1, 0]
    """
    one_of("ties", ties, ("confident", "smallest-label"))
    n_classes = whole_number("n_classes", n_classes, least=1)
    answer_idx = answer_numbers(answers, n_classes=n_classes)
    heard = heard_answers(answer_idx, mask)
    model = optional_model(class_proba, heard=heard, n_classes=n_classes)
    votes = tally(answer_idx, heard, np.ones(answer_idx.shape), n_classes=n_classes)
    criteria = [votes]
    if ties == "confident" and expert_proba is not None:
        confident = expert_probabilities(expert_proba, n_items=len(answer_idx), n_experts=answer_idx.shape[1])
        criteria.append(strongest(answer_idx, heard, confident, n_classes=n_classes))
    if ties == "confident" and model is not None:
        criteria.append(model)
    label_idx = first_best(*criteria)
    confidence = at(votes, label_idx) / np.maximum(votes.sum(axis=1), 1)
    if model is not None:
        alone = ~heard.any(axis=1)
        label_idx = np.where(alone, model.argmax(axis=1), label_idx)
        confidence = np.where(alone, model.max(axis=1), confidence)
    return Answer(named(label_idx, classes, n_classes=n_classes), confidence, heard)
