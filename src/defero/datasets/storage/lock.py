"""One process at a time: a lock on a file, which the system opens again when its holder ends, however it ends."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from defero.core.errors import InputError

if sys.platform != "win32":
    import fcntl

_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # some file systems of clusters


@contextmanager
def locked(path: Path, *, busy: str | None = None) -> Iterator[None]:
    """Hold the lock file `path`, which is gone afterwards; its folder is made where it is missing.

    Windows and file systems without locks go on without one.

    Parameters
    ----------
    path : Path
    busy : str, optional
        What the error says where another holds it. Default: wait.
    """
    if sys.platform == "win32":
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = _held(path, wait=busy is None)
    except BlockingIOError as error:
        raise InputError(str(busy)) from error
    except OSError as error:
        raise InputError(f"{path.parent} cannot be written ({error}).") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        file.close()


def _held(path: Path, *, wait: bool) -> IO[bytes]:
    while True:
        file = path.open("ab")
        try:
            _lock(file, wait=wait)
            # Who held it before us has removed the file that we opened: it locks nothing any more.
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:
            pass
        except OSError:
            file.close()
            raise
        file.close()


def _lock(file: IO[bytes], *, wait: bool) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise
