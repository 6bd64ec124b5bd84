"""The pools of the CIFAR-10 simulations: more experts, better experts, and gradually overlapping ones."""

from defero_verma2023.pools.checks import probability, whole_number
from defero_verma2023.pools.pool import ExpertPool, PoolExpert, Variant, check_variant
from defero_verma2023.pools.tables import guess_table, or_guess_table, or_other_table, right_by_class

N_CLASSES = 10


def cifar10_sim1_pool(*, n_experts: int, variant: Variant) -> ExpertPool:
    """Return the pool of simulation 1, "increasing experts": J experts of one law, drawn independently.

    | variant        | classes | right                                            | elsewhere |
    | -------------- | ------- | ------------------------------------------------ | --------- |
    | `as_written`   | 0..4    | 0.70, a wrong answer uniform over the other nine | a guess   |
    | `as_published` | 0..5    | with probability 0.70, else a guess: 0.73        | a guess   |

    The text says the first five classes; the authors' runs have six. On equal class shares an expert is right with
    probability 0.40 as written and 0.478 as published.

    Parameters
    ----------
    n_experts : int
        J: the paper has 4 to 20.
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> import numpy as np
    >>> pool = cifar10_sim1_pool(n_experts=4, variant="as_written")
    >>> pool.expected_accuracy(np.full(10, 0.1)).round(3).tolist()
    [0.4, 0.4, 0.4, 0.4]
    """
    check_variant(variant)
    n_experts = whole_number("n_experts", n_experts, least=1)
    if variant == "as_written":
        table = or_other_table(right_by_class(range(5), inside=0.7, outside=0.1, n_classes=N_CLASSES))
    else:
        table = or_guess_table(right_by_class(range(6), inside=0.7, outside=0.0, n_classes=N_CLASSES))
    experts = tuple(PoolExpert(f"expert_{j + 1}", "label", table) for j in range(n_experts))
    return ExpertPool("cifar10_sim1", experts)


def cifar10_sim2_pool(*, p_in: float, variant: Variant) -> ExpertPool:
    """Return the pool of simulation 2, "expert dependence": a guesser and three experts who get better.

    | variant        | classes | right                                            | elsewhere              |
    | -------------- | ------- | ------------------------------------------------ | ---------------------- |
    | `as_written`   | 0..4    | p_in, a wrong answer uniform over the other nine | a guess                |
    | `as_published` | 0..5    | with probability p_in, else a guess              | with 0.2, else a guess |

    As published, P(right) is p_in + (1 - p_in) / 10 inside and 0.28 elsewhere, better than the text's guess. The
    guesser guesses over all ten classes.

    Parameters
    ----------
    p_in : float
        The paper has 0.2, 0.4, 0.6, 0.8 and 0.95.
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> import numpy as np
    >>> pool = cifar10_sim2_pool(p_in=0.8, variant="as_published")
    >>> pool.expected_accuracy(np.full(10, 0.1)).round(3).tolist()
    [0.1, 0.604, 0.604, 0.604]
    """
    check_variant(variant)
    p_in = probability("p_in", p_in)
    if variant == "as_written":
        table = or_other_table(right_by_class(range(5), inside=p_in, outside=0.1, n_classes=N_CLASSES))
    else:
        table = or_guess_table(right_by_class(range(6), inside=p_in, outside=0.2, n_classes=N_CLASSES))
    others = (PoolExpert(f"expert_{j}", "label", table) for j in (2, 3, 4))
    return ExpertPool("cifar10_sim2", (PoolExpert("random", "label", guess_table(N_CLASSES)), *others))


def gradual_overlap_pool(*, overlap: float, variant: Variant) -> ExpertPool:
    """Return the pool of gradual overlap: ten experts, each an oracle on one class of its own.

    | variant        | class j | the other classes                                  |
    | -------------- | ------- | -------------------------------------------------- |
    | `as_written`   | right   | overlap, a wrong answer uniform over the other nine |
    | `as_published` | right   | with probability overlap, else a guess             |

    As published, P(right) on the other classes is overlap + (1 - overlap) / 10.

    Parameters
    ----------
    overlap : float
        The paper has 0.1, 0.2, 0.4, 0.6, 0.8 and 0.95; 1.0 was run and not shown.
    variant : {"as_written", "as_published"}

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> import numpy as np
    >>> gradual_overlap_pool(overlap=0.1, variant="as_written").expected_accuracy(np.full(10, 0.1)).round(3).tolist()
    [0.19, 0.19, 0.19, 0.19, 0.19, 0.19, 0.19, 0.19, 0.19, 0.19]
    """
    check_variant(variant)
    overlap = probability("overlap", overlap)
    as_table = or_other_table if variant == "as_written" else or_guess_table
    experts = []
    for own_class in range(N_CLASSES):
        right = right_by_class([own_class], inside=1.0, outside=overlap, n_classes=N_CLASSES)
        experts.append(PoolExpert(f"oracle_of_{own_class}", "label", as_table(right)))
    return ExpertPool("gradual_overlap", tuple(experts))
