"""Slow twins of asking one after the other: plain recursion over every answer that may come."""

import numpy as np


def law_of(p, k, errors=None):
    """Return P(answer m | truth y), (K, K), with uniform errors unless these are given; p is one number or (K,)."""
    right = np.broadcast_to(p, (k,))
    wrong = (1 - np.eye(k)) / max(k - 1, 1) if errors is None else errors
    law = (1 - right)[:, None] * wrong
    law[np.arange(k), np.arange(k)] = right
    return law


def answer_now(belief, costs):
    return min(belief @ costs)


def optimum(belief, laws, fees, costs, left=None):
    """Return the least expected cost by exact dynamic programming: answer now, or ask somebody and go on."""
    left = frozenset(range(len(laws))) if left is None else left
    best = answer_now(belief, costs)
    for j in left:
        best = min(best, asked(belief, laws, fees, costs, left, j, optimum))
    return best


def asked(belief, laws, fees, costs, left, j, afterwards):
    total = fees[j]
    for m in range(len(belief)):
        joint = belief * laws[j][:, m]
        if joint.sum() > 0:
            total += joint.sum() * afterwards(joint / joint.sum(), laws, fees, costs, left - {j})
    return total


def one_step_choice(belief, laws, fees, costs, left):
    """Return whom the one-step rule asks: one answer, then the label; None: it answers."""
    now = answer_now(belief, costs)
    totals = {j: asked(belief, laws, fees, costs, left, j, lambda pi, *_: answer_now(pi, costs)) for j in left}
    best = min(totals, key=totals.get, default=None)
    return best if best is not None and totals[best] < now - 1e-12 else None


def policy_cost(belief, laws, fees, costs, choose, left=None):
    """Return what a policy costs, exactly, over every answer that may come."""
    left = frozenset(range(len(laws))) if left is None else left
    j = choose(belief, laws, fees, costs, left)
    if j is None:
        return answer_now(belief, costs)
    return asked(belief, laws, fees, costs, left, j, lambda *state: policy_cost(*state[:4], choose, state[4]))


def drawn_case(rng, *, k, j, by_class=False, own_costs=False):
    """Return belief (K,), right (J, K), errors (K, K), laws, fees (J,) and costs (K, K) of a random case."""
    belief = np.clip(rng.dirichlet(np.ones(k)), 0.01, None)
    belief /= belief.sum()
    right = np.repeat(rng.uniform(0.4, 0.95, (j, 1)), k, axis=1)
    errors = (1 - np.eye(k)) / (k - 1)
    if by_class:
        right = np.clip(right + rng.uniform(-0.3, 0.3, right.shape), 0.05, 0.98)
        errors = (1 - np.eye(k)) * rng.uniform(0.2, 1.0, (k, k))
        errors /= errors.sum(axis=1, keepdims=True)
    costs = 1 - np.eye(k)
    if own_costs:
        costs = costs * rng.uniform(0.2, 3.0, (k, k))
    laws = [law_of(one, k, errors) for one in right]
    return belief, right, errors, laws, rng.uniform(0.002, 0.08, j), costs
