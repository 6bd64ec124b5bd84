"""Learning between two fits: an answer whose truth is known moves the head of its expert, and nobody else's.

Before the answer the head is w ~ N(m, C), so that its log-odds z = phi . w, the expert's trees aside, are N(phi . m, s)
with s = phi' C phi. The answer says something of z alone. With E and V the mean and variance of z after it,

    m becomes m + C phi (E - phi . m) / s,    C becomes C - C phi phi' C (1 - V / s) / s,

which are the exact mean and covariance of w after one answer (Opper 1998). That they are a normal distribution again,
from which the next answer starts, is the one thing that is not exact: the same answers in another order end near by.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.learn.heads import Heads

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


def after_answers(
    heads: Heads, phi: ArrayLike, item_idx: IntArray, expert_idx: IntArray, right: BoolArray, *, added: FloatArray
) -> Heads:
    """Return the heads once m answers were learned from, one after the other.

    However a list of answers is cut into parts, the numbers are the same to the last bit.

    Parameters
    ----------
    heads : Heads
    phi : (n, d - 1)
        Features of the items.
    item_idx, expert_idx : (m,) int
        Which item, and whose answer.
    right : (m,) bool
    added : (m,)
        What is added to the head's log-odds of each answer: by trees, or 0.

    Examples
    --------
    >>> from defero.learn.heads import fit_head
    >>> from defero.learn.prior import HeadPrior
    >>> prior = HeadPrior(np.zeros(0), np.ones(0), np.zeros(1), np.ones(1), np.zeros((1, 1)))
    >>> nobody = fit_head(np.empty((0, 0)), [], prior)
    >>> first, who, yes = np.zeros(20, np.int64), np.zeros(20, np.int64), np.ones(20, np.bool_)
    >>> one_by_one = after_answers(nobody, np.empty((1, 0)), first, who, yes, added=np.zeros(20))
    >>> at_once = fit_head(np.empty((20, 0)), yes, prior)
    >>> one_by_one.weights.round(2).tolist(), at_once.weights.round(2).tolist(), one_by_one.n_answers.tolist()
    ([[2.12]], [[2.22]], [20])
    """
    design = heads.prior.design(phi)
    weights, covariance, n_answers = heads.weights.copy(), heads.covariance.copy(), heads.n_answers.copy()
    for item, j, correct, shift in zip(item_idx, expert_idx, right, added, strict=True):
        phi_i, head = design[item], covariance[j]
        along = head @ phi_i if head.ndim == 2 else head * phi_i  # of many features the variances alone are known
        spread2, middle = float(phi_i @ along), float(phi_i @ weights[j])
        n_answers[j] += 1
        if spread2 <= 0:  # nothing is left to learn
            continue
        mean, variance = _moments(middle, spread2, shift=float(shift), right=bool(correct))
        weights[j] += along * ((mean - middle) / spread2)
        covariance[j] -= _squared(along, like=head) * ((1.0 - variance / spread2) / spread2)
    return replace(heads, weights=weights, covariance=covariance, n_answers=n_answers)


def _moments(middle: float, spread2: float, *, shift: float, right: bool) -> tuple[float, float]:
    """Return mean and variance of z ~ N(middle, spread2) after an answer that is right with sigmoid(z + shift)."""
    z = middle + np.sqrt(spread2) * _NODES
    log_likely = -np.logaddexp(0.0, -z - shift if right else z + shift)  # a sigmoid would become 0 at every node
    likely = _WEIGHTS * np.exp(log_likely - log_likely.max())
    likely /= likely.sum()
    mean = float(likely @ z)
    return mean, min(float(likely @ (z - mean) ** 2), spread2)


def _squared(along: FloatArray, *, like: FloatArray) -> FloatArray:
    return np.outer(along, along) if like.ndim == 2 else along**2
