"""Absences: experts who cannot be asked, by name."""

from collections.abc import Sequence

from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean, join_names


def available_without(absent: Sequence[str], expert_names: tuple[str, ...]) -> list[bool]:
    """Return who can be asked, (J,); refuse names that nobody has.

    >>> available_without(["bob"], ("ann", "bob"))
    [True, False]
    """
    check_absent(absent)
    for name in absent:
        if not expert_names:
            raise InputError(Argument("absent", [name]), ": the model knows no experts; leave it out.")
        if name not in expert_names:
            hint = did_you_mean(name, expert_names)
            raise InputError(
                Argument("absent", [name]), f": no such expert{hint} The model knows {join_names(expert_names)}."
            )
    return [name not in absent for name in expert_names]


def check_absent(absent: Sequence[str]) -> None:
    """Refuse one name where a list is expected: it would be read letter by letter."""
    if isinstance(absent, str):
        raise InputError("must be a list of names; pass ", Argument("absent", [absent]), ".", argument="absent")
