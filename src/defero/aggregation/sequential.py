"""A panel that is asked one by one: the next question only where it is expected to be worth its cost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from defero.aggregation.tally import EPS, at, clip_width, first_best, fitting_skill, named
from defero.aggregation.weighted import log_odds_weights
from defero.core.checks.arrays import BoolArray, FloatArray, IntArray, availability, fee_matrix
from defero.core.checks.experts import answers_and_model, class_probabilities, expert_probabilities
from defero.core.checks.options import whole_number
from defero.core.class_skill import ClassSkill
from defero.core.labels import MISSING
from defero.core.results import Answer
from defero.core.scores import softmax

_NOTHING = 1e-12
"""A gain below this is rounding, not a reason to ask."""
_PRODUCTS_AT_ONCE = 4_000_000


@dataclass(frozen=True, eq=False)
class PanelAnswer(Answer):
    """An answer whose experts were asked one by one; `heard` says who was asked."""

    @property
    def n_asked(self) -> IntArray:
        """(n,): how many experts were asked."""
        return self.heard.sum(axis=1).astype(np.int64)


def expected_gain(class_proba: ArrayLike, expert_proba: ArrayLike) -> FloatArray:
    """Return how much one more answer is expected to raise P(the label is right), (n, J).

    gain_j = sum_m max_y pi_y P(m | y) - max_y pi_y. With symmetric errors, a = p_j, b = (1 - p_j) / (K - 1),
    and the most likely class t, the maximum over y is max(a pi_m, b pi_t) for m other than t, and
    max(a pi_t, b pi_s) for m = t with the second class s: one sum over K instead of K times K.

    Parameters
    ----------
    class_proba : (n, K)
        pi, what is believed so far.
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).

    Examples
    --------
    >>> expected_gain([[0.75, 0.25]], [0.5, 0.75, 1.0]).tolist()  # 0.75 cannot change a mind, only certainty can
    [[0.0, 0.0, 0.25]]
    """
    belief = class_probabilities(class_proba)
    shape = np.shape(expert_proba)
    n_experts = shape[-1] if shape else 0
    return _gain(belief, expert_probabilities(expert_proba, n_items=len(belief), n_experts=n_experts))


def sequential_panel(
    answers: ArrayLike,
    expert_proba: ArrayLike,
    class_proba: ArrayLike,
    *,
    fees: ArrayLike | None,
    skill: ClassSkill | None = None,
    available: ArrayLike | None = None,
    max_questions: int | None = None,
    classes: ArrayLike | None = None,
    eps: float = EPS,
) -> PanelAnswer:
    """Ask the expert with the best expected gain minus cost, update the posterior, stop where nothing is gained.

    Greedy by one step: a question that pays only together with the next one is not asked. Errors are taken for
    independent given the truth and the item, and for symmetric unless `skill` is given, as in `bayes_vote`, whose
    answer on the experts asked this is.

    Parameters
    ----------
    answers : (n, J) int
        Recorded class numbers, -1 where missing: only experts whose answer is recorded can be asked.
    expert_proba : (J,) or (n, J)
        P(expert j is right | x).
    class_proba : (n, K)
        The model's P(y = k | x), where the posterior starts.
    fees : (J,) or (n, J), or None for free
        What a question costs, in units of one error.
    skill : ClassSkill, optional
        P(m | y, x) by item and class, used in place of expert_proba.
    available : (J,) or (n, J) bool, optional
        Who can be asked.
    max_questions : int, optional
        At most so many questions per item.
    classes : (K,), optional
        The labels' own values, in the order of the class numbers.
    eps : float
        Both kinds of probability are clipped to [eps, 1 - eps].

    Returns
    -------
    PanelAnswer
        Its confidence is the posterior of the label; `n_asked` the number of questions. Of experts worth the same
        the first is asked.

    Examples
    --------
    >>> panel = sequential_panel([[0, 1], [0, 1]], [0.9, 0.8], [[0.5, 0.5], [0.95, 0.05]], fees=[0.01, 0.01])
    >>> panel.label.tolist(), panel.n_asked.tolist(), panel.confidence.round(3).tolist()
    ([0, 0], [1, 0], [0.9, 0.95])
    """
    answer_idx, prior = answers_and_model(answers, class_proba)
    n_items, n_experts, n_classes = *answer_idx.shape, prior.shape[1]
    eps = clip_width(eps)
    proba = np.clip(expert_probabilities(expert_proba, n_items=n_items, n_experts=n_experts), eps, 1 - eps)
    fee = fee_matrix(fees, n_items=n_items, n_experts=n_experts)
    askable = availability(available, n_items=n_items, n_experts=n_experts) & (answer_idx != MISSING)
    heard = np.zeros(answer_idx.shape, dtype=np.bool_)
    skill = fitting_skill(skill, n_items=n_items, n_experts=n_experts, n_classes=n_classes)
    weights = log_odds_weights(proba, n_classes=n_classes, eps=eps)
    log_belief = np.log(np.clip(prior, eps, 1 - eps))
    open_idx = np.arange(n_items)
    for _ in range(_most_questions(max_questions, n_experts=n_experts)):
        belief, can = softmax(log_belief[open_idx]), askable[open_idx] & ~heard[open_idx]
        if skill is None:
            gain = _gain(belief, proba[open_idx])
        else:
            gain = _gain_by_class(belief, skill, open_idx, can, eps=eps)
        worth = np.where(can, gain - fee[open_idx], -np.inf)
        asks = worth.max(axis=1) > _NOTHING
        # Where nothing is worth asking now, nothing changes: the item is closed for good.
        open_idx, expert = open_idx[asks], worth.argmax(axis=1)[asks]
        heard[open_idx, expert] = True
        answer = answer_idx[open_idx, expert]
        if skill is None:
            log_belief[open_idx, answer] += weights[open_idx, expert]
        else:
            log_belief[open_idx] += skill.log_likelihood(open_idx, expert, answer, eps=eps)
    label_idx = first_best(log_belief, prior)
    belief = np.where(heard.any(axis=1, keepdims=True), softmax(log_belief), prior)
    return PanelAnswer(named(label_idx, classes, n_classes=n_classes), at(belief, label_idx), heard)


def _gain(belief: FloatArray, expert_proba: FloatArray) -> FloatArray:
    """Return the closed form of `expected_gain`; one expert at a time, to hold (n, K) rather than (n, J, K)."""
    n_classes = belief.shape[1]
    gain = np.zeros(expert_proba.shape)
    if n_classes == 1:
        return gain
    second, top = np.partition(belief, n_classes - 2, axis=1)[:, -2:].T
    for j, right in enumerate(expert_proba.T):
        other = (1 - right) / (n_classes - 1)
        each = np.maximum(right[:, None] * belief, (other * top)[:, None]).sum(axis=1)
        # The sum took max(a, b) pi_t for the answer t, where the second class stands instead of t itself.
        gain[:, j] = each - np.maximum(right, other) * top + np.maximum(right * top, other * second) - top
    return np.maximum(gain, 0)  # never negative but for rounding: who need not listen cannot lose


def _gain_by_class(
    belief: FloatArray, skill: ClassSkill, item_idx: IntArray, can: BoolArray, *, eps: float
) -> FloatArray:
    """Return the gain of those who can be asked, sum_m max_y pi_y P(m | y, x) - max_y pi_y, (a, J); 0 of the others."""
    gain = np.zeros(can.shape)
    rows, experts = np.nonzero(can)
    size = max(1, _PRODUCTS_AT_ONCE // belief.shape[1] ** 2)
    for start in range(0, len(rows), size):
        row, expert = rows[start : start + size], experts[start : start + size]
        joint = belief[row][:, :, None] * skill.likelihood(item_idx[row], expert, eps=eps)
        gain[row, expert] = joint.max(axis=1).sum(axis=1) - belief[row].max(axis=1)
    return np.maximum(gain, 0)


def _most_questions(max_questions: int | None, *, n_experts: int) -> int:
    if max_questions is None:
        return n_experts
    return min(whole_number("max_questions", max_questions, least=0), n_experts)
