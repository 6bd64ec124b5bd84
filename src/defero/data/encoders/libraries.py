"""Encoders of two libraries, which are imported, and whose models are loaded, when the first text is encoded."""

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from defero.core.errors import InputError
from defero.data.encoders.encoder import TextEncoder

Encode = Callable[[list[str]], NDArray[Any]]
HINT = "pip install 'defero[text]' (fastembed), or pip install sentence-transformers"


def model_encoder(name: str) -> TextEncoder:
    """Return a model by the name that sentence-transformers or fastembed knows; the first that is installed reads it.

    Where its files are not on this machine, the library downloads them when the first text is encoded.
    """
    for library, load in _LIBRARIES.items():
        if find_spec(library) is not None:
            return TextEncoder(name, _WhenNeeded(load, name), version=library, kind="model", on_disk=True)
    raise InputError(f"{name!r} needs a library that is not installed: {HINT}.", argument="text_encoder")


def folder_encoder(folder: Path) -> TextEncoder:
    """Return a model in a folder, as sentence-transformers saves one. Its files tell it apart from others."""
    if find_spec("sentence_transformers") is None:
        raise InputError(
            f"{str(folder)!r} is a folder, which the package sentence-transformers reads; install it.",
            argument="text_encoder",
        )
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise InputError(
            f"{str(folder)!r} holds no model of sentence-transformers (no modules.json, no config.json).",
            argument="text_encoder",
        )
    function = _WhenNeeded(_sentence_transformers, str(folder.resolve()))
    name = folder.resolve().name
    return TextEncoder(name, function, version=folder_version(folder.resolve()), kind="folder", on_disk=True)


@cache
def folder_version(folder: Path) -> str:
    """Return 16 digits of one hash of the files that make a model: names and contents, not what explains it."""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".md", ""}):
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        total.update(f"{digest}  {path.relative_to(folder).as_posix()}\n".encode())
    return total.hexdigest()[:16]


class _WhenNeeded:
    """A model that is loaded at the first call: cached texts need none. A copy in another process loads its own."""

    def __init__(self, load: Callable[[str], Encode], name: str) -> None:
        self._load, self._name = load, name
        self._encode: Encode | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_encode": None}

    def __call__(self, texts: list[str]) -> NDArray[Any]:
        if self._encode is None:
            try:
                self._encode = self._load(self._name)
            except Exception as error:  # each library, and each of its parts, has errors of its own
                reason = " ".join(str(error).split())[:200]
                raise InputError(
                    f"{self._name!r} cannot be loaded: {type(error).__name__}: {reason}", argument="text_encoder"
                ) from error
        return self._encode(texts)


def _sentence_transformers(name: str) -> Encode:
    # A model's own code is never run: it would come from whoever wrote the model.
    model = import_module("sentence_transformers").SentenceTransformer(name, trust_remote_code=False)

    def encode(texts: list[str]) -> NDArray[Any]:
        return np.asarray(model.encode(texts, batch_size=64, show_progress_bar=False, convert_to_numpy=True))

    return encode


def _fastembed(name: str) -> Encode:
    library = import_module("fastembed").TextEmbedding
    known = {str(entry["model"]) for entry in library.list_supported_models()}
    full = name if "/" in name else next((one for one in sorted(known) if one.endswith(f"/{name}")), name)
    model = library(model_name=full)

    def encode(texts: list[str]) -> NDArray[Any]:
        vectors: Iterable[Any] = model.embed(texts)
        return np.stack(list(vectors))

    return encode


_LIBRARIES: dict[str, Callable[[str], Encode]] = {
    "sentence_transformers": _sentence_transformers,
    "fastembed": _fastembed,
}
