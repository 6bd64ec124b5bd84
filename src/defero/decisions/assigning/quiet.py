"""Keep what a solver prints away from standard output."""

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_LOCK = Lock()
"""Standard output belongs to the whole process: two solves must not move it at once."""
_PRINTED = b"Highs"


@contextmanager
def without_solver_lines() -> Iterator[None]:
    """Drop the lines that HiGHS prints in C, whatever its options; lines that other threads print are kept.

    Programs that print JSON or CSV would break at such a line.
    """
    with _LOCK:
        try:
            standard = os.dup(1)
        except OSError:  # no standard output
            yield
            return
        with tempfile.TemporaryFile() as lines:
            _flush()
            os.dup2(lines.fileno(), 1)
            try:
                yield
            finally:
                _flush()
                os.dup2(standard, 1)
                os.close(standard)
                lines.seek(0)
                other_lines = b"".join(line for line in lines if not line.startswith(_PRINTED))
                while other_lines:
                    other_lines = other_lines[os.write(1, other_lines) :]


def _flush() -> None:
    """Write what the C library still holds."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
