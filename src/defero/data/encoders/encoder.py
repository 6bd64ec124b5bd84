"""TextEncoder: a fixed function from texts to vectors, with a name, checks and a cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from defero.core.errors import InputError
from defero.data.encoders.cache import EmbeddingCache, Vector, cache_file, text_key

Kind = Literal["package", "model", "folder", "function"]
"""Where an encoder comes from: an installed package that registers it, a model by its name, a folder, a function."""
MOST_REMEMBERED = 256 << 20
"""Bytes of vectors that an encoder without a cache on disk keeps in memory."""
_AT_ONCE = 1_024


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """A fixed function from texts to vectors. It is never trained.

    Parameters
    ----------
    name : str
        What a saved model calls it.
    function : callable
        Takes a list of n texts, none of them blank, and returns n vectors, an array (n, d).
    version : str
        Tells encoders of one name apart, such as a hash of the weights. Vectors on disk are found by name and version.
    kind : "package", "model", "folder" or "function"
        Where it comes from. Only encoders of installed packages are found again when a model is loaded.
    on_disk : bool
        Keep vectors on disk for the next time. A plain function has no name that tells its versions apart, so that
        its vectors are kept in memory alone; with a name of your own they can be kept.

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
    version: str = ""
    kind: Kind = "function"
    on_disk: bool = False
    _memory: dict[bytes, Vector] = field(default_factory=dict, init=False, repr=False)

    def __deepcopy__(self, memo: dict[int, Any]) -> "TextEncoder":
        """Return itself: nothing of an encoder changes, and its weights are large."""
        return self

    def encode(self, texts: Sequence[str | None]) -> NDArray[np.float32]:
        """Return the vectors of n texts, (n, d); zeros where a text is blank. Equal texts are encoded once."""
        keys = [None if text is None or not text.strip() else text_key(self._identity, text) for text in texts]
        distinct = {key: text for key, text in zip(keys, texts, strict=True) if key is not None}
        vectors = self._known(list(distinct))
        missing = [key for key in distinct if key not in vectors]
        for start in range(0, len(missing), _AT_ONCE):
            some = missing[start : start + _AT_ONCE]
            fresh = dict(zip(some, self._computed([str(distinct[key]) for key in some]), strict=True))
            self._keep(fresh)
            vectors |= fresh
        widths = {len(vector) for vector in vectors.values()}
        if len(widths) > 1:
            raise self._error(
                f"gave vectors of {' and '.join(map(str, sorted(widths)))} numbers; all must have as many"
            )
        blank = np.zeros(widths.pop() if widths else 0, dtype=np.float32)
        rows = [blank if key is None else vectors[key] for key in keys]
        return np.stack(rows) if rows else blank[None, :][:0]

    @property
    def _identity(self) -> str:
        return f"{self.kind}\0{self.name}\0{self.version}"

    def _known(self, keys: list[bytes]) -> dict[bytes, Vector]:
        path = cache_file() if self.on_disk else None
        if path is not None:
            return EmbeddingCache(path).get(keys)
        return {key: self._memory[key] for key in keys if key in self._memory}

    def _keep(self, fresh: dict[bytes, Vector]) -> None:
        path = cache_file() if self.on_disk else None
        if path is not None:
            EmbeddingCache(path).put(fresh)
            return
        self._memory.update(fresh)
        size = 4 * len(next(iter(fresh.values()))) or 1
        for key in list(self._memory)[: max(0, len(self._memory) - MOST_REMEMBERED // size)]:
            del self._memory[key]

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
