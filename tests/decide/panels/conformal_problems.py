"""Small calibration problems for Hypothesis: scores with many ties, and who was right."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays


@st.composite
def problems(draw, *, min_items=1, max_items=14, max_experts=4):
    """Return scores (n, J), multiples of 1/8 or 1/1000, and right (n, J) with a right expert in each row."""
    shape = draw(st.tuples(st.integers(min_items, max_items), st.integers(1, max_experts)))
    steps = draw(st.sampled_from([8, 1000]))
    scores = draw(arrays(np.int64, shape, elements=st.integers(0, steps))) / steps
    right = draw(arrays(np.bool_, shape))
    lucky = draw(arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))
    right[np.arange(shape[0]), lucky] = True
    return scores, right
