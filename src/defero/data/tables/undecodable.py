r"""Bytes that are not UTF-8, marked where they stand, so that a table can be read on after them.

A byte such as 0xff becomes a character that no text has, followed by "xff".
"""

import codecs

MARKED_BYTES = "defero.marked_bytes"
"""The name of this way of decoding, as `open` takes it."""
_MARK = "\ufdd0"  # a noncharacter: never in a text that is meant for anybody else


def _marked(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"{_MARK}x{byte:02x}" for byte in bad), error.end


codecs.register_error(MARKED_BYTES, _marked)


def is_marked(text: str) -> bool:
    r"""Return whether some bytes of a text were not UTF-8.

    >>> is_marked(b"caf\xe9".decode("utf-8", errors=MARKED_BYTES)), is_marked("café")
    (True, False)
    """
    return _MARK in text


def plain_bytes(text: str) -> str:
    r"""Write marked bytes as escapes.

    >>> print(plain_bytes(b"caf\xe9".decode("utf-8", errors=MARKED_BYTES)))
    caf\xe9
    """
    return text.replace(_MARK, "\\")
