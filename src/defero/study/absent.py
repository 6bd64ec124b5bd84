"""Absences: experts of a team, or members of a pool, who cannot be asked, by name."""

from collections.abc import Sequence

import numpy as np

from defero.core.checks.arrays import BoolArray
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names


def available_without(absent: Sequence[str], expert_names: tuple[str, ...]) -> list[bool]:
    """Return who can be asked, (J,); refuse names that nobody has.

    >>> available_without(["bob"], ("ann", "bob"))
    [True, False]
    """
    check_absent(absent)
    unknown = [name for name in absent if name not in expert_names]
    if unknown and not expert_names:
        raise InputError(Argument("absent", unknown[:1]), ": the model knows no experts; leave it out.")
    if unknown:
        hint = did_you_mean(unknown[0], expert_names)
        raise InputError(
            Argument("absent", unknown[:1]), f": no such expert{hint} The model knows {join_names(expert_names)}."
        )
    return [name not in absent for name in expert_names]


def present_members(absent: Sequence[str], expert_names: tuple[str, ...]) -> BoolArray | None:
    """Return who of a pool is left, (J,), None for everybody: a pool has no model that could answer alone.

    >>> present_members([], ("ann", "bob")) is None
    True
    """
    present = np.array(available_without(absent, expert_names))
    if not present.any():
        raise InputError(Argument("absent", list(absent)), ": nobody of the pool is left.")
    return present if absent else None


def check_absent(absent: Sequence[str]) -> None:
    """Refuse one name where a list is expected: it would be read letter by letter."""
    if isinstance(absent, str):
        raise InputError("must be a list of names; pass ", Argument("absent", [absent]), ".", argument="absent")
