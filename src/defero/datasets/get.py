"""Bring a data set into the data folder: download what can be, check everything, remember hashes seen first."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from defero.core.errors import InputError
from defero.datasets.catalog import DataFile, Dataset, find_dataset
from defero.datasets.files import CheckedFile, check_files, files_on_disk, form_here, how_to_get
from defero.datasets.storage.cache import data_folder, file_sha256, locked, read_records, update_records
from defero.datasets.storage.download import download
from defero.datasets.storage.unpack import unpack

FileProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Fetched:
    """A data set that is here.

    Attributes
    ----------
    entry : Dataset
    folder : Path
        The data folder.
    downloaded : tuple of str
        Paths of the registry that were downloaded now; empty where all was here.
    files : tuple of CheckedFile
    """

    entry: Dataset
    folder: Path
    downloaded: tuple[str, ...]
    files: tuple[CheckedFile, ...]


def get_dataset(
    name: str,
    *,
    folder: str | os.PathLike[str] | None = None,
    accept_licence: bool = False,
    progress: FileProgress | None = None,
) -> Fetched:
    """Make sure that a data set is here and whole.

    Parameters
    ----------
    name : str
        As in `dataset_names()`.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    accept_licence : bool
        Needed once, where something is downloaded for the first time: `find_dataset(name).licence` says which.
    progress : callable, optional
        Called with a file's name, its bytes so far and in all (None where unknown).
    """
    entry, root = find_dataset(name), data_folder(folder)
    if form_here(root, entry) is not None:
        return Fetched(entry, root, (), check_files(root, entry))
    sources = entry.of_form("source")
    if not sources or any(file.url is None for file in sources):
        raise InputError(how_to_get(root, entry))
    if asks_for_licence(root, entry):
        if not accept_licence:
            raise InputError(
                f"{name} has the licence: {entry.licence} ({entry.homepage}). To accept it and download pass "
                "accept_licence=True."
            )
        update_records(root, lambda records: records.with_licence(name))
    downloaded = [file.path for file in sources if _fetch(root, entry, file, progress=progress)]
    return Fetched(entry, root, tuple(downloaded), check_files(root, entry))


def asks_for_licence(root: Path, entry: Dataset) -> bool:
    """Tell whether `get_dataset` would download from a source whose licence nobody has accepted in this folder."""
    if form_here(root, entry) is not None or entry.name in read_records(root).licences:
        return False
    sources = entry.of_form("source")
    if any(file.url is None for file in sources):
        return False
    return any(files_on_disk(root, file) is None and not _brought(root, file) for file in sources)


def _brought(root: Path, file: DataFile) -> bool:
    """Tell an archive that somebody put into the folder: ours does not stay there."""
    return bool(file.members) and (root / file.path).is_file()


def _fetch(root: Path, entry: Dataset, file: DataFile, *, progress: FileProgress | None) -> bool:
    """Bring one file, and say whether that was needed."""
    target = root / file.path
    lock = target.with_name(f"{target.name}.lock")
    try:
        with locked(lock, busy=f"another process is getting {target}; wait for it, then try again"):
            if files_on_disk(root, file) is not None:
                return False
            hashes = _bring(root, file, progress=progress)
            update_records(root, lambda records: records.with_hashes(hashes))
    except InputError as error:
        said = str(error).rstrip(".")
        raise InputError(f"{entry.name}: {said}; or put {entry.by_hand} (in {root}; {entry.homepage}).") from error
    return True


def _bring(root: Path, file: DataFile, *, progress: FileProgress | None) -> dict[str, str]:
    """Download a file, or take the archive that is there, and unpack; return the sha256 of each path."""
    target, brought = root / file.path, _brought(root, file)

    def told(done: int, total: int | None) -> None:
        if progress is not None:
            progress(target.name, done, total)

    known = file.sha256 or read_records(root).sha256.get(file.path)
    try:
        if brought:
            hashes = {file.path: _hash_of_given(target, known)}
        else:
            hashes = {file.path: download(str(file.url), target, sha256=known, progress=told)}
        if file.members:
            for path in unpack(target, target.parent, members=file.members):
                hashes[path.relative_to(root).as_posix()] = file_sha256(path)
    finally:
        if file.members and not brought:
            target.unlink(missing_ok=True)
    return hashes


def _hash_of_given(archive: Path, known: str | None) -> str:
    """Return the hash of an archive that somebody put into the folder, if it is the right one."""
    found = file_sha256(archive)
    if known is not None and found != known:
        raise InputError(f"{archive} has the sha256 {found}, expected {known}: damaged, or another version.")
    return found
