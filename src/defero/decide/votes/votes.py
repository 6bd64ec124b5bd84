"""The votes: majority, by weights, and by the law of answers; each by name, from a ballot to an answer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from defero.core.belief import at, belief_of, first_best, log_odds_weights, tally
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, class_probabilities, one_of, whole_number
from defero.core.errors import InputError
from defero.core.labels import (
    MISSING,
    Labels,
    answer_numbers,
    answers_and_model,
    expert_probabilities,
    heard_answers,
    named,
)
from defero.core.law import Law
from defero.core.registry import Registry
from defero.core.results import Answer, Decision
from defero.core.scores import Scores, softmax


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


def weighted_vote(
    answers: ArrayLike,
    mask: ArrayLike,
    expert_proba: ArrayLike,
    *,
    n_classes: int,
    class_proba: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> Answer:
    """Return the class with the largest sum of log-odds weights: the Bayes vote of a model that knows nothing.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers, -1 where missing.
    mask : (n, J) bool
        Whom to hear; those who have not answered are passed over.
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).
    n_classes : int
        K.
    class_proba : (n, K), optional
        The model's P(y = k | x): it breaks ties (then the first class wins) and answers where nobody is heard.
        Without it such an item is an error. To weigh the model as well, use `bayes_vote`.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.

    Returns
    -------
    Answer
        Its confidence is P(the label is right) before the model is asked: exp(sum of weights), normalised
        over the classes; where nobody is heard it is the model's probability.

    Examples
    --------
    >>> vote = weighted_vote([[0, 1, 1]], [[True, True, True]], [0.9, 0.6, 0.6], n_classes=2)
    >>> vote.label.tolist(), vote.confidence.round(3).tolist()  # odds 9 against 1.5 * 1.5
    ([0], [0.8])
    """
    n_classes = whole_number("n_classes", n_classes, least=1)
    answer_idx = answer_numbers(answers, n_classes=n_classes)
    heard = heard_answers(answer_idx, mask)
    proba = expert_probabilities(expert_proba, n_items=len(answer_idx), n_experts=answer_idx.shape[1])
    model = optional_model(class_proba, heard=heard, n_classes=n_classes)
    sums = tally(answer_idx, heard, log_odds_weights(proba, n_classes=n_classes), n_classes=n_classes)
    label_idx = first_best(sums) if model is None else first_best(sums, model)
    confidence = at(softmax(sums), label_idx)
    if model is not None:
        confidence = np.where(heard.any(axis=1), confidence, model.max(axis=1))
    return Answer(named(label_idx, classes, n_classes=n_classes), confidence, heard)


def bayes_vote(
    answers: ArrayLike,
    mask: ArrayLike,
    expert_proba: ArrayLike,
    class_proba: ArrayLike,
    *,
    law: Law | None = None,
    right: FloatArray | None = None,
    classes: ArrayLike | None = None,
    cost_matrix: FloatArray | None = None,
) -> Answer:
    """Return the class with the largest posterior by the law of answers.

    By default answers are independent given the truth and the item, and errors are symmetric: P(m | y, x) is p_j(x)
    for m = y and (1 - p_j(x)) / (K - 1) otherwise.

    Parameters
    ----------
    answers : (n, J) int
        Class numbers, -1 where missing.
    mask : (n, J) bool
        Whom to hear; those who have not answered are passed over.
    expert_proba : (J,) or (n, J)
        p_j(x) = P(expert j is right | x).
    class_proba : (n, K)
        eta(x), the model's P(y = k | x). Where nobody is heard the model answers.
    law : Law, optional
        How the answers to one item hang together.
    right : (n, J, K), optional
        P(expert j is right | x, y = k), used in place of p_j(x).
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.
    cost_matrix : (K, K), optional
        Return the class with the lowest expected cost instead: rows truth, columns answer.

    Returns
    -------
    Answer
        Its confidence is what the law reports of the label. A tie goes to the class that the model finds likelier,
        then to the first.

    Examples
    --------
    >>> vote = bayes_vote([[0, 1]], [[True, True]], [0.8, 0.8], [[0.25, 0.75]], classes=["benign", "malign"])
    >>> vote.label.tolist(), vote.confidence.round(3).tolist()  # the experts cancel out
    (['malign'], [0.75])
    """
    answer_idx, prior = answers_and_model(answers, class_proba)
    n_items, n_experts = answer_idx.shape
    heard = heard_answers(answer_idx, mask)
    proba = expert_probabilities(expert_proba, n_items=n_items, n_experts=n_experts)
    own = Law.independent(prior.shape[1]) if law is None else law
    evidence = belief_of(own, prior, proba, np.where(heard, answer_idx, MISSING), right)
    by_cost = () if cost_matrix is None else (-(evidence.posterior @ cost_matrix),)
    label_idx = first_best(*by_cost, evidence.log_posterior, prior)
    return Answer(named(label_idx, classes, n_classes=prior.shape[1]), at(evidence.reported, label_idx), heard)


@dataclass(frozen=True, eq=False)
class Ballot:
    """Everything that a vote may use: who is heard, what they said, and what is known of them.

    Attributes
    ----------
    answers : (n, J) int
        Class numbers, -1 where missing.
    mask : (n, J) bool
        Whom to hear; those who have not answered are passed over.
    expert_proba : (n, J)
        P(expert j is right | x).
    class_proba : (n, K)
        The model's P(y = k | x). Where nobody is heard the model answers.
    classes : (K,)
        The labels' own values, in the order of the class numbers.
    law : Law, optional
        How the answers to one item hang together.
    right : (n, J, K), optional
        P(expert is right | x, y), where the team knows it and the vote `uses_skill`.
    cost_matrix : (K, K), optional
        What errors cost (rows truth, columns answer), where they cost differently; Bayes votes use it.
    """

    answers: IntArray
    mask: BoolArray
    expert_proba: FloatArray
    class_proba: FloatArray
    classes: Labels
    law: Law | None = None
    right: FloatArray | None = None
    cost_matrix: FloatArray | None = None

    @property
    def n_classes(self) -> int:
        """K."""
        return self.class_proba.shape[1]


@dataclass(frozen=True)
class Vote:
    """How the answers of a panel become one.

    Attributes
    ----------
    count : callable
        From a `Ballot` to an `Answer`.
    uses_skill : bool
        Does it read `Ballot.right`? Only then is it computed.
    """

    count: Callable[[Ballot], Answer]
    uses_skill: bool = False


VOTES: Registry[Vote] = Registry("vote", group="defero.votes", kind=Vote)


_OF_ALL = ("answers", "mask", "expert_proba", "class_proba", "classes")


def _vote_of(vote: Callable[..., Answer], *more: str) -> Callable[[Ballot], Answer]:
    """Return a vote that takes its arguments, those of all and some more, from a ballot."""
    return lambda ballot: vote(**{name: getattr(ballot, name) for name in (*_OF_ALL, *more)})


VOTES.register("bayes", Vote(_vote_of(bayes_vote, "law", "right", "cost_matrix"), uses_skill=True))
VOTES.register("weighted", Vote(_vote_of(weighted_vote, "n_classes")))
VOTES.register("majority", Vote(_vote_of(majority_vote, "n_classes")))


def answer_of_decider(scores: Scores, decision: Decision, answer_idx: IntArray, *, classes: Labels) -> Answer:
    """Return what whoever decides says, with P(they are right).

    Parameters
    ----------
    scores : Scores of n items
    decision : Decision
        Made among experts whose answer is recorded.
    answer_idx : (n, J) class numbers, -1 where missing
    classes : (K,)

    Examples
    --------
    >>> from defero import Team
    >>> scores = Scores.from_probabilities([[0.9, 0.1], [0.5, 0.5]], [[0.8], [0.8]])
    >>> team = Team.from_probabilities(scores.class_proba, scores.expert_proba, expert_names=["ann"])
    >>> decision = team.decide()
    >>> answer = answer_of_decider(scores, decision, np.array([[1], [1]]), classes=np.array(["a", "b"], dtype=object))
    >>> answer.label.tolist(), answer.confidence.tolist(), answer.by_model.tolist()
    (['a', 'b'], [0.9, 0.8], [True, False])
    """
    rows = np.flatnonzero(decision.deferred)
    experts = decision.expert[rows]
    heard = np.zeros(answer_idx.shape, dtype=np.bool_)
    heard[rows, experts] = True
    label_idx, confidence = scores.class_idx, scores.model_proba.copy()
    label_idx[rows] = answer_idx[rows, experts]
    confidence[rows] = scores.expert_proba[rows, experts]
    if decision.p_right is not None:  # calibrated for whoever is chosen
        confidence = decision.p_right
    return Answer(classes[label_idx], confidence, heard)
