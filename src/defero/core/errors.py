"""Errors of the input: which argument, what was expected, what came, what to do.

The library names its arguments (`label`, `majority_label=True`). The command line has other spellings (`--label`,
`--majority-label`): it asks a message for its words with its own spelling, and no text is searched or replaced.
"""

import errno
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

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

    def __format__(self, spec: str) -> str:
        """Return marks inside a text, in which a `Message` or an `InputError` finds the argument again."""
        return f"{_START}{json.dumps(self.to_saved(), default=str)}{_END}"

    def to_saved(self) -> dict[str, Any]:
        """Return plain values."""
        return {"argument": self.name, **({"value": self.value} if self.has_value else {})}


_START, _END = "\ufdd2", "\ufdd3"
"""Noncharacters: never in a text that is meant for anybody else."""


def _pieces_of(piece: object) -> Iterable[object]:
    """Return the texts and arguments of one piece of a message."""
    if isinstance(piece, Message):
        return piece.pieces
    if not isinstance(piece, str) or _START not in piece:
        return (piece,)
    parts = re.split(f"{_START}(.*?){_END}", piece, flags=re.DOTALL)
    return [_found(one) if i % 2 else one for i, one in enumerate(parts) if one]


def _found(marked: str) -> object:
    """Return the argument between two marks, or the text: the marks may have come with a cell of somebody's file."""
    try:
        saved = json.loads(marked)
        return _argument(saved) if isinstance(saved["argument"], str) else marked
    except (LookupError, RecursionError, TypeError, ValueError):
        return marked


def _argument(saved: Mapping[str, Any]) -> Argument:
    return Argument(saved["argument"], saved.get("value", _NOTHING))


Spelling = Callable[[Argument], str]
"""How a reader writes an argument: in Python, or on a command line."""


class Message(str):
    """A sentence that mentions arguments: a text in Python's spelling, which can be spelled in another way.

    Examples
    --------
    >>> note = Message(f"no labels; pass {Argument('majority_label', True)}.")
    >>> note
    'no labels; pass majority_label=True.'
    >>> note.message(lambda argument: f"--{argument.name}")
    'no labels; pass --majority_label.'
    """

    pieces: tuple[object, ...]
    __slots__ = ("pieces",)

    def __new__(cls, *pieces: object) -> Self:
        """Join the pieces; those of another message, and texts with arguments inside, are taken apart."""
        flat = [part for piece in pieces for part in _pieces_of(piece)]
        sentence = super().__new__(cls, "".join(map(str, flat)))
        sentence.pieces = tuple(flat)
        return sentence

    def message(self, spell: Spelling) -> str:
        """Return the sentence with every argument spelled by `spell`."""
        return "".join(spell(piece) if isinstance(piece, Argument) else str(piece) for piece in self.pieces)

    def to_saved(self) -> tuple[str | Mapping[str, Any], ...]:
        """Return the pieces as `codec` keeps them."""
        return tuple(piece.to_saved() if isinstance(piece, Argument) else str(piece) for piece in self.pieces)

    @classmethod
    def from_saved(cls, saved: tuple[str | Mapping[str, Any], ...]) -> Self:
        """Rebuild what `to_saved` gave.

        >>> Message.from_saved(("pass ", {"argument": "label", "value": "truth"}))
        "pass label='truth'"
        """
        if not all(isinstance(one, str) or isinstance(one.get("argument"), str) for one in saved):
            raise ValueError("an argument without a name")
        return cls(*(one if isinstance(one, str) else _argument(one) for one in saved))


class InputError(ValueError):
    """The input is wrong. On the command line: one sentence and exit status 2.

    Parameters
    ----------
    *pieces : str or Argument
        The message; every `Argument`, as a piece or inside an f-string, is spelled as the reader knows it.
    argument : str, optional
        The argument that is wrong; the message begins with it. A message whose first piece is an `Argument` needs no
        other.

    Examples
    --------
    >>> error = InputError("must lie in (0, 1), got 2.", argument="alpha")
    >>> str(error), error.argument
    ('alpha must lie in (0, 1), got 2.', 'alpha')
    >>> error.message(lambda argument: f"--{argument.name}")
    '--alpha must lie in (0, 1), got 2.'
    >>> str(InputError(f"no labels; pass {Argument('majority_label', True)}."))
    'no labels; pass majority_label=True.'
    >>> InputError(Argument("out", "a.csv"), ": is the table of cases itself; choose another name.").argument
    'out'
    """

    def __init__(self, *pieces: object, argument: str | None = None) -> None:
        own = Message(*pieces)
        first = own.pieces[0] if own.pieces else ""
        between = "" if own.startswith(":") else " "
        self.sentence = own if argument is None else Message(Argument(argument), between, own)
        self.argument = first.name if argument is None and isinstance(first, Argument) else argument
        super().__init__(printable(self.sentence))

    @property
    def pieces(self) -> tuple[object, ...]:
        """The message, piece by piece."""
        return self.sentence.pieces

    def message(self, spell: Spelling) -> str:
        """Return the message with every argument spelled by `spell`."""
        return printable(self.sentence.message(spell))

    def within(self, *pieces: object) -> "InputError":
        """Return the same error with more in front: the file, or the argument, that it came from.

        >>> str(InputError("no such file.").within("against='other': "))
        "against='other': no such file."
        """
        return type(self)(*pieces, *self.pieces)


class TableError(InputError):
    """A table cannot be used as it is: the message names file, row and column."""


class ModelFolderError(InputError):
    """A saved model is missing, damaged, or of another version."""


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def why_not_written(error: OSError) -> str:
    """Return why a file cannot be written, and what to do.

    >>> why_not_written(OSError(errno.ENOSPC, "No space left on device"))
    'the disk is full; make room and run it again'
    """
    if error.errno in _FULL:
        return "the disk is full; make room and run it again"
    return f"{error.strerror or str(error) or type(error).__name__}; choose another folder"


def is_disk_full(error: BaseException) -> bool:
    """Tell whether an error means that no more can be written: disk, quota, or the largest size of a file."""
    return isinstance(error, OSError) and error.errno in _FULL
