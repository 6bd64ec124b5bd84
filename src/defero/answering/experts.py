"""Which experts answered items of one class more, or less, than chance and the features explain?"""

import numpy as np

from defero.answering.left_over import LeftOver
from defero.answering.who import WhoAnswered
from defero.core.checks import FloatArray


def expert_chances(who: WhoAnswered, left: LeftOver) -> FloatArray:
    """Return for each expert and class a bound on how likely such a choice of items is by chance, (J, c).

    With s = sum_i (o_ij - N_j / n) r_ik and v its variance, both given who answered what and the features, the chance
    of so large an |s| is at most 2 exp(-v h(|s| / v)), h(u) = (1 + u) log(1 + u) - u (Bennett 1962). No law of large
    numbers is leaned on: it holds for five answers and for a level of 1e-6, as hundreds of experts need, where
    a chi-square test of dozens of answers errs by orders of magnitude.
    """
    share = (who.per_expert / who.n_items)[:, None]
    total = who.sums(left.residual) - share * left.residual.sum(axis=0)
    variance = (1.0 - 2.0 * share) * who.sums(left.variance) + share**2 * left.variance.sum(axis=0)
    largest = np.maximum(1.0, np.abs(left.residual).max(axis=0, initial=0.0))
    size, variance = np.abs(total) / largest, np.maximum(variance / largest**2, 1e-12)
    ratio = size / variance
    exponent = variance * ((1.0 + ratio) * np.log1p(ratio) - ratio)
    return np.minimum(1.0, 2.0 * np.exp(-exponent))
