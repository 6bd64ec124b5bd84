"""Unpack an archive that nobody has checked: all files stay inside the folder, and only plain files are written."""

import lzma
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any

from defero.core.errors import InputError, is_disk_full

MOST_BYTES = 8 << 30
MOST_FILES = 200_000
_PIECE = 1 << 20
Entry = tuple[str, str, Callable[[], Any]]
_UNREADABLE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)


def unpack(
    archive: Path,
    folder: Path,
    *,
    members: Sequence[str] = (),
    most_bytes: int = MOST_BYTES,
    most_files: int = MOST_FILES,
) -> tuple[Path, ...]:
    """Unpack a zip or tar archive into `folder` and return the files, all of them or none.

    Paths that are absolute or climb with `..`, links, devices, names that come twice, and more than `most_bytes`
    or `most_files` are refused, and then nothing is left behind: everything is unpacked to one side first.
    Owners, modes and times of the archive are not taken over.

    Parameters
    ----------
    archive : Path
    folder : Path
    members : ends of paths, optional
        Take these alone, and stop when they are found: what lies behind them is not read.
    most_bytes, most_files : int
        What is more than that is no data set but an attack.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpacking-", dir=folder) as scratch:
        room = Path(scratch)
        try:
            taken = _extract(archive, room, members=members, most_bytes=most_bytes, most_files=most_files)
        except _UNREADABLE as error:
            raise InputError(f"{archive.name} is no archive that can be read ({error}); get it again.") from error
        except OSError as error:
            if is_disk_full(error):
                raise InputError(f"the disk of {folder} is full; make room and try again.") from error
            raise InputError(f"{archive.name} cannot be unpacked into {folder} ({error}).") from error
        for path in taken:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(room / path, folder / path)
    return tuple(folder / path for path in taken)


def _extract(
    archive: Path, room: Path, *, members: Sequence[str], most_bytes: int, most_files: int
) -> tuple[PurePosixPath, ...]:
    taken: list[PurePosixPath] = []
    waiting, written = list(members), 0
    with _entries(archive) as entries:
        for count, (name, kind, content_of) in enumerate(entries, start=1):
            path = _safe_path(archive, name)
            if kind not in ("a file", "a folder"):
                raise InputError(f"{archive.name}: {name} is {kind}; such an archive is not unpacked.")
            if count > most_files:
                raise InputError(f"{archive.name} holds more than {most_files} files; it is not unpacked.")
            wanted = [member for member in waiting if _ends(path, member)]
            if kind == "a folder" or (members and not wanted):
                continue
            with content_of() as content:
                written += _copy(archive, content, room / path, most=most_bytes - written, limit=most_bytes)
            taken.append(path)
            waiting = [member for member in waiting if member not in wanted]
            if members and not waiting:
                break
    if waiting:
        raise InputError(f"{archive.name} must contain {waiting[0]}, and it does not: it is another archive.")
    return tuple(taken)


def _copy(archive: Path, content: IO[bytes], target: Path, *, most: int, limit: int) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    try:
        with target.open("xb") as file:
            while piece := content.read(_PIECE):
                written += len(piece)
                if written > most:
                    raise InputError(f"{archive.name} unpacks to more than {limit} bytes; it is not unpacked.")
                file.write(piece)
    except FileExistsError as error:
        raise InputError(f"{archive.name} names {target.name} twice; such an archive is not unpacked.") from error
    return written


def _safe_path(archive: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if not name:
        raise InputError(f"{archive.name}: a member is without a name; such an archive is not unpacked.")
    drive = bool(path.parts) and ":" in path.parts[0]
    if path.is_absolute() or ".." in path.parts or drive or "\\" in name or "\0" in name:
        raise InputError(f"{archive.name}: {name!r} leads out of the folder; such an archive is not unpacked.")
    return path


def _ends(path: PurePosixPath, member: str) -> bool:
    return path.as_posix() == member or path.as_posix().endswith(f"/{member}")


@contextmanager
def _entries(archive: Path) -> Iterator[Iterator[Entry]]:
    """Open an archive as (name, what it is, how it is opened), one after the other."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            yield ((one.filename, _zip_kind(one), partial(opened.open, one)) for one in opened.infolist())
    else:
        with tarfile.open(archive, "r|*") as stream:
            yield ((one.name, _tar_kind(one), partial(stream.extractfile, one)) for one in stream)


def _zip_kind(info: zipfile.ZipInfo) -> str:
    mode = stat.S_IFMT(info.external_attr >> 16)
    if mode not in {0, stat.S_IFREG, stat.S_IFDIR}:
        return "a link" if mode == stat.S_IFLNK else "no plain file"
    return "a folder" if info.filename.endswith("/") else "a file"


def _tar_kind(info: tarfile.TarInfo) -> str:
    if info.issym() or info.islnk():
        return "a link"
    return "a folder" if info.isdir() else "a file" if info.isreg() else "no plain file"
