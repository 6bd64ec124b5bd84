"""Members of a pool with few scores or none: what is said of them, and what stands in for what cannot be learned."""

import numpy as np

from defero.core.checks.arrays import BoolArray, FloatArray, IntArray
from defero.core.wording import join_names

FEW_SCORES = 30


def score_notes(n_scores: IntArray, expert_names: tuple[str, ...]) -> list[str]:
    """Return a sentence on the members without a score, and one on those with few.

    >>> score_notes(np.array([200, 12, 0]), ("gpt", "phi", "qwen"))[1]
    'few scores to learn from: phi 12. Their expected scores are shrunk toward the average and are uncertain.'
    """
    counts = dict(zip(expert_names, n_scores.tolist(), strict=True))
    none = [name for name, count in counts.items() if not count]
    few = [f"{name} {count}" for name, count in counts.items() if 0 < count < FEW_SCORES]
    verb, counted = ("have", "count as average members") if len(none) > 1 else ("has", "counts as the average member")
    return [
        *(
            [f"{join_names(none)} {verb} no score to learn from and {counted}: only a lower price speaks for them."]
            if none
            else []
        ),
        *(
            [
                f"few scores to learn from: {join_names(few)}. Their expected scores are shrunk toward the average and "
                "are uncertain."
            ]
            if few
            else []
        ),
    ]


def with_average_members(covariance: FloatArray, learned: BoolArray) -> FloatArray:
    """Return the covariance (J, J) of all members, from that of the learned ones; the others are their average.

    The own variance of an average member is at least the mean variance of the learned ones.

    >>> with_average_members(np.array([[0.2, 0.1], [0.1, 0.3]]), np.array([True, True, False])).round(2).tolist()
    [[0.2, 0.1, 0.15], [0.1, 0.3, 0.2], [0.15, 0.2, 0.25]]
    """
    if learned.all():
        return covariance
    mix = np.empty((len(covariance), len(learned)))
    mix[:, learned], mix[:, ~learned] = np.eye(len(covariance)), 1.0 / len(covariance)
    spread = mix.T @ covariance @ mix
    new = np.flatnonzero(~learned)
    spread[new, new] = np.maximum(spread[new, new], np.diag(covariance).mean())
    return spread
