"""Weighted vote: each vote counts by how likely its expert is right."""

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import whole_number
from defero.core.checks.experts import answer_numbers, expert_probabilities, heard_answers
from defero.core.labels import named
from defero.core.posterior import EPS, answer_shares, at, clip_width, discounts, first_best, log_odds_weights, tally
from defero.core.results import Answer
from defero.core.scores import softmax
from defero.decide.votes.majority import optional_model


def weighted_vote(
    answers: ArrayLike,
    mask: ArrayLike,
    expert_proba: ArrayLike,
    *,
    n_classes: int,
    class_proba: ArrayLike | None = None,
    discount: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    eps: float = EPS,
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
    discount : (J,), optional
        From `vote_discount`, in [0, 1], for experts who err together: see `bayes_vote`.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.
    eps : float
        expert_proba is clipped to [eps, 1 - eps].

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
    weights = log_odds_weights(proba, n_classes=n_classes, eps=clip_width(eps))
    shares = answer_shares(discounts(discount, n_experts=answer_idx.shape[1]), heard)
    sums = tally(answer_idx, heard, weights * shares, n_classes=n_classes)
    label_idx = first_best(sums) if model is None else first_best(sums, model)
    confidence = at(softmax(sums), label_idx)
    if model is not None:
        confidence = np.where(heard.any(axis=1), confidence, model.max(axis=1))
    return Answer(named(label_idx, classes, n_classes=n_classes), confidence, heard)
