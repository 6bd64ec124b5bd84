"""The secret key of row fingerprints: it lies in the user's configuration folder, never in a model folder.

Without a key a fingerprint can be inverted by trying all values: patient numbers in seconds. With one, nobody who
receives a model folder learns from its fingerprints which rows or patients the model was fitted on.
"""

import hashlib
import os
import re
import secrets
from pathlib import Path

from defero.core.errors import InputError

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
