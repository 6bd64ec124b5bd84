"""Checks of single values: each returns it clean or raises an error that names the argument."""

import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from defero.core.errors import InputError
from defero.core.wording import did_you_mean, join_names


def whole_number(name: str, value: Any, *, least: int) -> int:
    """Return an int of at least `least`; 20.0 is taken as 20.

    >>> whole_number("n_bins", 20, least=1)
    20
    """
    try:
        number = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except TypeError as error:
        raise InputError(f"must be a whole number of at least {least}, got {value!r}.", argument=name) from error
    if number < least:
        raise InputError(f"must be a whole number of at least {least}, got {value}.", argument=name)
    return number


def probability(name: str, value: float) -> float:
    """Return a number in [0, 1].

    >>> probability("p_in", 0.7)
    0.7
    """
    if not 0 <= value <= 1:
        raise InputError(f"must be a probability in [0, 1], got {value}.", argument=name)
    return float(value)


def share(name: str, value: float, *, example: str) -> float:
    """Return a number inside (0, 1); `example` says what to pass, such as "for a 95% interval pass 0.95".

    >>> share("level", 0.95, example="for a 95% interval pass 0.95")
    0.95
    """
    if not 0 < value < 1:
        raise InputError(f"must lie in (0, 1), got {value}; {example}.", argument=name)
    return float(value)


def one_of(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise if a value is not one of the choices.

    >>> one_of("method", "plat", ("platt", "none"))
    Traceback (most recent call last):
    defero.core.errors.InputError: method must be one of platt, none, got 'plat'; did you mean 'platt'?
    """
    known = tuple(choices)
    if value not in known:
        guess = did_you_mean(str(value), [str(choice) for choice in known])
        raise InputError(f"must be one of {join_names(known, most=30)}, got {value!r}{guess}", argument=name)


def check_generator(rng: np.random.Generator) -> None:
    """Raise if this is not a generator: a seed would repeat the same draws for every expert."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(
            f"must be a numpy.random.Generator, got {type(rng).__name__}; pass np.random.default_rng(seed).",
            argument="rng",
        )
