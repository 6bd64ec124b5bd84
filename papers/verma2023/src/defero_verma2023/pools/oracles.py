"""The pools of the conformal experiments on CIFAR-10: oracles among ten experts, with and without noise."""

from collections.abc import Collection, Iterable
from typing import Literal, get_args

import numpy as np

from defero import InputError
from defero_verma2023.arrays import FloatArray
from defero_verma2023.pools.checks import check_generator, class_mask, numbers_below, whole_number
from defero_verma2023.pools.pool import ExpertPool, PoolExpert, Variant, check_variant
from defero_verma2023.pools.tables import or_guess_table, or_other_table

Noise = Literal["none", "uniform"]

_NAMES: dict[Noise, str] = {"none": "oracles_without_noise", "uniform": "oracles_with_noise"}

N_CLASSES = 10
N_EXPERTS = 10
N_KNOWN = 5  # classes that the oracles know, in the authors' runs without noise


def oracle_pool(
    *, n_oracles: int, noise: Noise, variant: Variant, rng: np.random.Generator | None = None
) -> ExpertPool:
    """Return ten experts of whom `n_oracles` know some classes S; the others are no oracles anywhere.

    P(right), with m = n_oracles:

    | noise     | variant        | S                   | oracle in S | other in S | outside S |
    | --------- | -------------- | ------------------- | ----------- | ---------- | --------- |
    | "none"    | `as_written`   | 0..m-1              | 1           | 0          | 0         |
    | "none"    | `as_published` | 5 classes at random | 1           | 0          | 0.2       |
    | "uniform" | `as_written`   | 0..m-1              | 1           | 0.1        | 0.1       |
    | "uniform" | `as_published` | 0..m-1              | 0.955       | 0.19       | 0.2       |

    `as_written`: the classes grow with the number of oracles. Without noise experts are "guaranteed to be wrong"
    where they are no oracles, here uniformly over the nine other classes; with noise they guess there.

    `as_published`: without noise S is always five random classes and the oracles sit at random places; whoever is
    wrong, and everybody outside S, answers uniformly over the five classes outside S, so one in five is right
    there. With noise an expert gives the label with a probability, else guesses: 0.95 (oracle in S), 0.1 (other in
    S), 1 / 9 (outside S). But for the random places, the oracles are the first m experts.

    Parameters
    ----------
    n_oracles : int
        m, from 1 to 10.
    noise : {"none", "uniform"}
    variant : {"as_written", "as_published"}
    rng : numpy.random.Generator, optional
        Draws S and the oracles' places; for "none" as published, and for it alone.

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> pool = oracle_pool(n_oracles=3, noise="uniform", variant="as_written")
    >>> pool.expected_accuracy(np.full(10, 0.1)).round(2).tolist()
    [0.37, 0.37, 0.37, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    """
    check_variant(variant)
    n_oracles = whole_number("n_oracles", n_oracles, least=1)
    if n_oracles > N_EXPERTS:
        raise InputError(f"must be at most {N_EXPERTS}, got {n_oracles}.", argument="n_oracles")
    if noise not in get_args(Noise):
        raise InputError(f"must be one of {', '.join(get_args(Noise))}, got {noise!r}.", argument="noise")
    if noise == "none" and variant == "as_published":
        if rng is None:
            raise InputError(
                "is needed: without noise, as published, the classes and places are random.", argument="rng"
            )
        check_generator(rng)
        classes = rng.permutation(N_CLASSES)[:N_KNOWN]
        return noiseless_oracle_pool(classes=classes, oracles=rng.permutation(N_EXPERTS)[:n_oracles])
    if rng is not None:
        raise InputError(
            f"must be left out: with noise {noise!r}, {variant}, no part of the pool is random.", argument="rng"
        )
    known = np.arange(N_CLASSES) < n_oracles
    if variant == "as_published":
        tables = [or_guess_table(np.where(known, in_field, 1 / 9)) for in_field in (0.95, 0.1)]
    else:
        as_table = or_other_table if noise == "none" else or_guess_table
        tables = [as_table(np.where(known, in_field, 0.0)) for in_field in (1.0, 0.0)]
    return _pool(_NAMES[noise], range(n_oracles), oracle_table=tables[0], other_table=tables[1])


def noiseless_oracle_pool(*, classes: Iterable[int], oracles: Iterable[int]) -> ExpertPool:
    """Return the pool without noise, as published, for known classes S and places of the oracles.

    `oracle_pool` draws both at random. An oracle says y in S; whoever else, and everybody outside S, answers
    uniformly over the classes outside S.

    Parameters
    ----------
    classes : class numbers
        S: at least one, and not all ten.
    oracles : expert numbers 0..9
        Who of the ten is an oracle.

    Returns
    -------
    ExpertPool

    Examples
    --------
    >>> pool = noiseless_oracle_pool(classes=[0, 1, 2, 3, 4], oracles=[9])
    >>> pool.expected_accuracy(np.full(10, 0.1)).round(2).tolist()
    [0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.6]
    """
    known = class_mask(classes, n_classes=N_CLASSES)
    if not 0 < known.sum() < N_CLASSES:
        raise InputError(
            f"must be 1 to {N_CLASSES - 1} of the {N_CLASSES} classes, got {known.sum()}.", argument="classes"
        )
    outside = np.tile(~known / np.sum(~known), (N_CLASSES, 1))
    oracle_table = np.where(known[:, None], np.eye(N_CLASSES), outside)
    places = numbers_below("oracles", list(oracles), end=N_EXPERTS, what="expert")
    return _pool(_NAMES["none"], places.tolist(), oracle_table=oracle_table, other_table=outside)


def _pool(name: str, oracles: Collection[int], *, oracle_table: FloatArray, other_table: FloatArray) -> ExpertPool:
    experts = (
        PoolExpert(f"oracle_{j + 1}", "label", oracle_table)
        if j in oracles
        else PoolExpert(f"other_{j + 1}", "label", other_table)
        for j in range(N_EXPERTS)
    )
    return ExpertPool(name, tuple(experts))
