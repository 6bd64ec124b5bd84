"""A model on disk: a folder with model.json and weights.safetensors, each part's checksum in the former. No pickle."""

import hashlib
import json
import platform
import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from defero.core.errors import ModelFolderError
from defero.core.wording import join_names

FORMAT = 1
MANIFEST = "model.json"
WEIGHTS = "weights.safetensors"
Arrays = dict[str, NDArray[Any]]


def write_folder(folder: Path, fill: Callable[[Path], tuple[Mapping[str, Any], Arrays]]) -> None:
    """Write a model folder whole or not at all.

    Parameters
    ----------
    folder : Path
        Replaced if it is a model folder already; anything else that is there is left alone, with an error.
    fill : callable
        Given an empty folder, writes whatever files it needs and returns the manifest and the arrays.
    """
    check_writable(folder)
    target = folder.resolve()
    draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        manifest, arrays = fill(draft)
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, draft / WEIGHTS)
        checksums = {path.name: _sha256(path.read_bytes()) for path in sorted(draft.iterdir())}
        whole = {"format": FORMAT, "versions": library_versions(), **manifest, "files": checksums}
        whole["checksum"] = _manifest_checksum(whole)
        (draft / MANIFEST).write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        # Temporary folders and safetensors are private by default; a model folder is as readable as any other file.
        draft.chmod(0o755)
        for part in draft.iterdir():
            part.chmod(0o644)
        _put_in_place(draft, target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def check_writable(folder: Path) -> None:
    """Raise unless a model may be written there: over nothing, an empty folder, or a model and nothing else."""
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise ModelFolderError(f"{folder}: the folder {parent} does not exist; make it first.")
    if not folder.exists():
        return
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else [folder.name]
    ours = _files_of_model(folder)
    if found and not ours:
        raise ModelFolderError(f"{folder}: exists and is no model folder; choose another name, it was left as it is.")
    strangers = [name for name in found if name not in ours]
    if strangers:
        raise ModelFolderError(
            f"{folder}: holds {join_names(strangers)} beside a model; move that away or choose another name, "
            "it was left as it is."
        )


def _files_of_model(folder: Path) -> set[str]:
    """Return the names that belong to the model in a folder; none where there is no model."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError:
        return set()
    except ValueError:  # a damaged model may be replaced
        return {MANIFEST, WEIGHTS}
    ours = isinstance(manifest, dict) and isinstance(manifest.get("files"), dict) and "format" in manifest
    return {MANIFEST, *manifest["files"]} if ours else set()


def _put_in_place(draft: Path, target: Path) -> None:
    """Give the draft its name; the model that had it goes last, so that no moment is without one of the two."""
    if not target.exists():
        draft.rename(target)
        return
    old = draft.with_name(f"{draft.name}.old")
    target.rename(old)
    try:
        draft.rename(target)
    except BaseException:
        old.rename(target)
        raise
    shutil.rmtree(old)


def read_folder(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a model folder's manifest and arrays, after checking that every file is what was written."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such model folder; `defero fit ... --out {folder}` makes one.")
    if not path.is_file():
        raise ModelFolderError(
            f"{folder}: holds no {MANIFEST}, so it is no model folder; name the folder that `defero fit` or save wrote."
        )
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version, files, checksum = manifest["format"], dict(manifest["files"]), manifest.get("checksum")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error
    if version != FORMAT:
        raise ModelFolderError(
            f"{path}: written in format {version}, this version of defero reads format {FORMAT}; "
            f"fit again, or install the defero that wrote it ({_writer(manifest)})."
        )
    if _manifest_checksum(manifest) != checksum:
        raise damaged(path, "its checksum is not the one it was written with")
    for name, expected in files.items():
        part = folder / name
        if not part.is_file():
            raise damaged(part, "the file is missing")
        if _sha256(part.read_bytes()) != expected:
            raise damaged(part, f"its checksum is not the one in {MANIFEST}")
    try:
        return manifest, load_file(folder / WEIGHTS)
    except Exception as error:  # safetensors raises a type of its own
        raise damaged(folder / WEIGHTS, f"{type(error).__name__}: {error}") from error


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
    return str(versions.get("defero", "unknown")) if isinstance(versions, dict) else "unknown"


def _manifest_checksum(manifest: Mapping[str, Any]) -> str:
    """Return the checksum of all that model.json says, but for the checksum itself."""
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return _sha256(json.dumps(rest, ensure_ascii=False).encode("utf-8"))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
