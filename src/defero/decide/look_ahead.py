"""Looking ahead: what a case will cost if the best few experts are asked one after the other, as long as it pays."""

from functools import lru_cache
from itertools import product

import numpy as np

from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.posterior import AnswerLaw
from defero.decide.costs import ErrorCosts

MOST_STATES = 1100
"""Of (who was asked, what they answered) for one case: 6 experts with 2 classes, 5 with 3, 4 with more."""
MOST_CLASSES = 4
"""More classes are looked at as the three most likely ones and the rest."""
_NUMBERS_AT_ONCE = 250_000
"""What a core has close by: larger pieces wait for memory."""
_NEVER = 1e12
"""Fee of an expert who cannot be asked."""


def n_candidates(n_classes: int, n_experts: int) -> int:
    """Return how many experts the look-ahead can take in.

    >>> [n_candidates(k, 25) for k in (2, 3, 4, 10)]
    [6, 5, 4, 4]
    """
    states_of_one = 1 + min(n_classes, MOST_CLASSES)
    return min(n_experts, int(np.log(MOST_STATES) / np.log(states_of_one)))


def costs_to_go(
    belief: FloatArray,
    law: AnswerLaw,
    item_idx: IntArray,
    candidates: IntArray,
    fees: FloatArray,
    costs: ErrorCosts,
    *,
    most_questions: int,
) -> FloatArray:
    """Return the least expected cost from here on if candidate c is asked next, (a, m), their fee included.

    V(pi) = min(answer now, min_c fee_c + sum_m P(m) V(pi | m)), over the candidates who are left: exact dynamic
    programming among them. It holds for every set of them asked at once and more, as the next question may depend
    on the answers. With more than `MOST_CLASSES` classes the least likely are taken together as one that is never
    answered, which makes V too large rather than too small.

    Parameters
    ----------
    belief : (a, K)
        The posterior so far.
    law : AnswerLaw of all n items
    item_idx : (a,)
        Which of the n items these are.
    candidates : (a, m) expert indices
    fees : (a, m)
        Fee of each candidate; inf: cannot be asked.
    costs : ErrorCosts
    most_questions : int
        At most so many questions from here on.
    """
    n_items, n_some = candidates.shape
    first = np.full((n_items, n_some), np.inf)
    plan = _states(n_some, min(belief.shape[1], MOST_CLASSES), min(most_questions, n_some))
    size = max(1, _NUMBERS_AT_ONCE // (plan.n_states * min(belief.shape[1], MOST_CLASSES)))
    for start in range(0, n_items, size):
        rows = slice(start, start + size)
        n_rows = len(belief[rows])
        some = candidates[rows]
        answer_law = law.likelihood(np.repeat(item_idx[rows], n_some), some.ravel())
        shape = (n_rows, n_some, *answer_law.shape[1:])
        small = _few_classes(belief[rows], answer_law.reshape(shape), costs)
        first[rows] = plan.first_costs(*small, np.minimum(fees[rows], _NEVER).T)
    return np.where(first < _NEVER / 2, first, np.inf)


class _Plan:
    """Every state of m candidates, each not asked (0) or with an answer (1..A): how they follow from each other.

    A level has the states in which so many were asked, s of them; each of them has m - level questions left. The
    arrays of a level: states (s,), the candidate of each question (s, m - level), and the states after it for each
    answer (A, s, m - level).
    """

    def __init__(self, n_some: int, n_answers: int, depth: int) -> None:
        digits = np.array(list(product(range(n_answers + 1), repeat=n_some)), dtype=np.int64).reshape(-1, n_some)
        steps = (n_answers + 1) ** np.arange(n_some)[::-1]
        n_asked = (digits > 0).sum(axis=1)
        self.n_states = len(digits)
        self.levels: list[tuple[IntArray, IntArray, IntArray]] = []
        for level in reversed(range(depth)):
            states = np.flatnonzero(n_asked == level)
            ones = np.nonzero(digits[states] == 0)[1].reshape(len(states), n_some - level)
            answers = np.arange(1, n_answers + 1)[:, None, None]
            self.levels.append((states, ones, states[:, None] + steps[ones] * answers))

    def first_costs(
        self, belief: FloatArray, answer_law: FloatArray, costs: FloatArray, fees: FloatArray
    ) -> FloatArray:
        """Return the cost to go of each first question, (a, m).

        Takes belief (K, a), the law (m, K, A, a), costs (K, actions, a or 1) and fees (m, a): items last, so that
        every operation runs along them.
        """
        weights = belief[None]
        for law in answer_law:  # (states, K, a) grows by one digit for each candidate
            answered = weights[:, None] * law.transpose(1, 0, 2)[None]
            weights = np.concatenate([weights[:, None], answered], axis=1).reshape(-1, *weights.shape[1:])
        chance = weights.sum(axis=1)
        value = _least(weights, costs)
        asking = np.full((1, *fees.shape), np.inf)
        for states, ones, after in self.levels:
            asking = fees[ones] * chance[states][:, None]
            for following in after:
                asking += value[following]
            value[states] = np.minimum(value[states], asking.min(axis=1))
        return asking[0].T  # the last level has one state, in which nobody has been asked yet


def _least(weights: FloatArray, costs: FloatArray) -> FloatArray:
    """Return the cost of the cheapest action, (states, a).

    Takes weights (states, K, a) and costs (K, actions, a or 1).
    """
    value: FloatArray | None = None
    for action in range(costs.shape[1]):
        own = np.zeros((len(weights), weights.shape[2]))
        for truth in np.flatnonzero(costs[:, action].any(axis=1)):
            own += weights[:, truth] * costs[truth, action]
        value = own if value is None else np.minimum(value, own, out=value)
    assert value is not None
    return value


@lru_cache(maxsize=64)
def _states(n_some: int, n_answers: int, depth: int) -> _Plan:
    return _Plan(n_some, n_answers, depth)


def _few_classes(belief: FloatArray, law: FloatArray, costs: ErrorCosts) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return belief (K', a), law (m, K', A', a) and costs (K', actions, a or 1), with the least likely classes as one.

    Takes belief (a, K) and law (a, m, K, A).
    """
    n_items, n_classes = belief.shape
    if n_classes <= MOST_CLASSES:
        return belief.T, law.transpose(1, 2, 3, 0), costs.matrix[:, :, None]
    order = np.argsort(-belief, axis=1, kind="stable")
    top, rest = order[:, : MOST_CLASSES - 1], order[:, MOST_CLASSES - 1 :]
    rows = np.arange(n_items)[:, None]
    tail = belief[rows, rest]
    share = tail / np.maximum(tail.sum(axis=1, keepdims=True), 1e-300)
    belief_top = np.concatenate([belief[rows, top], tail.sum(axis=1, keepdims=True)], axis=1)
    of_top = law[rows, :, top]  # (a, 3, m, A)
    of_rest = np.einsum("ar,armk->amk", share, law[rows, :, rest])[:, None]
    by_truth = np.concatenate([of_top, of_rest], axis=1)  # (a, K', m, A)
    answers_top = np.take_along_axis(by_truth, top[:, None, None, :], axis=3)
    reduced = np.concatenate([answers_top, 1 - answers_top.sum(axis=3, keepdims=True)], axis=3)
    if costs.symmetric:
        matrix = costs.largest * (1.0 - np.eye(MOST_CLASSES))[:, : MOST_CLASSES - 1, None]
    else:
        now = costs.of_labels(belief).argmin(axis=1)[:, None]
        actions = np.concatenate([top, now], axis=1)
        of_truth = costs.matrix[order[:, :, None], actions[:, None, :]]
        rest_cost = np.einsum("ar,arc->ac", share, of_truth[:, MOST_CLASSES - 1 :])[:, None]
        matrix = np.concatenate([of_truth[:, : MOST_CLASSES - 1], rest_cost], axis=1).transpose(1, 2, 0)
    return belief_top.T, reduced.transpose(2, 1, 3, 0), matrix
