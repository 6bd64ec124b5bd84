"""What makes two runs of `route` the same: the model, the files, the options and the versions."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pandas.util import hash_pandas_object

import defero
from defero.core.codec import Packed
from defero.core.errors import InputError
from defero.data.model_folder import library_versions
from defero.data.tables.read import ROWS_AT_ONCE


def run_identity(model: Packed, files: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain values that are equal for equal runs.

    Parameters
    ----------
    model : Packed
    files : tables by name
        A file is told by its size and the time of its last change, a frame by its content.
    options : by name
    """
    return {
        "defero": defero.__version__,
        "versions": library_versions(),
        "rows_at_once": ROWS_AT_ONCE,
        "model": model_digest(model),
        "files": {name: _file_mark(table) for name, table in files.items() if table is not None},
        "options": _digest(json.dumps(_plain(options), sort_keys=True).encode("utf-8")),
    }


def model_digest(model: Packed) -> str:
    """Return a hash of everything that a model folder holds."""
    parts = [json.dumps(_plain(model.manifest), sort_keys=True).encode("utf-8")]
    for name, array in sorted(model.arrays.items()):
        parts += [f"{name} {array.dtype} {array.shape}".encode(), np.ascontiguousarray(array).tobytes()]
    for name, content in sorted(model.files.items()):
        parts += [name.encode("utf-8"), content]
    return _digest(*parts)


def _digest(*parts: bytes) -> str:
    whole = hashlib.blake2b(digest_size=16)
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def _file_mark(table: Any) -> Any:
    if isinstance(table, pd.DataFrame):
        marks = hash_pandas_object(table.astype(str), index=False).to_numpy()
        return _digest(repr(list(table.columns)).encode("utf-8"), marks.tobytes())
    path = Path(table)
    files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
    try:
        facts = [[str(one.resolve()), one.stat().st_size, one.stat().st_mtime_ns] for one in files]
    except OSError as error:
        raise InputError(f"{table}: cannot be read: {error.strerror}.") from error
    return _digest(json.dumps(facts).encode("utf-8")) if len(facts) > 1 else facts


def _plain(value: Any) -> Any:
    """Return a value as JSON knows it; arrays and frames with all their numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, pd.DataFrame):
        return _file_mark(value)
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, PathLike):
        return _file_mark(value) if Path(value).is_file() else str(value)
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
