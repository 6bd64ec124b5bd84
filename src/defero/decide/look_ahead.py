"""Looking ahead: what a case will cost if the best few experts are asked one after the other, as long as it pays."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from defero.core.belief import Belief
from defero.core.checks.arrays import FloatArray, IntArray
from defero.core.scores import sigmoid
from defero.decide.costs import ErrorCosts

MOST_STATES = 1100
"""Of (who was asked, what they answered) for one case: 6 experts with 2 classes, 5 with 3, 4 with more."""
MOST_STATES_OF_HARD = 260
"""The same where items differ in difficulty: 5 experts with 2 classes, 4 with 3, 3 with more."""
MOST_CLASSES = 4
"""More classes are looked at as the three most likely ones and the rest."""
_NUMBERS_AT_ONCE = 250_000
"""What a core has close by: larger pieces wait for memory."""
_NEVER = 1e12
"""Fee of an expert who cannot be asked."""


def n_candidates(n_classes: int, n_experts: int, *, hard: bool = False) -> int:
    """Return how many experts the look-ahead can take in.

    >>> [n_candidates(k, 25) for k in (2, 3, 4, 10)], [n_candidates(k, 25, hard=True) for k in (2, 3, 4, 10)]
    ([6, 5, 4, 4], [5, 4, 3, 3])
    """
    states_of_one = 1 + min(n_classes, MOST_CLASSES)
    most = MOST_STATES_OF_HARD if hard else MOST_STATES
    return min(n_experts, int(np.log(most) / np.log(states_of_one)))


def costs_to_go(
    evidence: Belief,
    item_idx: IntArray,
    candidates: IntArray,
    fees: FloatArray,
    costs: ErrorCosts,
    *,
    most_questions: int,
) -> FloatArray:
    """Return the least expected cost from here on if candidate c is asked next, (a, m), their fee included.

    V(pi) = min(answer now, min_c fee_c + sum_m P(m) V(pi | m)), over the candidates who are left: exact dynamic
    programming among them by the law of answers, difficulty and decoy included. It holds for every set of them asked
    at once and more, as the next question may depend on the answers. With more than `MOST_CLASSES` classes the least
    likely are taken together as one that is never answered, which makes V too large rather than too small.

    Parameters
    ----------
    evidence : Belief of n items
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
    n_answers = min(evidence.n_classes, MOST_CLASSES)
    plan = _states(n_some, n_answers, min(most_questions, n_some))
    n_hidden = len(evidence.law.nodes[0]) + (n_answers if evidence.law.decoy else 0)
    size = max(1, _NUMBERS_AT_ONCE // (plan.n_states * n_answers * n_hidden))
    for start in range(0, n_items, size):
        rows = slice(start, start + size)
        cases = _Outlook.of(evidence, item_idx[rows], candidates[rows], costs)
        first[rows] = plan.first_costs(cases, np.minimum(fees[rows], _NEVER).T)
    return np.where(first < _NEVER / 2, first, np.inf)


@dataclass(frozen=True, eq=False)
class _Outlook:
    """Some cases as the plan takes them: items last, so that every operation runs along them.

    K' classes and A answers, at most four of each; Q difficulties and Z decoys.
    """

    belief: FloatArray  # (K', Q, a): P(y, u)
    right: FloatArray  # (m, K', A, Q, a): P(the answer's part that depends on u | y, u)
    decoys: FloatArray | None  # (K', Z, a): P(z | y)
    near: FloatArray | None  # (K', A, Z, a): P(answer | y, z, wrong), 1 where it is right
    costs: FloatArray  # (K', actions, a or 1)

    @classmethod
    def of(cls, evidence: Belief, row: IntArray, candidates: IntArray, costs: ErrorCosts) -> "_Outlook":
        law, n_classes = evidence.law, evidence.n_classes
        n_items, n_some = candidates.shape
        belief = evidence.posterior[row][:, :, None] * evidence.node_posterior[row]  # (a, K, Q)
        p = np.broadcast_to(evidence.right[row[:, None], candidates], (n_items, n_some, n_classes))
        at_nodes = sigmoid(law.at_nodes(p))  # (a, m, K, Q)
        errors = evidence.errors_now(row)
        z = evidence.decoy_next(row) if law.decoy else None
        matrix = costs.matrix[:, :, None]
        both = np.eye(min(n_classes, MOST_CLASSES), dtype=np.bool_)
        if n_classes > MOST_CLASSES:
            few = _Few.of(evidence.posterior[row])
            matrix = few.costs(evidence.posterior[row], costs)
            belief, at_nodes, errors = few.joined(belief), few.averaged(at_nodes), few.answers(errors)
            z = None if z is None else few.answers(z)
        right, wrong = at_nodes[:, :, :, None, :], 1 - at_nodes[:, :, :, None, :]
        share = errors[:, None, :, :, None] if z is None else np.ones((1, 1, 1, 1, 1))
        # The rest of the classes together: an answer among them may be right or wrong.
        among_rest = wrong * np.where(both, errors, 0.0)[:, None, :, :, None]
        part = np.where(both[:, :, None], right + among_rest, wrong * share)
        near = None
        if z is not None:
            near = law.decoy * np.eye(len(both)) + (1 - law.decoy) * errors[:, :, :, None]
            near = np.where(both[:, :, None], 1.0, near).transpose(1, 2, 3, 0)
            z = z.transpose(1, 2, 0)
        return cls(belief.transpose(1, 2, 0), part.transpose(1, 2, 3, 4, 0), z, near, matrix)


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

    def first_costs(self, cases: _Outlook, fees: FloatArray) -> FloatArray:
        """Return the cost to go of each first question, (a, m); takes fees (m, a)."""
        hard, near, costs = cases.belief[None], cases.decoys, cases.costs
        decoys = None if near is None else near[None]
        for right in cases.right:  # (states, K, Q, a) grows by one digit for each candidate
            hard = _grown(hard, right.transpose(1, 0, 2, 3))
            if decoys is not None and cases.near is not None:
                decoys = _grown(decoys, cases.near.transpose(1, 0, 2, 3))
        weights = hard.sum(axis=2) if decoys is None else hard.sum(axis=2) * decoys.sum(axis=2)
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


def _grown(states: FloatArray, answered: FloatArray) -> FloatArray:
    """Return (s, K, h, a) with one more candidate, who has not been asked or gave one of the answers (A, K, h, a)."""
    more = states[:, None] * answered[None]
    return np.concatenate([states[:, None], more], axis=1).reshape(-1, *states.shape[1:])


@dataclass(frozen=True, eq=False)
class _Few:
    """The three likeliest classes of each item and the rest as one."""

    top: IntArray  # (a, 3)
    rest: IntArray  # (a, K - 3)
    share: FloatArray  # (a, K - 3): of each class in the rest

    @classmethod
    def of(cls, belief: FloatArray) -> "_Few":
        order = np.argsort(-belief, axis=1, kind="stable")
        top, rest = order[:, : MOST_CLASSES - 1], order[:, MOST_CLASSES - 1 :]
        tail = np.take_along_axis(belief, rest, axis=1)
        return cls(top, rest, tail / np.maximum(tail.sum(axis=1, keepdims=True), 1e-300))

    @property
    def _rows(self) -> IntArray:
        return np.arange(len(self.top))[:, None]

    def joined(self, values: FloatArray) -> FloatArray:
        """Return (a, K, ...) with the rest summed, (a, 4, ...)."""
        tail = values[self._rows, self.rest].sum(axis=1, keepdims=True)
        return np.concatenate([values[self._rows, self.top], tail], axis=1)

    def averaged(self, values: FloatArray) -> FloatArray:
        """Return (a, m, K, Q) with the rest averaged by its shares, (a, m, 4, Q)."""
        by_class = values.transpose(0, 2, 1, 3)
        tail = np.einsum("ar,armq->amq", self.share, by_class[self._rows, self.rest])[:, None]
        return np.concatenate([by_class[self._rows, self.top], tail], axis=1).transpose(0, 2, 1, 3)

    def answers(self, errors: FloatArray) -> FloatArray:
        """Return P(a wrong answer | y), (a, K, K), for four classes and answers.

        Row and column of the rest: an answer among the rest, other than the truth, may be wrong too.
        """
        by_truth = np.concatenate(
            [
                errors[self._rows, self.top],
                np.einsum("ar,ark->ak", self.share, errors[self._rows, self.rest])[:, None],
            ],
            axis=1,
        )
        few = np.take_along_axis(by_truth, self.top[:, None, :], axis=2)
        return np.concatenate([few, np.maximum(1 - few.sum(axis=2, keepdims=True), 0.0)], axis=2)

    def costs(self, belief: FloatArray, costs: ErrorCosts) -> FloatArray:
        """Return the costs (4, actions, a or 1) of the top classes' labels, and of answering now."""
        if costs.symmetric:
            return costs.largest * (1.0 - np.eye(MOST_CLASSES))[:, : MOST_CLASSES - 1, None]
        now = costs.of_labels(belief).argmin(axis=1)[:, None]
        actions = np.concatenate([self.top, now], axis=1)
        order = np.concatenate([self.top, self.rest], axis=1)
        of_truth = costs.matrix[order[:, :, None], actions[:, None, :]]
        rest_cost = np.einsum("ar,arc->ac", self.share, of_truth[:, MOST_CLASSES - 1 :])[:, None]
        return np.concatenate([of_truth[:, : MOST_CLASSES - 1], rest_cost], axis=1).transpose(1, 2, 0)
