"""Errors of the input: which argument, what was expected, what came, what to do.

The library names its arguments (`label`, `majority_label=True`). The command line has other spellings (`--label`,
`--majority-label`): it asks an error for its words with its own spelling, and no text is searched or replaced.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from defero.core.wording import printable

_NOTHING: Any = object()


@dataclass(frozen=True)
class Argument:
    """An argument that a message mentions, with or without a value.

    >>> str(Argument("label")), str(Argument("majority_label", True))
    ('label', 'majority_label=True')
    """

    name: str
    value: Any = _NOTHING

    @property
    def has_value(self) -> bool:
        """Whether the message says what to pass."""
        return self.value is not _NOTHING

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else self.name


class InputError(ValueError):
    """The input is wrong. On the command line: one sentence and exit status 2.

    Parameters
    ----------
    *pieces : str or Argument
        The message, piece by piece; pieces that are an `Argument` are spelled as the reader knows them.
    argument : str, optional
        The argument that is wrong; the message begins with it.

    Examples
    --------
    >>> error = InputError("must lie in (0, 1), got 2.", argument="alpha")
    >>> str(error), error.argument
    ('alpha must lie in (0, 1), got 2.', 'alpha')
    >>> error.message(lambda argument: f"--{argument.name}")
    '--alpha must lie in (0, 1), got 2.'
    >>> str(InputError("no labels; pass ", Argument("majority_label", True), "."))
    'no labels; pass majority_label=True.'
    """

    def __init__(self, *pieces: object, argument: str | None = None) -> None:
        self.pieces = pieces
        self.argument = argument
        super().__init__(self.message(str))

    def message(self, spell: Callable[[Argument], str]) -> str:
        """Return the message with every argument spelled by `spell`."""
        text = "".join(spell(piece) if isinstance(piece, Argument) else str(piece) for piece in self.pieces)
        text = printable(text)
        if self.argument is None:
            return text
        between = "" if text.startswith(":") else " "
        return f"{spell(Argument(self.argument))}{between}{text}"


class TableError(InputError):
    """A table cannot be used as it is: the message names file, row and column."""


class ModelFolderError(InputError):
    """A saved model is missing, damaged, or of another version."""
