"""Is a data set here, in which form, and are its files what they should be?"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from defero.core.errors import InputError
from defero.datasets.catalog import DataFile, Dataset, Form
from defero.datasets.storage.cache import file_sha256, read_records, tree_sha256

Standing = Literal["as registered", "as at the first download", "not known"]


@dataclass(frozen=True)
class CheckedFile:
    """One file on disk, its sha256, and what that was compared with."""

    path: str
    sha256: str
    standing: Standing


def matches(root: Path, pattern: str) -> list[Path]:
    """Return the files below `root` with this path, or of this pattern, or whose path ends so after a folder more."""
    if "*" in pattern:
        return sorted(root.glob(pattern))
    return [root / pattern] if (root / pattern).is_file() else []


def files_on_disk(root: Path, file: DataFile) -> list[Path] | None:
    """Return where a file of the registry lies, an archive's members or what does instead; None where some are lost."""
    if not file.members:
        return matches(root, file.path) or None
    home = (root / file.path).parent
    for ends in (file.members, file.instead):
        found = [path for path in (member_path(home, end) for end in ends) if path is not None]
        if ends and len(found) == len(ends):
            return found
    return None


def member_path(home: Path, member: str) -> Path | None:
    """Return the file below `home` whose path ends with `member`; None where there is none.

    An archive, or the person who unpacked it, may have put one more folder around it.
    """
    if (home / member).is_file():
        return home / member
    return next(iter(sorted(path for path in home.glob(f"**/{member}") if path.is_file())), None)


def form_here(root: Path, entry: Dataset) -> Form | None:
    """Return the form in which all of a data set is here, ours before the source's; None where it is not."""
    forms: tuple[Form, ...] = ("compact", "source")
    for form in forms:
        files = entry.of_form(form)
        if files and all(files_on_disk(root, file) is not None for file in files):
            return form
    return None


def check_files(root: Path, entry: Dataset) -> tuple[CheckedFile, ...]:
    """Compare every file of a data set with its sha256, and raise where one differs."""
    form = form_here(root, entry)
    if form is None:
        raise InputError(how_to_get(root, entry))
    recorded = read_records(root).sha256
    checked = []
    for file in entry.of_form(form):
        if "*" in file.path:
            continue
        for path in files_on_disk(root, file) or []:
            inside = path.relative_to(root).as_posix()
            registered = None if file.members else file.sha256
            checked.append(_check(entry, path, inside, registered=registered, recorded=recorded.get(inside)))
    if entry.tree is not None:
        found = tree_sha256(root / entry.tree)
        _compare(entry, root / entry.tree, found, entry.tree_sha256)
        checked.append(CheckedFile(f"{entry.tree}/", found, "as registered"))
    return tuple(checked)


def _check(entry: Dataset, path: Path, inside: str, *, registered: str | None, recorded: str | None) -> CheckedFile:
    found = file_sha256(path)
    expected = registered or recorded
    if expected is None:
        return CheckedFile(inside, found, "not known")
    _compare(entry, path, found, expected)
    return CheckedFile(inside, found, "as registered" if registered else "as at the first download")


def _compare(entry: Dataset, path: Path, found: str, expected: str | None) -> None:
    if found != expected:
        raise InputError(
            f"{path}: its sha256 is {found}, expected {expected}; it is damaged or another version of {entry.name}: "
            "delete it and get it again."
        )


def how_to_get(root: Path, entry: Dataset) -> str:
    """Return one sentence: how this data set gets into the data folder."""
    hand = f"put {entry.by_hand} (in {root}; source: {entry.homepage})"
    if any(file.url for file in entry.files):
        return f"{entry.name} is not in {root}: run `defero datasets get {entry.name}`, or {hand}."
    return f"{entry.name} is not in {root} and cannot be downloaded: {hand}."


def require(root: Path, entry: Dataset) -> Form:
    """Return the form in which a data set is here, or raise a sentence that says how to get it."""
    form = form_here(root, entry)
    if form is None:
        raise InputError(how_to_get(root, entry))
    return form
