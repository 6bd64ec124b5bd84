"""The votes by name, each from a ballot to an answer, and the answer of a single decider."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.labels import Labels
from defero.core.law import Law
from defero.core.registry import Registry
from defero.core.results import Answer, Decision
from defero.core.scores import Scores
from defero.decide.votes.voting import bayes_vote, majority_vote, weighted_vote


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


def _bayes(ballot: Ballot) -> Answer:
    return bayes_vote(
        ballot.answers,
        ballot.mask,
        ballot.expert_proba,
        ballot.class_proba,
        law=ballot.law,
        right=ballot.right,
        classes=ballot.classes,
        cost_matrix=ballot.cost_matrix,
    )


def _weighted(ballot: Ballot) -> Answer:
    return weighted_vote(
        ballot.answers,
        ballot.mask,
        ballot.expert_proba,
        n_classes=ballot.n_classes,
        class_proba=ballot.class_proba,
        classes=ballot.classes,
    )


def _majority(ballot: Ballot) -> Answer:
    return majority_vote(
        ballot.answers,
        ballot.mask,
        n_classes=ballot.n_classes,
        expert_proba=ballot.expert_proba,
        class_proba=ballot.class_proba,
        classes=ballot.classes,
    )


VOTES.register("bayes", Vote(_bayes, uses_skill=True))
VOTES.register("weighted", Vote(_weighted))
VOTES.register("majority", Vote(_majority))


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
