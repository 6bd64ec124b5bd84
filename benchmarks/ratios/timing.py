"""CPU seconds of two ways to the same, in turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

REPEATS = 5


@dataclass(frozen=True)
class Pair:
    """An operation of defero, and the plain formulation that bounds it.

    Attributes
    ----------
    ours, plain : callables without arguments
    limit : float
        The largest ratio of their times that we accept.
    beside : str
        What the plain formulation is.
    """

    ours: Callable[[], Any]
    plain: Callable[[], Any]
    limit: float
    beside: str


def seconds(call: Callable[[], Any]) -> float:
    """Return the CPU seconds of one call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def measure(pair: Pair, *, repeats: int = REPEATS) -> dict[str, Any]:
    """Return the best of a few, in turns, and the ratio."""
    turns = [(seconds(pair.ours), seconds(pair.plain)) for _ in range(repeats)]
    ours, plain = (min(column) for column in zip(*turns, strict=True))
    return {
        "cpu_s": float(f"{ours:.3g}"),
        "plain_cpu_s": float(f"{plain:.3g}"),
        "ratio": float(f"{ours / plain:.3g}"),
        "limit": pair.limit,
        "within": ours / plain <= pair.limit,
        "beside": pair.beside,
    }
