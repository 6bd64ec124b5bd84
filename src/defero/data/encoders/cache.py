"""EmbeddingCache: vectors of texts that were encoded before, in one SQLite file of the user's cache folder.

A vector is found by a hash of the encoder's identity and the text. SQLite locks the file, so that several processes
can use it together. A damaged file is deleted and begun anew: everything in it can be computed again.
"""

import hashlib
import os
import sqlite3
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

VARIABLE = "DEFERO_TEXT_CACHE"
"""Overrides the folder of the cache; "off": nothing is written to disk."""
MOST_BYTES = 2 << 30
"""About 1.2 million vectors of 384 numbers; the oldest are deleted beyond it."""
_WAIT_SECONDS = 30.0
_AT_ONCE = 500
_STORED = np.dtype("<f4")


def cache_file() -> Path | None:
    """Return where vectors lie: `$XDG_CACHE_HOME/defero/embeddings.sqlite`, by default in `~/.cache`; None: nowhere."""
    named = os.environ.get(VARIABLE)
    if named == "off":
        return None
    home = os.environ.get("XDG_CACHE_HOME")
    folder = Path(named) if named else (Path(home) if home else Path.home() / ".cache") / "defero"
    return folder / "embeddings.sqlite"


def text_key(encoder: str, text: str) -> bytes:
    """Return the key of a text: 16 bytes of a hash of the encoder's identity and the text.

    >>> text_key("a", "sea") == text_key("a", "sea"), text_key("a", "sea") == text_key("b", "sea")
    (True, False)
    """
    parts = [part.encode("utf-8", "surrogatepass") for part in (encoder, text)]
    return hashlib.blake2b(len(parts[0]).to_bytes(8, "little") + parts[0] + parts[1], digest_size=16).digest()


class EmbeddingCache:
    """Vectors by key in one file.

    Parameters
    ----------
    path : Path
    most_bytes : int
        Beyond it the oldest fifth of the vectors is deleted.

    Examples
    --------
    >>> import tempfile
    >>> cache = EmbeddingCache(Path(tempfile.mkdtemp()) / "embeddings.sqlite")
    >>> cache.put({b"key": np.array([1.0, 2.0], dtype=np.float32)})
    >>> cache.get([b"key", b"other"])[b"key"].tolist()
    [1.0, 2.0]
    """

    def __init__(self, path: Path, *, most_bytes: int = MOST_BYTES) -> None:
        self._path = path
        self._most_bytes = most_bytes

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the vectors of those keys that are known; a vector that is damaged is not."""
        if not self._path.exists():
            return {}
        try:
            with closing(self._open()) as database:
                return dict(_read(database, keys))
        except sqlite3.Error as error:
            self._give_up(error)
            return {}

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Keep vectors; what another process wrote in the meantime stays."""
        rows = [(key, data := vector.astype(_STORED).tobytes(), zlib.crc32(data)) for key, vector in vectors.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with closing(self._open()) as database, database:
                database.executemany("INSERT OR REPLACE INTO vectors (key, data, crc) VALUES (?, ?, ?)", rows)
                self._make_room(database)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)

    def _open(self) -> sqlite3.Connection:
        new = not self._path.exists()
        database = sqlite3.connect(self._path, timeout=_WAIT_SECONDS)
        if new:
            self._path.chmod(0o600)
        try:
            with database:
                database.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB UNIQUE, data BLOB, crc INTEGER)")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _make_room(self, database: sqlite3.Connection) -> None:
        pages, free, size = (
            database.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * size > self._most_bytes:
            count = database.execute("SELECT COUNT(*) FROM vectors").fetchone()[0]
            database.execute(
                "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY rowid LIMIT ?)",
                (max(1, count // 5),),
            )

    def _give_up(self, error: Exception) -> None:
        """Delete a damaged file; otherwise say why nothing is kept (locked, read-only, full)."""
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            self._path.unlink(missing_ok=True)
            return
        warnings.warn(f"{self._path}: vectors of texts cannot be kept for the next time ({error}).", stacklevel=4)


def _read(database: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Vector]]:
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        marks = ",".join("?" * len(some))
        for key, data, crc in database.execute(f"SELECT key, data, crc FROM vectors WHERE key IN ({marks})", some):
            if isinstance(data, bytes) and len(data) % _STORED.itemsize == 0 and zlib.crc32(data) == crc:
                yield key, np.frombuffer(data, dtype=_STORED).astype(np.float32)
