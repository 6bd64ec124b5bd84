"""The files of a data set: are they on disk and unchanged, and if not, get them.

What can be downloaded is downloaded, everything is checked, and hashes seen first are recorded.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from defero.core.errors import Argument, InputError
from defero.data.recipes.pictures import decode_picture
from defero.datasets.catalog import DATASETS, DataFile, Dataset, Form
from defero.datasets.download import MOST_BYTES, download
from defero.datasets.folder import (
    RECORDS,
    Folder,
    data_folder,
    file_sha256,
    locked,
    read_records,
    tree_sha256,
    update_records,
)
from defero.datasets.unpack import unpack
from defero.datasets.values import Pictures

Standing = Literal["as registered", "as at the first download", "not known"]


@dataclass(frozen=True)
class CheckedFile:
    """One file on disk, its sha256, and what that was compared with."""

    path: str
    sha256: str
    standing: Standing


def files_on_disk(root: Path, file: DataFile) -> list[Path] | None:
    """Return the paths of a data set's file, or an archive's members; None where some are missing."""
    if not file.members:
        paths = sorted(root.glob(file.path)) if "*" in file.path else [root / file.path]
        return [path for path in paths if "*" in file.path or path.is_file()] or None
    home = (root / file.path).parent
    paths = [path for path in (member_path(home, end) for end in file.members) if path is not None]
    return paths if len(paths) == len(file.members) else None


def member_path(home: Path, member: str) -> Path | None:
    """Return the file below `home` whose path ends with `member`; None where there is none.

    An archive, or the person who unpacked it, may have put one more folder around it.
    """
    if (home / member).is_file():
        return home / member
    return next(iter(sorted(path for path in home.glob(f"**/{member}") if path.is_file())), None)


def form_here(root: Path, entry: Dataset) -> Form | None:
    """Return the form in which a data set is complete in the folder, ours before the source's; None where it is not."""
    forms: tuple[Form, ...] = ("compact", "source")
    for form in forms:
        files = entry.of_form(form)
        if files and all(files_on_disk(root, file) is not None for file in files):
            return form
    return None


def check_files(root: Path, entry: Dataset) -> tuple[CheckedFile, ...]:
    """Compare every file of a data set with its sha256, and raise where one differs."""
    recorded = read_records(root).sha256
    checked = []
    for file in entry.of_form(_form(root, entry)):
        for path in [] if "*" in file.path else files_on_disk(root, file) or []:
            inside = path.relative_to(root).as_posix()
            registered, sha256 = None if file.members else file.sha256, file_sha256(path)
            expected = registered or recorded.get(inside, sha256)
            _compare(entry, path, sha256, expected)
            first: Standing = "as at the first download" if inside in recorded else "not known"
            checked.append(CheckedFile(inside, sha256, "as registered" if registered else first))
    if entry.tree is not None:
        sha256 = tree_sha256(root / entry.tree)
        _compare(entry, root / entry.tree, sha256, entry.tree_sha256)
        checked.append(CheckedFile(f"{entry.tree}/", sha256, "as registered"))
    return tuple(checked)


def _compare(entry: Dataset, path: Path, sha256: str, expected: str | None) -> None:
    if sha256 != expected:
        raise InputError(
            f"{path}: its sha256 is {sha256}, expected {expected}; it is damaged or another version of {entry.name}: "
            "delete it and get it again."
        )


def how_to_get(root: Path, entry: Dataset) -> str:
    """Return one sentence: how this data set gets into the data folder."""
    hand = f"put {entry.by_hand} (in {root}; source: {entry.homepage})"
    if any(file.url for file in entry.files):
        return f"{entry.name} is not in {root}: run `defero datasets get {entry.name}`, or {hand}."
    return f"{entry.name} is not in {root} and cannot be downloaded: {hand}."


def _form(root: Path, entry: Dataset) -> Form:
    """Return the form in which a data set is in the folder; raise with the way to get it where it is not."""
    form = form_here(root, entry)
    if form is None:
        raise InputError(how_to_get(root, entry))
    return form


def located(name: str, folder: Folder = None) -> tuple[Path, bool]:
    """Return the folder of a data set's files, and whether they are our compact form; raise where there are none."""
    entry, root = DATASETS.find(name), data_folder(folder)
    form = _form(root, entry)
    return root / Path(entry.of_form(form)[0].path).parts[0], form == "compact"


FileProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class Fetched:
    """A data set in the data folder.

    Attributes
    ----------
    entry : Dataset
    folder : Path
        The data folder.
    downloaded : tuple of str
        Paths that were downloaded now; empty where nothing was missing.
    files : tuple of CheckedFile
    """

    entry: Dataset
    folder: Path
    downloaded: tuple[str, ...]
    files: tuple[CheckedFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the files and their checksums, in types that JSON knows."""
        files = [{"path": f.path, "sha256": f.sha256, "sha256_is": f.standing} for f in self.files]
        return {
            "name": self.entry.name,
            "folder": str(self.folder),
            "downloaded": list(self.downloaded),
            "files": files,
        }

    def describe(self) -> list[str]:
        """Say where the files are and how their checksums compare."""
        standings = Counter(sorted(file.standing for file in self.files))
        counts = [f"{count} {standing}" for standing, count in standings.items()]
        verb = "Downloaded to" if self.downloaded else "It is in"
        lines = [f"{verb} {self.folder}. Checksums: {', '.join(counts) or 'none to compare'}."]
        if self.downloaded and standings["as at the first download"]:
            lines.append(
                "The source states no sha256 that we know. Those of the files of the first download are recorded in "
                f"{RECORDS} there, and every later `defero datasets get {self.entry.name}` compares with them."
            )
        return lines


def get_dataset(
    name: str,
    *,
    folder: Folder = None,
    accept_licence: bool = False,
    progress: FileProgress | None = None,
) -> Fetched:
    """Get a data set into the data folder and check its files.

    Parameters
    ----------
    name : str
        One of `DATASETS`.
    folder : path, optional
        The data folder. Default: DEFERO_DATA, else the user's cache folder.
    accept_licence : bool
        Needed once, where something is downloaded for the first time: `DATASETS.find(name).licence` says which.
    progress : callable, optional
        Called with a file's name, its bytes so far and in all (None where unknown).
    """
    entry, root = DATASETS.find(name), data_folder(folder)
    if form_here(root, entry) is not None:
        return Fetched(entry, root, (), check_files(root, entry))
    sources = entry.of_form("source")
    if not sources or any(file.url is None for file in sources):
        raise InputError(how_to_get(root, entry))
    if asks_for_licence(root, entry):
        if not accept_licence:
            raise InputError(
                f"{name} has the licence: {entry.licence} ({entry.homepage}). To accept it and download pass "
                f"{Argument('accept_licence', True)}."
            )
        update_records(root, licences=(name,))
    downloaded = [file.path for file in sources if _fetch(root, entry, file, progress=progress)]
    return Fetched(entry, root, tuple(downloaded), check_files(root, entry))


def asks_for_licence(root: Path, entry: Dataset) -> bool:
    """Return whether `get_dataset` would download from a source whose licence was not accepted in this folder."""
    if form_here(root, entry) is not None or entry.name in read_records(root).licences:
        return False
    sources = entry.of_form("source")
    if any(file.url is None for file in sources):
        return False
    return any(files_on_disk(root, file) is None and not _is_users_archive(root, file) for file in sources)


def _is_users_archive(root: Path, file: DataFile) -> bool:
    """Return whether the user put an archive into the folder: one that we download is deleted again."""
    return bool(file.members) and (root / file.path).is_file()


def _fetch(root: Path, entry: Dataset, file: DataFile, *, progress: FileProgress | None) -> bool:
    """Get one file; return whether that was needed."""
    target = root / file.path
    lock = target.with_name(f"{target.name}.lock")
    try:
        with locked(lock, busy=f"another process is getting {target}; wait for it, then try again"):
            if files_on_disk(root, file) is not None:
                return False
            hashes = _download_or_unpack(root, file, progress=progress)
            update_records(root, sha256=hashes)
    except InputError as error:
        reason = str(error).rstrip(".")
        raise InputError(f"{entry.name}: {reason}; or put {entry.by_hand} (in {root}; {entry.homepage}).") from error
    return True


def _download_or_unpack(root: Path, file: DataFile, *, progress: FileProgress | None) -> dict[str, str]:
    """Download a file, or take the user's archive, and unpack; return the sha256 of each path."""
    target, users_archive = root / file.path, _is_users_archive(root, file)

    def report(done: int, total: int | None) -> None:
        if progress is not None:
            progress(target.name, done, total)

    known = file.sha256 or read_records(root).sha256.get(file.path)
    try:
        if users_archive:
            hashes = {file.path: file_sha256(target)}
            if known not in (None, hashes[file.path]):
                raise InputError(
                    f"{target} has the sha256 {hashes[file.path]}, expected {known}: damaged, or another version."
                )
        else:
            most = MOST_BYTES if file.most_mb is None else 1_000_000 * file.most_mb
            hashes = {file.path: download(str(file.url), target, sha256=known, progress=report, most_bytes=most)}
        if file.members:
            for path in unpack(target, target.parent, members=file.members):
                hashes[path.relative_to(root).as_posix()] = file_sha256(path)
    finally:
        if file.members and not users_archive:
            target.unlink(missing_ok=True)
    return hashes


def read_picture(source: Path | bytes, *, size: tuple[int, int] | None = None) -> Pictures:
    """Return a picture of a data set, (height, width, 3) uint8, resized to (width, height) where a size is given."""
    try:
        return decode_picture(source, size=None if size is None else size[::-1])
    except OSError as error:
        name = source if isinstance(source, Path) else "a picture"
        raise InputError(f"{name} cannot be decoded ({error}); it is damaged: get it again.") from error


_LABELS = {
    "truth": "the truth",
    "majority": "no truth: the annotators' own majority, so agreement, not accuracy",
    "scores": "scores of each expert as the source gives them; no answers",
    "none": "none of its own",
}
_FORMS = {"compact": "yes, in our compact form", "source": "yes, as the source gives it"}


def summary(entry: Dataset) -> dict[str, Any]:
    """Return what a list of data sets says of one, for JSON."""
    return {name: getattr(entry, name) for name in ("name", "title", "what", "licence", "homepage")}


def dataset_facts(root: Path, entry: Dataset) -> dict[str, Any]:
    """Return all that is known of a data set, for JSON."""
    recorded = read_records(root).sha256
    files = [{**asdict(file), "recorded_sha256": recorded.get(file.path)} for file in entry.files]
    here = {"here": form_here(root, entry), "folder": str(root), "arrays": dict(entry.arrays)}
    extra = {"citation": entry.citation, "labels": entry.labels, "loader": entry.loader_name, "files": files}
    return summary(entry) | here | extra


def about(entry: Dataset) -> list[str]:
    """Return a line for the licence, the citation, the source, the labels and the loader."""
    facts = {
        "licence": entry.licence,
        "cite": entry.citation,
        "source": entry.homepage,
        "labels": _LABELS[entry.labels],
        "loader": entry.loader_name,
    }
    return [f"{title:9} {text}" for title, text in facts.items()]


def describe_dataset(root: Path, entry: Dataset) -> list[str]:
    """Return all that is known of a data set in lines of text; how to get it where it is not here."""
    form, recorded = form_here(root, entry), read_records(root).sha256
    lines = [f"{entry.title}: {entry.what}.\n", *about(entry), f"{'here':9} {_FORMS.get(form or '', 'no')}\n"]
    for file in entry.files:
        lines.append(f"{file.path}  ({'our compact form' if file.form == 'compact' else 'as the source gives it'})")
        if file.url:
            lines.append(f"  from    {file.url}")
        if "*" not in file.path:
            lines.append(f"  sha256  {_checksum(file, recorded.get(file.path))}")
    if entry.tree_sha256:
        lines.append(f"{entry.tree}/ as a whole\n  sha256  {entry.tree_sha256}")
    return lines if form is not None else [*lines, f"\n{how_to_get(root, entry)}"]


def _checksum(file: DataFile, recorded: str | None) -> str:
    if file.sha256:
        return file.sha256
    if recorded:
        return f"{recorded} (recorded at the first download)"
    most = "" if file.most_mb is None else f", of at most {file.most_mb} MB"
    return f"not known; recorded at the first download{most}"
