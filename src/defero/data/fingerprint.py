"""Fingerprints of rows: has this row been seen before, and is this the same data set? Needs numpy alone.

A fingerprint is one 64-bit number per row. It depends on what the cells say and on the user's key, not on the cells'
type, on the order of the columns, or on the process that computes it.

The cells of a row are mixed into 64 bits by public functions, and these bits go through SipHash-2-4 with the key.
SipHash is a keyed pseudorandom function made for short inputs (Aumasson and Bernstein, 2012): without its key its
values cannot be told from random ones, so that trying all rows that there may be finds nothing.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from defero.core.checks.arrays import BoolArray
from defero.core.errors import InputError
from defero.core.order import BLANK, HashArray, cell_bits, column_hashes, mixed, number_bits, row_hashes, text_hash
from defero.data.tables.cells import column_names, is_blank, number_of, text_of

VARIABLE = "DEFERO_ROWS_KEY"
"""Overrides the key file: 64 hexadecimal digits are the key itself, anything else is the path of a file with them."""
_KEY = re.compile(r"[0-9a-fA-F]{64}")
_UNSAVED = secrets.token_bytes(32)  # where no file can be written; models of this process know it, no others


def key_file() -> Path:
    """Return where the key lies: `$XDG_CONFIG_HOME/defero/rows.key`, by default in `~/.config`."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "defero" / "rows.key"


def known_key_id() -> str | None:
    """Return the id of the user's key; None where none was made yet."""
    return key_id(rows_key()) if os.environ.get(VARIABLE) or key_file().exists() else None


def rows_key() -> bytes:
    """Return the user's key, 32 bytes; at first use it is drawn at random and written with mode 0600."""
    variable = os.environ.get(VARIABLE)
    if variable:
        return (
            bytes.fromhex(variable) if _KEY.fullmatch(variable) else _read(Path(variable).expanduser(), source=VARIABLE)
        )
    path = key_file()
    try:
        return _read(path, source=str(path))
    except FileNotFoundError:
        return _make(path)


def key_id(key: bytes) -> str:
    """Return 16 digits that tell keys apart and do not give the key away.

    >>> key_id(bytes(32)) == key_id(bytes(32)), key_id(bytes(32)) == key_id(bytes(31) + b"1")
    (True, False)
    """
    return hashlib.blake2b(key, digest_size=8, person=b"defero key id").hexdigest()


def _read(path: Path, *, source: str) -> bytes:
    try:
        text = path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and source != VARIABLE:
            raise
        raise InputError(
            f"{source}: the key of row fingerprints cannot be read from {path} ({error.strerror}); "
            "name a file that holds 64 hexadecimal digits, or give the digits themselves."
        ) from error
    if not _KEY.fullmatch(text):
        raise InputError(f"{source}: {path} must hold a key of 64 hexadecimal digits; restore it, or delete it.")
    return bytes.fromhex(text)


def _make(path: Path) -> bytes:
    """Write a new key whole or not at all; another process may be faster, then its key is taken."""
    key = secrets.token_bytes(32)
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.write(f"{key.hex()}\n")
            stream.flush()
            os.fsync(stream.fileno())
        os.link(draft, path)
    except FileExistsError:
        return _read(path, source=str(path))
    except OSError:
        return _UNSAVED
    finally:
        draft.unlink(missing_ok=True)
    return key


def row_fingerprints(rows: Any) -> HashArray:
    """Return one number per row, (n,).

    Parameters
    ----------
    rows : DataFrame, or array of shape (n, ...)
        A frame's cells are hashed with the names of their columns; an array's columns are called 0, 1, ...
        Equal cells of different type (1, 1.0, "1", a category "1") are equal, -0.0 is 0.0, blank is blank.

    Examples
    --------
    >>> first = row_fingerprints(np.array([[1.0, 2.0], [3.0, np.nan]]))
    >>> bool((first == row_fingerprints(np.array([[1, "2"], [3, None]], dtype=object))).all())
    True
    """
    if hasattr(rows, "columns"):
        column_names(rows, source="table")  # two of one name are an error
    elif np.ndim(rows) < 2:
        raise InputError(f"must have two axes or more (n, columns), got shape {np.shape(rows)}.", argument="rows")
    return _keyed(row_hashes(rows, _bits_of))


class ListedRows:
    """Rows of which most cells hold the same number: fingerprints at the price of the others.

    They are those that `row_fingerprints` gives to the whole rows: `n_first` columns, then `n_listed` that hold
    `usual` but where a cell is listed.

    >>> whole = np.array([[5.0, -1, -1, 2], [6.0, 0, -1, -1]])
    >>> few = ListedRows(n_first=1, n_listed=3, usual=-1).fingerprints(whole[:, :1], [0, 1], [2, 0], [2, 0])
    >>> bool((few == row_fingerprints(whole)).all())
    True
    """

    def __init__(self, *, n_first: int, n_listed: int, usual: float) -> None:
        self._first = column_hashes(0, n_first)
        self._listed = column_hashes(n_first, n_first + n_listed)
        self._usual = mixed(cell_bits(np.full(n_listed, usual)) ^ self._listed)

    def fingerprints(self, first: Any, row_idx: Any, column_idx: Any, values: Any) -> HashArray:
        """Return one number per row, (n,), from the first columns (n, n_first) and m listed cells."""
        columns = np.asarray(column_idx, dtype=np.int64)
        total = mixed(cell_bits(np.ravel(first)).reshape(np.shape(first)) ^ self._first).sum(axis=1, dtype=np.uint64)
        total += self._usual.sum(dtype=np.uint64)  # modulo 2**64, as all sums here
        listed_sum = mixed(cell_bits(values) ^ self._listed[columns]) - self._usual[columns]
        np.add.at(total, np.asarray(row_idx, dtype=np.int64), listed_sum)
        return _keyed(mixed(total))


def text_fingerprints(texts: Iterable[str]) -> HashArray:
    """Return one number per text, (n,), such as the name of each row's group.

    >>> first, second, third = text_fingerprints(["ann", "bob", "ann"])
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    known: dict[str, np.uint64] = {}
    return _keyed(np.array([known.setdefault(text, text_hash(text)) for text in texts], dtype=np.uint64))


def held_out(seen: HashArray, rows: HashArray) -> BoolArray:
    """Tell which rows are fresh, (n,): not among those seen before.

    Where a fingerprint was seen c times, its first c occurrences among `rows` count as seen and any further ones
    as fresh. Identical cases dealt to different parts of one table are so counted right.

    >>> held_out(np.array([7, 7, 9], np.uint64), np.array([7, 8, 7, 7], np.uint64)).tolist()
    [False, True, False, True]
    """
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    lengths = np.diff(starts, append=len(ordered))
    occurrence = np.arange(len(ordered)) - np.repeat(starts, lengths)
    known = np.sort(seen)
    times_seen = np.searchsorted(known, ordered, side="right") - np.searchsorted(known, ordered, side="left")
    fresh = np.empty(len(rows), dtype=np.bool_)
    fresh[order] = occurrence >= times_seen
    return fresh


def combined(fingerprints: HashArray) -> str:
    """Return 16 hex digits for a whole data set, whatever the order of its rows.

    >>> combined(np.array([1, 2], np.uint64)) == combined(np.array([2, 1], np.uint64))
    True
    """
    ordered = np.sort(np.asarray(fingerprints, dtype=np.uint64)).astype("<u8")
    return hashlib.blake2b(ordered.tobytes(), digest_size=8).hexdigest()


def _bits_of(cell: object) -> np.uint64:
    if is_blank(cell):
        return BLANK
    value = number_of(cell)
    if value is None:
        return text_hash(text_of(cell))
    return number_bits(value)


def _keyed(bits: HashArray) -> HashArray:
    """Return fingerprints (n,) under the user's key."""
    secret = hashlib.blake2b(rows_key(), digest_size=16, person=b"defero rows").digest()
    return siphash(bits, secret)


def siphash(words: HashArray, secret: bytes) -> HashArray:
    """Return SipHash-2-4 of each of (n,) 64-bit words, under a secret of 16 bytes.

    >>> hex(siphash(np.array([0x0706050403020100], np.uint64), bytes(range(16)))[0])  # the authors' test vector
    '0x93f5f5799a932462'
    """
    k0, k1 = (np.uint64(int.from_bytes(half, "little")) for half in (secret[:8], secret[8:]))
    length = np.uint64(8 << 56)
    v = [np.full(words.shape, start, dtype=np.uint64) for start in _SIPHASH_START]
    for place, key in enumerate((k0, k1, k0, k1)):
        v[place] ^= key
    for word in (words, length):
        v[3] ^= word
        _rounds(v, 2)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    _rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


_SIPHASH_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def _rounds(v: list[HashArray], count: int) -> None:
    """Mix SipHash's four words in place."""
    for _ in range(count):
        for one, other, turn, half_turn in ((0, 1, 13, True), (2, 3, 16, False), (0, 3, 21, False), (2, 1, 17, True)):
            v[one] += v[other]
            v[other] = _turned(v[other], turn) ^ v[one]
            if half_turn:
                v[one] = _turned(v[one], 32)


def _turned(words: HashArray, bits: int) -> HashArray:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
