"""Where data sets lie, and what is recorded there: hashes of first downloads, and licences that were accepted."""

import errno
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from defero.core.errors import InputError

if sys.platform != "win32":
    import fcntl

Folder = str | os.PathLike[str] | None
"""The data folder as somebody passes it. None: DEFERO_DATA, else the user's cache folder."""
ROOT_VARIABLE = "DEFERO_DATA"
RECORDS = "defero-records.json"
_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # some file systems of clusters


def data_folder(folder: Folder = None) -> Path:
    """Return the folder of all data sets: the given one, else DEFERO_DATA, else the user's cache folder.

    >>> data_folder("somewhere").as_posix()
    'somewhere'
    """
    if folder is not None:
        return Path(folder)
    named = os.environ.get(ROOT_VARIABLE)
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "defero"


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tree_sha256(folder: Path) -> str:
    """Return one sha256 for all files below a folder: of the lines "sha256  path", sorted by path.

    A file that is missing, added, renamed or changed gives another hash.
    """
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = "".join(f"{file_sha256(folder / path)}  {path}\n" for path in paths)
    return hashlib.sha256(lines.encode()).hexdigest()


@dataclass(frozen=True)
class FolderRecords:
    """What is remembered of a data folder.

    Attributes
    ----------
    sha256 : mapping
        Path below the folder -> the hash at its first download.
    licences : tuple of str
        Names of the data sets whose licence was accepted.
    """

    sha256: Mapping[str, str] = field(default_factory=dict)
    licences: tuple[str, ...] = ()


def read_records(root: Path) -> FolderRecords:
    """Read what is remembered of a data folder; nothing where nothing is."""
    path = root / RECORDS
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return FolderRecords(
            {str(key): str(value) for key, value in raw["sha256"].items()}, tuple(str(one) for one in raw["licences"])
        )
    except FileNotFoundError:
        return FolderRecords()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error}); delete it, and hashes are recorded anew.") from error


def update_records(root: Path, *, sha256: Mapping[str, str] | None = None, licences: tuple[str, ...] = ()) -> None:
    """Add hashes and accepted licences to the records as they are now, whole or not at all, one process at a time.

    Records that were read earlier are old: another process may have written since.
    """
    with locked(root / f"{RECORDS}.lock"):
        records = read_records(root)
        hashes = sorted({**records.sha256, **(sha256 or {})}.items())
        known = {"licences": sorted({*records.licences, *licences}), "sha256": dict(hashes)}
        part = root / f"{RECORDS}.part"
        part.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
        os.replace(part, root / RECORDS)


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
