"""What goes wrong, told to the person who can mend it: the argument, what was expected, what came, what to do."""

from collections.abc import Iterable


class InputError(ValueError):
    """The input is wrong. On the command line: one sentence and exit status 2."""


class TableError(InputError):
    """A table cannot be used as it is: the message names file, row and column."""


class ModelFolderError(InputError):
    """A saved model is missing, damaged, or of another version."""


def listing(values: Iterable[object], *, most: int = 12) -> str:
    r"""Write values as a short list for a sentence, on one line whatever they hold.

    >>> listing(["benign", "malign"])
    'benign, malign'
    >>> listing(range(15), most=3)
    '0, 1, 2, ... (15 in all)'
    >>> listing(["a\nname"])
    'a name'
    """
    texts = [" ".join(str(value).split()) for value in values]
    if len(texts) <= most:
        return ", ".join(texts)
    return f"{', '.join(texts[:most])}, ... ({len(texts)} in all)"
