"""Find an encoder by what the user gave: a name, a folder or a function."""

import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from defero.core.errors import InputError
from defero.core.registry import Registry
from defero.core.wording import did_you_mean, join_names
from defero.data.encoders.encoder import TextEncoder
from defero.data.encoders.libraries import folder_encoder, model_encoder

TFIDF = "tfidf"
"""Not an encoder: words of the training texts, weighted by TF-IDF."""

TEXT_ENCODERS: Registry[Callable[[], TextEncoder]] = Registry("text_encoder", group="defero.text_encoders")
"""Encoders of installed packages: name -> a function that returns the encoder."""

SHORT_NAMES = (
    "all-MiniLM-L6-v2",
    "all-MiniLM-L12-v2",
    "all-mpnet-base-v2",
    "all-distilroberta-v1",
    "multi-qa-MiniLM-L6-cos-v1",
    "multi-qa-mpnet-base-dot-v1",
    "paraphrase-MiniLM-L6-v2",
    "paraphrase-multilingual-MiniLM-L12-v2",
    "paraphrase-multilingual-mpnet-base-v2",
)
"""Models that can be named without their owner. A typing error among these is noticed without a download."""

Encoder = str | PathLike[str] | Callable[[list[str]], Any] | TextEncoder | None


def find_encoder(encoder: Encoder) -> TextEncoder | None:
    """Return the encoder that a user asks for; None: TF-IDF.

    Parameters
    ----------
    encoder : str, path, callable or TextEncoder, optional
        "tfidf"; a name of `TEXT_ENCODERS`; the name of a model, such as "all-MiniLM-L6-v2" or "owner/name"; a folder
        with a model; a function from texts to vectors.

    Examples
    --------
    >>> find_encoder("tfidf") is None
    True
    >>> find_encoder(lambda texts: [[len(text)] for text in texts]).kind
    'function'
    >>> find_encoder("tfdif")
    Traceback (most recent call last):
    defero.core.errors.InputError: text_encoder must be ... got 'tfdif'; did you mean 'tfidf'?
    """
    if encoder is None or isinstance(encoder, TextEncoder):
        return encoder
    if isinstance(encoder, str | PathLike):
        return _named(os.fspath(encoder), is_path=not isinstance(encoder, str))
    if callable(encoder):
        return TextEncoder(getattr(encoder, "__qualname__", type(encoder).__qualname__), encoder)
    raise InputError(
        f"must be a name, a folder or a function from texts to vectors, got {type(encoder).__name__}.",
        argument="text_encoder",
    )


def _named(name: str, *, is_path: bool) -> TextEncoder | None:
    if name == TFIDF and not is_path:
        return None
    if name in tuple(TEXT_ENCODERS) and not is_path:
        return TEXT_ENCODERS.find(name)()
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return folder_encoder(folder)
    if is_path or name.startswith((".", "~")) or folder.is_absolute():
        raise InputError(f"{name!r}: no such folder.", argument="text_encoder")
    owner, slash, model = name.partition("/")
    if name in SHORT_NAMES or (slash and owner and model and "/" not in model):
        return model_encoder(name)
    known = (TFIDF, *TEXT_ENCODERS, *SHORT_NAMES)
    raise InputError(
        f"must be {join_names(known, most=6)}, another model as owner/name, or a folder, got {name!r}"
        f"{did_you_mean(name, known)}",
        argument="text_encoder",
    )


def installed_encoder(name: str) -> TextEncoder | None:
    """Return the encoder of an installed package by its name, as a saved model asks for it; None: there is none.

    A saved model may come from anywhere. What it names is never downloaded, and no folder is read because of it.
    """
    return TEXT_ENCODERS.find(name)() if name in tuple(TEXT_ENCODERS) else None
