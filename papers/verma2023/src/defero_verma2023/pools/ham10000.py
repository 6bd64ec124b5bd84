"""The pool of HAM10000: a guesser, eight simulated dermatologists and a network (the paper's Table 2)."""

from collections.abc import Sequence

import numpy as np

from defero_verma2023.arrays import FloatArray
from defero_verma2023.pools.picture_sets import HAM10000_CLASSES
from defero_verma2023.pools.pool import ExpertPool, PoolExpert, Variant, check_variant
from defero_verma2023.pools.tables import guess_table, or_other_table, right_by_class

N_CLASSES = len(HAM10000_CLASSES)

_BENIGN = ("nv", "bkl", "df", "vasc")
_MALIGN = ("mel", "bcc", "akiec")

# name, field, P(right) inside; then outside, as written and as published
_DERMATOLOGISTS: dict[str, tuple[Sequence[str], float, float, float]] = {
    "malign_25": (_MALIGN, 0.25, 0.15, 1 / 7),
    "benign_25": (_BENIGN, 0.25, 0.15, 1 / 7),
    "nv_50": (("nv",), 0.50, 0.15, 1 / 7),
    "vasc_70": (("vasc",), 0.70, 0.15, 1 / 7),
    "mel_75": (("mel",), 0.75, 0.15, 0.33),
    "benign_75": (_BENIGN, 0.75, 0.25, 0.25),
    "experienced_9": (HAM10000_CLASSES, 0.80, 0.50, 0.50),
    "experienced_10": (HAM10000_CLASSES, 0.80, 0.60, 0.60),
}


def ham10000_pool(*, variant: Variant) -> ExpertPool:
    """Return the ten experts of HAM10000, K = 7 in the order of `HAM10000_CLASSES`.

    | expert | field  | P(right) inside | outside, as written | outside, as published |
    | ------ | ------ | --------------- | ------------------- | --------------------- |
    | 1      | a guess over the K classes | | | |
    | 2      | malign | 0.25            | 0.15                | 1 / 7                 |
    | 3      | benign | 0.25            | 0.15                | 1 / 7                 |
    | 4      | nv     | 0.50            | 0.15                | 1 / 7                 |
    | 5      | vasc   | 0.70            | 0.15                | 1 / 7                 |
    | 6      | mel    | 0.75            | 0.15                | 0.33                  |
    | 7      | benign | 0.75            | 0.25                | 0.25                  |
    | 8      | the network, an MLPMixer: its answers are `recorded` in `draw` | | | |
    | 9      | all    | 0.80            | -                   | -                     |
    | 10     | all    | 0.80            | -                   | -                     |

    Benign: nv, bkl, df, vasc; malign: mel, bcc, akiec. The table gives experts 9 and 10 a P(right) outside of 0.50
    and 0.60, but nothing lies outside all classes: they are two draws of one law.

    `as_written`: the text does not say what a wrong answer is; here each of the six other classes alike.

    `as_published`: a wrong answer is uniform over the classes outside the field (the label left out), also where the
    label lies inside it; over the six others where the field is everything.

    Parameters
    ----------
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool
        Without the network's answers, take the others: `pool.take([0, 1, 2, 3, 4, 5, 6, 8, 9])`.

    Examples
    --------
    >>> pool = ham10000_pool(variant="as_published")
    >>> pool.expert_names[7], sorted(pool.reads)
    ('mlp_mixer', ['label', 'recorded'])
    >>> pool.expected_accuracy(np.full(7, 1 / 7)).round(2).tolist()
    [0.14, 0.19, 0.2, 0.19, 0.22, 0.39, 0.54, nan, 0.8, 0.8]
    """
    check_variant(variant)
    experts = [PoolExpert("random", "label", guess_table(N_CLASSES))]
    for name, (field, inside, written, published) in _DERMATOLOGISTS.items():
        classes = [HAM10000_CLASSES.index(code) for code in field]
        outside = written if variant == "as_written" else published
        right = right_by_class(classes, inside=inside, outside=outside, n_classes=N_CLASSES)
        table = or_other_table(right) if variant == "as_written" else _wrong_outside_table(right, classes)
        experts.append(PoolExpert(name, "label", table))
    experts.insert(7, PoolExpert("mlp_mixer", "recorded", np.eye(N_CLASSES)))
    return ExpertPool("ham10000", tuple(experts))


def _wrong_outside_table(right_proba: FloatArray, classes: Sequence[int]) -> FloatArray:
    """Share what is not right among the classes outside the field, or among all where the field is everything."""
    n_classes = len(right_proba)
    is_wrong = np.ones((n_classes, n_classes))
    if len(classes) < n_classes:
        is_wrong[:, classes] = 0
    np.fill_diagonal(is_wrong, 0)
    return np.diag(right_proba) + is_wrong * ((1 - right_proba) / is_wrong.sum(axis=1))[:, None]
