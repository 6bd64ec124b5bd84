"""Files and folders that are written whole or not at all, and survive a kill or a power cut.

The new one is written beside the old one and synced to the disk; then it takes the name. Two folders exchange their
names, so that the target exists at every moment. Only files whose names are known are ever deleted.
"""

import ctypes
import errno
import gzip
import hashlib
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from defero.core.errors import TableError, is_disk_full, why_not_written

DRAFT, PART = ".draft", ".part"
STALE_SECONDS = 86_400.0
"""A draft or a part that nobody has written to for so long belongs to a process that was killed."""
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD
_CANNOT_EXCHANGE = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM}
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}


def replace_folder(target: Path, files: Mapping[str, bytes], *, deletable: Collection[str]) -> None:
    """Make `target` a folder that holds these files and nothing else.

    Permissions are those that the user's umask gives to new folders and files.

    Parameters
    ----------
    target : Path
        An absolute path. Absent, or a folder whose files may be deleted: the caller has checked that.
    files : mapping
        The content of each file, by its name.
    deletable : collection of str
        Names of files that may be deleted in the folder that was there before.
    """
    _remove_stale_drafts(target, deletable)
    draft = target.with_name(f".{target.name}-{secrets.token_hex(8)}{DRAFT}")
    draft.mkdir()
    try:
        for name, content in files.items():
            with (draft / name).open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        sync_folder(draft)
        _put_in_place(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)  # made by this call, or moved back: nobody else's
        raise
    sync_folder(target.parent)
    _remove(draft, deletable)


def drafts_of(target: Path) -> list[Path]:
    """Return the folders that were written beside a target and have not taken its name, the newest first."""
    drafts = [path for path in target.parent.glob(f".{_escaped(target.name)}-*{DRAFT}") if path.is_dir()]
    return sorted(drafts, key=_changed, reverse=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange the names of two folders in a single step; False where the system cannot do that."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    if renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in _CANNOT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(other))


def _put_in_place(draft: Path, target: Path) -> None:
    """Give the draft its name; a folder that was there before has the draft's name afterwards."""
    while True:
        try:
            if target.exists():
                if not exchange(draft, target):
                    _exchange_in_steps(draft, target)
            else:
                draft.rename(target)
            return
        except FileNotFoundError:
            if not draft.exists():
                raise
        except OSError as error:
            if error.errno not in _TAKEN:  # another process has made the target in between
                raise


def _exchange_in_steps(draft: Path, target: Path) -> None:
    """Exchange two folders where the system cannot do it at once; readers find the draft in the gap."""
    old = draft.with_name(f"{draft.name.removesuffix(DRAFT)}.old{DRAFT}")
    target.rename(old)
    try:
        draft.rename(target)
    except BaseException:
        old.rename(target)
        raise
    old.rename(draft)


def _remove(folder: Path, deletable: Collection[str]) -> None:
    """Delete files by their names, and the folder where nothing else is in it."""
    for name in deletable:
        (folder / name).unlink(missing_ok=True)
    try:
        folder.rmdir()
    except FileNotFoundError:
        return
    except OSError:
        warnings.warn(f"{folder}: holds files that are not part of a model; it was left as it is.", stacklevel=5)


def _remove_stale_drafts(target: Path, deletable: Collection[str]) -> None:
    """Delete what killed processes left behind, once there is a target."""
    if target.exists():
        for draft in drafts_of(target):
            if _is_stale(draft) and {path.name for path in draft.iterdir()} <= {*deletable}:
                _remove(draft, deletable)


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process has removed it
        return time.time()


def _is_stale(path: Path) -> bool:
    return time.time() - _changed(path) > STALE_SECONDS


def sync_folder(folder: Path) -> None:
    """Write a folder's entries to the disk; not every system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _escaped(name: str) -> str:
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in name)


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.name.lower().endswith(".gz")


@contextmanager
def whole_file(target: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears only when the block ends without an error; one whose name ends in .gz is compressed."""
    if target.is_dir():
        raise TableError(f"{target}: is a folder; name a file to write.")
    if not target.parent.is_dir():
        raise TableError(f"{target}: the folder {target.parent} does not exist; make it first.")
    remove_stale_parts(target)
    part = target.with_name(f"{_part_prefix(target)}{secrets.token_hex(8)}{PART}")
    try:
        raw = part.open("wb")
    except OSError as error:
        raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
    try:
        with raw:
            if is_compressed(target):
                # mtime: the same content gives the same bytes.
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
            raw.flush()
            os.fsync(raw.fileno())  # before the rename: a power cut must not leave an empty file under the name
        os.replace(part, target)
    except OSError as error:
        if is_disk_full(error):
            raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
        raise
    finally:
        part.unlink(missing_ok=True)


def write_whole(target: Path, content: bytes) -> None:
    """Write a file whole or not at all; raises with the reason where it cannot be written."""
    try:
        with whole_file(target) as file:
            file.write(content)
    except OSError as error:
        raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error


def remove_stale_parts(target: Path) -> None:
    """Delete what runs that were killed left beside a target."""
    for part in target.parent.glob(f"{_part_prefix(target)}*{PART}"):
        if _is_stale(part):
            with suppress(OSError):
                part.unlink()


def _part_prefix(target: Path) -> str:
    """Return how the hidden files of a target begin; short, whatever the length of its name."""
    return f".{hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()}-"
