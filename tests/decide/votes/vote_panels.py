"""Small panels for Hypothesis, on grids where sums of probabilities are exact."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

proba = st.sampled_from([0.0, 0.05, 0.125, 0.25, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0])


@st.composite
def panels(draw, *, smallest_k=1, fewest_experts=0):
    """Return answers (n, J), mask (n, J), expert_proba (n, J) and class_proba (n, K)."""
    n, j = draw(st.integers(1, 4)), draw(st.integers(fewest_experts, 5))
    k = draw(st.integers(smallest_k, 4))
    answers = draw(arrays(np.int64, (n, j), elements=st.integers(-1, k - 1)))
    mask = draw(arrays(np.bool_, (n, j)))
    experts = draw(arrays(float, (n, j), elements=proba))
    shares = draw(arrays(np.int64, (n, k), elements=st.integers(0, 5)))
    shares[shares.sum(axis=1) == 0, 0] = 1
    return answers, mask, experts, shares / shares.sum(axis=1, keepdims=True)


def clipped(p, eps=1e-6):
    return min(max(p, eps), 1 - eps)


def likelihood(answer, truth, p, k):
    """P(answer | truth) with symmetric errors."""
    return p if answer == truth else (1 - p) / max(k - 1, 1)
