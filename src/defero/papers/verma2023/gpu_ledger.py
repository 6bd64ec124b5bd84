"""How long a GPU was held for this reproduction, with what no run's line tells: trials, compilation, lost runs."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from defero.core.errors import InputError

LEDGER = "gpu_ledger.csv"
ALLOWED = 150
"""Minutes that we allow ourselves."""


class Sitting(NamedTuple):
    """One time that a GPU was held: minutes from the asking to the giving back, and what for."""

    minutes: float
    what: str


def read_ledger(path: Path) -> tuple[Sitting, ...]:
    """Read the table with the columns minutes and what; nothing where there is no file."""
    if not path.is_file():
        return ()
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    try:
        return tuple(Sitting(float(row["minutes"]), row["what"].strip()) for row in rows)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path} must have the columns minutes, a number, and what ({error!r}).") from error


def held_in_words(ledger: Sequence[Sitting]) -> str:
    """Say how long, in all and each time.

    >>> print(held_in_words([Sitting(28.4, "trials"), Sitting(1.2, "runs")]))
    The GPU was held for 30 minutes in all, of the 150 that we allow ourselves: 28 for trials; 1 for runs.
    """
    if not ledger:
        return "No GPU was held."
    total = sum(sitting.minutes for sitting in ledger)
    each = "; ".join(f"{sitting.minutes:.0f} for {sitting.what}" for sitting in ledger)
    return f"The GPU was held for {total:.0f} minutes in all, of the {ALLOWED} that we allow ourselves: {each}."
