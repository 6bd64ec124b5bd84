"""TextEncoder: a fixed function from texts to vectors, a model by its name or your own; never trained, never saved.

And the column of texts that it reads: a model folder holds the encoder's name, and numbers by which it is recognised.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.checks.arrays import FloatArray
from defero.core.codec import Count
from defero.core.errors import Argument, InputError
from defero.core.wording import did_you_mean
from defero.data.recipes.text_column import BLANK, SAME, TextNumbers, Texts

TFIDF = "tfidf"
"""Not an encoder: words of the training texts, weighted by TF-IDF."""
MOST_REMEMBERED = 256 << 20
"""Bytes of vectors that an encoder keeps in memory."""
_AT_ONCE = 1_024
_LIBRARIES = ("sentence_transformers", "fastembed")
HINT = "pip install 'defero[text]' (fastembed), or pip install sentence-transformers"


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A fixed function from texts to vectors. It is never trained.

    Parameters
    ----------
    name : str
        What a saved model calls it.
    function : callable
        Takes a list of n texts, none of them blank, and returns n vectors, an array (n, d).

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> encoder = TextEncoder("lengths", lengths)
    >>> encoder.encode(["calm sea", None, "oil"]).tolist()
    [[8.0, 1.0], [0.0, 0.0], [3.0, 0.0]]
    """

    name: str
    function: Callable[[list[str]], ArrayLike]
    _memory: dict[str, NDArray[np.float32]] = field(default_factory=dict, init=False, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> "TextEncoder":
        """Return itself: nothing of an encoder changes."""
        return self

    def encode(self, texts: Sequence[str | None]) -> NDArray[np.float32]:
        """Return the vectors of n texts, (n, d); zeros where a text is blank. Equal texts are encoded once."""
        distinct = dict.fromkeys(text for text in texts if text is not None and text.strip())
        vectors = {text: self._memory[text] for text in distinct if text in self._memory}
        missing = [text for text in distinct if text not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            vectors |= zip(some, self._computed(some), strict=True)
        widths = {len(vector) for vector in vectors.values()}
        if len(widths) > 1:
            raise self._error(
                f"gave vectors of {' and '.join(map(str, sorted(widths)))} numbers; all must have as many"
            )
        width = widths.pop() if widths else 0
        self._memory.update(vectors)
        for text in list(self._memory)[: max(0, len(self._memory) - MOST_REMEMBERED // (4 * width or 1))]:
            del self._memory[text]
        blank = np.zeros(width, dtype=np.float32)
        rows = [blank if text is None else vectors.get(text, blank) for text in texts]
        return np.stack(rows) if rows else blank[None, :][:0]

    def _computed(self, texts: list[str]) -> NDArray[np.float32]:
        """Call the function and check what it returns."""
        # A lone surrogate, as bad exports have it, is no text to a tokenizer.
        plain = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        returned = self.function(plain)
        try:
            vectors = np.asarray(returned, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._error(f"must return one vector of numbers for each text ({error})") from error
        if vectors.ndim != 2 or len(vectors) != len(texts) or not vectors.shape[1]:
            raise self._error(
                f"must return one vector for each text, an array of shape ({len(texts)}, d), got shape {vectors.shape}"
            )
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(wrong):
            raise self._error(f"returned NaN or infinity, first for the text {plain[int(wrong[0])][:60]!r}")
        return vectors

    def _error(self, what: str) -> InputError:
        return InputError(f"{self.name!r}: the encoder {what}.", argument="text_encoder")


Encoder = str | PathLike[str] | Callable[[list[str]], Any] | TextEncoder | None


def find_encoder(encoder: Encoder) -> TextEncoder | None:
    """Return the encoder that a user asks for; None: TF-IDF.

    Parameters
    ----------
    encoder : str, path, callable or TextEncoder, optional
        "tfidf"; the name of a model, such as "all-MiniLM-L6-v2" or "owner/name", or a folder with one, which
        sentence-transformers reads, or fastembed where that is not installed; a function from texts to vectors.

    Examples
    --------
    >>> find_encoder("tfidf") is None
    True
    >>> find_encoder(lambda texts: [[len(text)] for text in texts]).name
    '<lambda>'
    >>> find_encoder("tfdif")
    Traceback (most recent call last):
    defero.core.errors.InputError: text_encoder must be ... got 'tfdif'; did you mean 'tfidf'?
    """
    if encoder is None or encoder == TFIDF or isinstance(encoder, TextEncoder):
        return encoder if isinstance(encoder, TextEncoder) else None
    if isinstance(encoder, str | PathLike):
        return _named(os.fspath(encoder))
    if callable(encoder):
        return TextEncoder(getattr(encoder, "__qualname__", type(encoder).__qualname__), encoder)
    raise InputError(
        f"must be a name, a folder or a function from texts to vectors, got {type(encoder).__name__}.",
        argument="text_encoder",
    )


def _named(name: str) -> TextEncoder:
    folder = Path(name).expanduser()
    meant = "" if folder.is_dir() else did_you_mean(name, (TFIDF,))
    wrong = ""
    if not name or meant.strip("."):
        wrong = f"must be tfidf, a model such as all-MiniLM-L6-v2 or owner/name, or a folder, got {name!r}{meant}"
    elif not folder.is_dir() and (name.startswith((".", "~")) or folder.is_absolute()):
        wrong = f"{name!r}: no such folder."
    elif not any(find_spec(library) for library in _LIBRARIES):
        wrong = f"{name!r} needs a library that is not installed: {HINT}."
    if wrong:
        raise InputError(wrong, argument="text_encoder")
    path = str(folder.resolve()) if folder.is_dir() else name
    # Of a folder the name alone is kept: where it lies on this machine is nobody's business.
    return TextEncoder(Path(path).name if folder.is_dir() else name, partial(_encode, path))


def _encode(name: str, texts: list[str]) -> ArrayLike:
    return _model(name)(texts)


@cache
def _model(name: str) -> Callable[[list[str]], ArrayLike]:
    """Load a model when the first text is encoded; its library may download it."""
    try:
        if find_spec("sentence_transformers") is not None:
            # A model's own code is never run: it would come from whoever wrote the model.
            model = import_module("sentence_transformers").SentenceTransformer(name, trust_remote_code=False)
            return partial(model.encode, batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        library = import_module("fastembed").TextEmbedding
        known = sorted(str(entry["model"]) for entry in library.list_supported_models())
        model = library(model_name=next((one for one in known if one.endswith(f"/{name}")), name))
        return lambda texts: np.stack(list(model.embed(texts)))
    except Exception as error:  # each library, and each of its parts, has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{name!r} cannot be loaded: {type(error).__name__}: {reason}", argument="text_encoder"
        ) from error


PROBE = "The quick brown fox jumps over the lazy dog."
"""An encoder is recognised by the first numbers of this text's vector."""
_PROBE_NUMBERS = 8
_TOLERANCE = 1e-2
MOST_NUMBERS = 65_536


@dataclass(frozen=True)
class EmbeddedColumn(TextNumbers):
    """A column of text: d numbers for each text, or a few scores of them.

    Attributes
    ----------
    name : str
    encoder : str
        Name of the `TextEncoder`.
    width : int
        d.
    scale : float
        Mean length of the training vectors; vectors are divided by it.
    probe : tuple of float
        First numbers of the vector of `PROBE`.
    slopes : tuple of d tuples, or None
        What each number adds to each of the scores; None: the numbers stay columns of their own.
    bias : tuple
        What each score starts from.
    missing : bool
        Training had blanks: a 0/1 column tells where they are.
    source : TextEncoder, optional
        Encodes the texts. Not saved: without it no text can be read.
    """

    kind: ClassVar[str] = "embedding"
    name: str
    encoder: str
    width: Count
    scale: float
    probe: tuple[float, ...]
    slopes: tuple[tuple[float, ...], ...] | None = None
    bias: tuple[float, ...] = ()
    missing: bool = False
    source: TextEncoder | None = field(default=None, compare=False, repr=False, metadata={"saved": False})

    def __post_init__(self) -> None:
        if not 1 <= self.width <= MOST_NUMBERS or not 0 < self.scale < np.inf:
            raise ValueError(f"an encoder of {self.width!r} numbers and the scale {self.scale!r}")
        self.check_slopes(self.width)
        if self.source is not None and not isinstance(self.source, TextEncoder):
            raise ValueError("an encoder that was saved")

    def parts(self) -> Sequence[str]:
        """Return the numbers of a vector."""
        return [f"vector{k}" for k in range(self.width)]

    def reads(self) -> str:
        """Say what the numbers are."""
        return f"{self.width} numbers of the text encoder {self.encoder}"

    def features(self, cells: Texts) -> FloatArray:
        """Return the scaled vectors of (n,) texts, (n, d); zeros where a text is blank."""
        if self.source is None:
            raise InputError(
                f": the column {self.name} is read by the text encoder {self.encoder!r}, which is not saved with the "
                f"model; pass {Argument('text_encoder', self.encoder)}, or the same function if it was one.",
                argument="text_encoder",
            )
        if not any(cell is not None for cell in cells):
            return np.zeros((len(cells), self.width))
        vectors = self.source.encode(cells)
        if vectors.shape[1] != self.width:
            raise InputError(
                f": the text encoder {self.source.name!r} gives {vectors.shape[1]} numbers for each text; the model "
                f"was fitted with {self.width}.",
                argument="text_encoder",
            )
        return vectors.astype(np.float64) / self.scale

    def unseen(self, cells: Texts) -> int:
        """Return 0: an encoder reads every text."""
        return 0

    def with_source(self, encoder: TextEncoder) -> "EmbeddedColumn":
        """Return the column with an encoder that reads texts as that of training did; raise if it does not."""
        vector = encoder.encode([PROBE])[0].astype(np.float64)
        close = _TOLERANCE * (self.scale / np.sqrt(self.width))
        if len(vector) != self.width or not np.allclose(vector[: len(self.probe)], self.probe, atol=close):
            raise InputError(
                f": {encoder.name!r} is not the text encoder that the column {self.name} was fitted with, "
                f"{self.encoder!r} with {self.width} numbers: its vectors are different.",
                argument="text_encoder",
            )
        return replace(self, source=encoder)


def learn_embedded(name: str, cells: Texts, encoder: TextEncoder) -> EmbeddedColumn | str:
    """Learn a column from (n,) texts, None where blank; return the reason where it cannot be used."""
    if len(set(cells)) == 1:
        return SAME if cells[0] is not None else BLANK
    vectors = encoder.encode(cells)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    scale = float(lengths[lengths > 0].mean()) if lengths.any() else 1.0
    probe = encoder.encode([PROBE])[0][:_PROBE_NUMBERS]
    return EmbeddedColumn(
        name,
        encoder.name,
        vectors.shape[1],
        scale,
        tuple(probe.astype(np.float64).tolist()),
        missing=None in cells,
        source=encoder,
    )
