"""Bayes vote: the model's posterior, updated by each answer heard."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.checks.experts import answers_and_model, heard_answers
from defero.core.errors import InputError
from defero.core.labels import named
from defero.core.posterior import EPS, AnswerLaw, ClassSkill, answer_shares, at, first_best
from defero.core.results import Answer
from defero.core.scores import softmax
from defero.decide.votes.confusion import ConfusionMatrices


def bayes_vote(
    answers: ArrayLike,
    mask: ArrayLike,
    expert_proba: ArrayLike,
    class_proba: ArrayLike,
    *,
    skill: ClassSkill | None = None,
    confusion: ConfusionMatrices | None = None,
    discount: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    cost_matrix: FloatArray | None = None,
    eps: float = EPS,
) -> Answer:
    """Return the class with the largest posterior, log eta_y(x) + sum_j w_j log P(m_j | y, x).

    By default errors are symmetric: P(m | y, x) is p_j(x) for m = y and (1 - p_j(x)) / (K - 1) otherwise.
    The sum over experts takes their answers for independent given the truth and the item.

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
    skill : ClassSkill, optional
        P(m | y, x) by item and class, used in place of p_j(x).
    confusion : ConfusionMatrices, optional
        P(m | y) of the experts with enough data, used in place of both: it knows the class, not the item.
    discount : (J,), optional
        r_j in [0, 1] from `vote_discount`, for experts who err together: w_j = 1 / (1 + (n - 1) r_j) where n are
        heard, so that a single answer counts in full. By default w_j = 1.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.
    cost_matrix : (K, K), optional
        Return the class with the lowest expected cost instead: rows truth, columns answer.
    eps : float
        Both kinds of probability are clipped to [eps, 1 - eps], so that no 0 is a veto.

    Returns
    -------
    Answer
        Its confidence is the posterior of the label. A tie goes to the class that the model finds likelier,
        then to the first.

    Examples
    --------
    >>> vote = bayes_vote([[0, 1]], [[True, True]], [0.8, 0.8], [[0.25, 0.75]], classes=["benign", "malign"])
    >>> vote.label.tolist(), vote.confidence.round(3).tolist()  # the experts cancel out
    (['malign'], [0.75])
    """
    answer_idx, prior = answers_and_model(answers, class_proba)
    n_experts, n_classes = answer_idx.shape[1], prior.shape[1]
    heard = heard_answers(answer_idx, mask)
    shape = {"n_items": len(answer_idx), "n_experts": n_experts, "n_classes": n_classes}
    law = AnswerLaw.of(expert_proba, **shape, skill=skill, discount=discount, eps=eps)
    known = _known(confusion, n_experts=n_experts, n_classes=n_classes)
    log_posterior = np.log(np.clip(prior, law.eps, 1 - law.eps)) + law.evidence(answer_idx, heard, left_out=known)
    if confusion is not None:
        log_posterior += _confusion_evidence(answer_idx, heard, confusion, law.discount)
    by_cost = () if cost_matrix is None else (-(softmax(log_posterior) @ cost_matrix),)
    label_idx = first_best(*by_cost, log_posterior, prior)
    # Nobody heard: the model's own number, not the clipped one.
    posterior = np.where(heard.any(axis=1, keepdims=True), softmax(log_posterior), prior)
    return Answer(named(label_idx, classes, n_classes=n_classes), at(posterior, label_idx), heard)


def _known(confusion: ConfusionMatrices | None, *, n_experts: int, n_classes: int) -> BoolArray:
    """Return whose errors are taken from their confusion matrix, (J,)."""
    if confusion is None:
        return np.zeros(n_experts, dtype=np.bool_)
    if (confusion.n_experts, confusion.n_classes) != (n_experts, n_classes):
        raise InputError(
            f"must be of {n_experts} experts and {n_classes} classes, "
            f"got {confusion.n_experts} and {confusion.n_classes}.",
            argument="confusion",
        )
    return confusion.enough


def _confusion_evidence(
    answers: IntArray, heard: BoolArray, confusion: ConfusionMatrices, discount: FloatArray
) -> FloatArray:
    """Return sum_j w_j log P(m_j | y) over the experts heard whose matrix is known, (n, K)."""
    evidence, shares = np.zeros((len(answers), confusion.n_classes)), answer_shares(discount, heard)
    for j in np.flatnonzero(confusion.enough):
        rows = np.flatnonzero(heard[:, j])
        evidence[rows] += shares[rows, j, None] * np.log(confusion.proba[j]).T[answers[rows, j]]
    return evidence
