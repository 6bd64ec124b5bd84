"""The pools of HateSpeech and Galaxy-Zoo: ten experts around a person's label (the paper's Table 1)."""

import numpy as np

from defero_verma2023.arrays import FloatArray
from defero_verma2023.pools.pool import ExpertPool, PoolExpert, Variant, check_variant
from defero_verma2023.pools.tables import guess_table, or_guess_table, or_other_table


def hatespeech_pool(*, variant: Variant) -> ExpertPool:
    """Return the ten experts of HateSpeech, K = 3 (0 hate speech, 1 offensive, 2 neither).

    h is the person's label, `human` in `draw`: take it from `draw_human`.

    | expert | says                               |
    | ------ | ---------------------------------- |
    | 1      | a guess over the K classes         |
    | 2      | h with probability 0.10, else a guess |
    | 3      | flips h with probability 0.50      |
    | 4      | h with probability 0.75, else a guess |
    | 5      | flips h with probability 0.30      |
    | 6      | flips h with probability 0.20      |
    | 7      | h with probability 0.85, else a guess |
    | 8      | h                                  |
    | 9      | h with probability 0.50, else a guess |
    | 10     | h                                  |

    `as_written`: the text says "flips" and no more; a flip here goes to each of the two other classes alike. The
    text has ten unique experts: pass `human` (n, 10), drawn anew for each, and experts 8 and 10 are two people.

    `as_published`: in the authors' runs 0 flips to 1, and both 1 and 2 flip to 0, so nothing flips to 2. One h
    (n,) serves all experts, so that 8 and 10 are one and the same.

    Parameters
    ----------
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> pool = hatespeech_pool(variant="as_published")
    >>> human = np.array([0, 1, 2])
    >>> pool.draw(np.array([0, 1, 1]), human=human, rng=np.random.default_rng(0))[:, 7].tolist()
    [0, 1, 2]
    >>> pool.experts[4].table.tolist()
    [[0.7, 0.3, 0.0], [0.3, 0.7, 0.0], [0.3, 0.0, 0.7]]
    """
    check_variant(variant)
    return ExpertPool("hatespeech", _annotator_experts(3, variant))


def galaxyzoo_pool(*, variant: Variant) -> ExpertPool:
    """Return the ten experts of Galaxy-Zoo, K = 2 (0 smooth, 1 features or disk).

    The table of `hatespeech_pool`. Of two classes a flip is the other one, so the laws of both variants are the
    same; as there, `as_written` means a person of its own for each expert, `as_published` one label for all.

    The votes of the 2,000 galaxies are not to be had: `stand_in_human`, right with probability 0.765, stands in
    for the person there. What rests on it is a stand-in's result, not a person's.

    Parameters
    ----------
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> from defero_verma2023.pools.stand_in import stand_in_human
    >>> labels, rng = np.array([0, 1, 1, 0]), np.random.default_rng(0)
    >>> stand_in = stand_in_human(labels, rng=rng)
    >>> galaxyzoo_pool(variant="as_published").draw(labels, human=stand_in, rng=rng).shape
    (4, 10)
    """
    check_variant(variant)
    return ExpertPool("galaxyzoo", _annotator_experts(2, variant))


def _annotator_experts(n_classes: int, variant: Variant) -> tuple[PoolExpert, ...]:
    def mixture(p_human: float) -> FloatArray:
        return or_guess_table(np.full(n_classes, p_human))

    def flip(p_flip: float) -> FloatArray:
        if variant == "as_published":
            return _flip_to_first_table(p_flip, n_classes=n_classes)
        return or_other_table(np.full(n_classes, 1 - p_flip))

    return (
        PoolExpert("random", "label", guess_table(n_classes)),
        PoolExpert("annotator_10", "human", mixture(0.10)),
        PoolExpert("flip_50", "human", flip(0.50)),
        PoolExpert("annotator_75", "human", mixture(0.75)),
        PoolExpert("flip_30", "human", flip(0.30)),
        PoolExpert("flip_20", "human", flip(0.20)),
        PoolExpert("annotator_85", "human", mixture(0.85)),
        PoolExpert("human_8", "human", np.eye(n_classes)),
        PoolExpert("annotator_50", "human", mixture(0.50)),
        PoolExpert("human_10", "human", np.eye(n_classes)),
    )


def _flip_to_first_table(p_flip: float, *, n_classes: int) -> FloatArray:
    flipped = np.zeros((n_classes, n_classes))
    flipped[0, 1] = flipped[1:, 0] = 1
    return (1 - p_flip) * np.eye(n_classes) + p_flip * flipped
