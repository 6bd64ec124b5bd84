"""A model on disk: a folder with model.json and weights.safetensors, each part's checksum in the former. No pickle.

A folder may come from anybody: whatever its files say, reading it reads these files alone, and needs no more memory
than a small multiple of their size.
"""

import hashlib
import json
import os
import platform
import stat
import time
from collections.abc import Callable, Mapping
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from defero.core.codec import Packed, pack, unpack
from defero.core.errors import ModelFolderError, why_not_written
from defero.core.wording import join_names
from defero.data.fingerprint import key_id, known_key_id, rows_key
from defero.data.whole_files import drafts_of, replace_folder

FORMAT = 3
MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
HEADER = ("format", "versions", "files", "checksum")
"""Entries of model.json that are of the folder, not of the model."""
FILES = (WEIGHTS, "net.onnx")
"""The files that a model can have beside model.json; no others are written, read or deleted."""
MOST_MANIFEST_BYTES = 1 << 28
_READ_ATTEMPTS = 50
_PAUSE = 0.01
Arrays = dict[str, NDArray[Any]]


def write_folder(folder: Path, model: Packed) -> None:
    """Write a model folder whole or not at all.

    Parameters
    ----------
    folder : Path
        Replaced if it is a model folder already; anything else that is there is left alone, with an error.
    model : Packed
    """
    check_writable(folder)
    weights = save({name: np.asarray(array, order="C") for name, array in model.arrays.items()})
    parts = {WEIGHTS: weights, **model.files}
    strangers = set(parts) - set(FILES)
    if strangers:
        raise ModelFolderError(f"a model folder has no file {join_names(sorted(strangers))}; known are {FILES}.")
    checksums = {name: _sha256(content) for name, content in sorted(parts.items())}
    manifest = {"format": FORMAT, "versions": library_versions(), **model.manifest, "files": checksums}
    try:
        manifest["checksum"] = _manifest_checksum(manifest)
        text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        replace_folder(folder.resolve(), {**parts, MANIFEST: text.encode("utf-8")}, deletable=(MANIFEST, *FILES))
    except UnicodeEncodeError as error:
        name = error.object[max(error.start - 20, 0) : error.end]
        raise ModelFolderError(
            f"{folder}: cannot be written: a name holds half a surrogate pair, which is no character ({name!r}); "
            "correct it in the table."
        ) from error
    except OSError as error:
        raise ModelFolderError(f"{folder}: cannot be written: {why_not_written(error)}.") from error


def check_writable(folder: Path) -> None:
    """Raise unless a model may be written there: over nothing, an empty folder, or a model and nothing else."""
    target = folder.resolve()
    parent = target.parent
    if not parent.is_dir():
        raise ModelFolderError(f"{folder}: the folder {parent} does not exist; make it first.")
    if not os.access(parent, os.W_OK | os.X_OK):
        raise ModelFolderError(f"{folder}: no permission to write in {parent}; choose another folder.")
    if not target.exists():
        return
    entries = sorted(target.iterdir()) if target.is_dir() else [target]
    if entries and not _is_model(target):
        raise ModelFolderError(f"{folder}: exists and is no model folder; choose another name, it was left as it is.")
    strangers = [path.name for path in entries if path.name not in (MANIFEST, *FILES) or path.is_dir()]
    if strangers:
        raise ModelFolderError(
            f"{folder}: holds {join_names(strangers)} beside a model; move that away or choose another name, "
            "it was left as it is."
        )


def _is_model(folder: Path) -> bool:
    """Tell whether a folder's model.json is ours, whole or damaged."""
    try:
        manifest = json.loads(_read_file(folder, MANIFEST, most=MOST_MANIFEST_BYTES))
    except ModelFolderError:
        return False
    except (ValueError, RecursionError):  # a damaged model may be replaced
        return True
    return isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) and "format" in manifest


def read_folder(folder: Path) -> Packed:
    """Read a model folder, after checking that every file is what was written.

    A folder that is replaced while it is read is read again.
    """
    for _ in range(_READ_ATTEMPTS):
        before = _identity(folder)
        try:
            return _read_once(folder if before is not None else _complete_draft(folder))
        except ModelFolderError:
            if before == _identity(folder):
                raise
        time.sleep(_PAUSE)
    raise ModelFolderError(f"{folder}: is replaced again and again while it is read; try again later.")


def _read_once(folder: Path) -> Packed:
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such model folder; name the folder that fit or save wrote.")
    if not path.is_file():
        raise ModelFolderError(
            f"{folder}: holds no {MANIFEST}, so it is no model folder; name the folder that fit or save wrote."
        )
    manifest = _read_manifest(path)
    parts: dict[str, bytes] = {}
    for name, checksum in manifest["files"].items():
        parts[name] = _read_file(folder, name)
        if _sha256(parts[name]) != checksum:
            raise damaged(folder / name, f"its checksum is not the one in {MANIFEST}")
    weights = parts.pop(WEIGHTS)
    return Packed(manifest, _arrays(folder / WEIGHTS, weights), parts)


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return what model.json says, after checking its format, its own checksum and the names of its files."""
    content = _read_file(path.parent, path.name, most=MOST_MANIFEST_BYTES)
    try:
        manifest = json.loads(content, parse_constant=_no_constant)
        version, files = manifest["format"], manifest["files"]
        if type(version) is int and version == FORMAT:
            checksum = _manifest_checksum(manifest)
            known = isinstance(files, dict) and WEIGHTS in files and set(files) <= set(FILES)
    except RecursionError as error:
        raise damaged(path, "it is nested too deeply") from error
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error
    if version != FORMAT or type(version) is not int:
        raise ModelFolderError(
            f"{path}: written in format {version!r:.20}, this version of defero reads format {FORMAT}; "
            f"fit again with this one. It was written by defero {_writer(manifest)}."
        )
    if checksum != manifest.get("checksum"):
        raise damaged(path, "its checksum is not the one it was written with")
    if not known:
        raise damaged(path, f"its files must be {WEIGHTS} and at most {join_names(FILES[1:])}")
    return dict(manifest)


def _read_file(folder: Path, name: str, *, most: int | None = None) -> bytes:
    """Return a regular file's content; pipes, devices and folders are refused without waiting for them."""
    path = folder / name
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        why = "the file is missing" if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror}"
        raise damaged(path, why) from error
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise damaged(path, "it is no regular file")
    with os.fdopen(handle, "rb") as stream:
        if most is not None and status.st_size > most:
            raise damaged(path, f"it has {status.st_size:,} bytes, more than {most:,}")
        return stream.read(status.st_size)


def _arrays(path: Path, content: bytes) -> Arrays:
    try:
        arrays: Arrays = load(content)
    except Exception as error:  # safetensors raises a type of its own
        raise damaged(path, f"{type(error).__name__}: {error}") from error
    for name, array in arrays.items():
        # An empty array needs no bytes, whatever the length of its other axes.
        if max(array.shape, default=0) > len(content):
            raise damaged(path, f"{name!r:.80} has the shape {array.shape}, more than its bytes can hold")
    return arrays


def _complete_draft(folder: Path) -> Path:
    """Return a whole model that has not taken its name, where a replacement was interrupted; else the folder."""
    target = folder.resolve()
    for draft in drafts_of(target):
        try:
            _read_once(draft)
        except ModelFolderError:
            continue
        return draft
    return folder


def _identity(folder: Path) -> tuple[int, int, int] | None:
    """Return what changes when a folder is replaced; None where there is none."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def damaged(path: Path, why: str) -> ModelFolderError:
    """Return the error for a file of a model that is not as it was written."""
    return ModelFolderError(f"{path}: the model folder is damaged ({why}); fit again or restore it.")


def library_versions() -> dict[str, str]:
    """Return the versions a result depends on, of what is installed."""
    versions = {"python": platform.python_version()}
    for name in ("defero", "numpy", "scipy", "scikit-learn", "torch"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _writer(manifest: dict[str, Any]) -> str:
    versions = manifest.get("versions")
    return str(versions.get("defero", "unknown"))[:40] if isinstance(versions, dict) else "unknown"


def _no_constant(constant: str) -> float:
    raise ValueError(f"{constant} is no number")


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    """Return the checksum of all that model.json says, but for the checksum itself."""
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return _sha256(json.dumps(rest, ensure_ascii=False).encode("utf-8"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def writable(folder: str | PathLike[str]) -> list[str]:
    """Raise unless a model may be written there; return a sentence where one is replaced."""
    path = Path(folder)
    check_writable(path)
    occupied = path.is_dir() and any(path.iterdir())
    return [f"{folder}: there was a model already; the new one has replaced it."] if occupied else []


class Fitted(Protocol):
    """What has a folder: a dataclass whose kind the manifest names, and fingerprints of rows made with a key."""

    kind: ClassVar[str]
    rows_key: str | None
    seen: Any


Team = TypeVar("Team", bound=Fitted)


def files_of(team: Fitted) -> Packed:
    """Return what a model folder holds of a fitted team; raises where it cannot be saved."""
    key = key_id(rows_key()) if team.rows_key is None and len(team.seen) else team.rows_key
    packed = pack(team)
    return Packed({**packed.manifest, "rows_key": key}, packed.arrays, packed.files)


def fitted_of(folder: Path, model: Packed, build: type[Team], check: Callable[[Team], None]) -> Team:
    """Build the team of a folder; raise one sentence where it cannot be."""
    try:
        values = {name: value for name, value in model.manifest.items() if name not in HEADER}
        team = unpack(build, Packed(values, model.arrays, model.files))
        if team.rows_key == known_key_id():
            team.rows_key = None
        check(team)
        return team
    except ModelFolderError as error:
        raise ModelFolderError(f"{folder}: {error}") from error
    except ImportError as error:
        raise ModelFolderError(
            f"{folder}: this model needs a package that is not installed ({error}); pip install 'defero[train]', or "
            "have it exported to ONNX."
        ) from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        raise damaged(folder / MANIFEST, f"{type(error).__name__}: {error!s:.400}") from error
