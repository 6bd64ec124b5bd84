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
    if folder.exists() and not (folder / MANIFEST).is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ModelFolderError(f"{folder}: exists and is no model folder; choose another name, it was left as it is.")
    if not folder.absolute().parent.is_dir():
        raise ModelFolderError(f"{folder}: the folder {folder.absolute().parent} does not exist; make it first.")
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.absolute().parent))
    try:
        manifest, arrays = fill(draft)
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, draft / WEIGHTS)
        checksums = {path.name: _sha256(path) for path in sorted(draft.iterdir())}
        whole = {"format": FORMAT, "versions": library_versions(), **manifest, "files": checksums}
        (draft / MANIFEST).write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        # Temporary folders and safetensors are private by default; a model folder is as readable as any other file.
        draft.chmod(0o755)
        for part in draft.iterdir():
            part.chmod(0o644)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def read_folder(folder: Path) -> tuple[dict[str, Any], Arrays]:
    """Read a model folder's manifest and arrays, after checking that every file is what was written."""
    path = folder / MANIFEST
    if not folder.is_dir():
        raise ModelFolderError(f"{folder}: no such model folder; `defero fit ... --out {folder}` makes one.")
    if not path.is_file():
        raise ModelFolderError(f"{folder}: holds no {MANIFEST}, so it is no model folder.")
    try:
        manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        version, files = manifest["format"], manifest["files"]
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error}") from error
    if version != FORMAT:
        raise ModelFolderError(
            f"{path}: written in format {version}, this version of defero reads format {FORMAT}; "
            f"fit again, or install the defero that wrote it ({manifest.get('versions', {}).get('defero', 'unknown')})."
        )
    for name, expected in files.items():
        part = folder / name
        if not part.is_file():
            raise _damaged(part, "the file is missing")
        if _sha256(part) != expected:
            raise _damaged(part, "its checksum is not the one in model.json")
    try:
        return manifest, load_file(folder / WEIGHTS)
    except Exception as error:  # safetensors raises a type of its own
        raise _damaged(folder / WEIGHTS, f"{type(error).__name__}: {error}") from error


def library_versions() -> dict[str, str]:
    """Return the versions a result depends on, of what is installed."""
    versions = {"python": platform.python_version()}
    for name in ("defero", "numpy", "scipy", "scikit-learn", "torch"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _damaged(path: Path, why: str) -> ModelFolderError:
    return ModelFolderError(f"{path}: the model folder is damaged ({why}); fit again or restore it.")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
