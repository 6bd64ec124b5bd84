"""A journal beside a file that is written piece by piece: a run that was killed goes on where it stopped.

The folder `<file>.journal` holds the pieces so far and a log. A line of the log says how long each file was when a
piece was whole; what came later is cut off. The folder is gone when the file is whole.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from defero.core.errors import InputError, TableError, is_disk_full, why_not_written
from defero.data.replace_folder import sync_folder

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]  # a module otherwise

LOG = "log.jsonl"
SECONDS_BETWEEN = 1.0
"""How often what was written is forced to the disk; a killed run repeats at most so much."""


class Journal:
    """Files that grow together; made by `open_journal`.

    Attributes
    ----------
    entries : list
        What was committed with each piece, by this run and by earlier ones that it goes on with.
    sizes : dict
        The length of each file.
    """

    def __init__(self, folder: Path, log: IO[bytes], names: tuple[str, ...], identity: Mapping[str, Any]) -> None:
        self._folder, self._log = folder, log
        self._identity = json.loads(json.dumps(identity))
        self._waiting: list[bytes] = []
        self._written = time.monotonic()
        self.entries: list[Any] = []
        self.sizes = dict.fromkeys(names, 0)
        self._files = {name: _opened(folder / name) for name in names}
        self._recover()

    def path(self, name: str) -> Path:
        """Return where a file grows."""
        return self._folder / name

    def append(self, name: str, content: bytes) -> None:
        """Add bytes to a file."""
        _write_all(self._files[name], content)
        self.sizes[name] += len(content)

    def commit(self, entry: Any) -> None:
        """Say that a piece is whole; it reaches the disk before the log does."""
        self.entries.append(entry)
        self._waiting.append(_line({"sizes": self.sizes, "entry": entry}))
        if time.monotonic() - self._written >= SECONDS_BETWEEN:
            self.flush()

    def flush(self) -> None:
        """Force everything to the disk."""
        for file in self._files.values():
            os.fsync(file.fileno())
        _write_all(self._log, b"".join(self._waiting))
        os.fsync(self._log.fileno())
        self._waiting.clear()
        self._written = time.monotonic()

    def finish(self, targets: Mapping[str, Path]) -> None:
        """Give files their final names, in this order, and remove the folder."""
        self.flush()
        for name, target in targets.items():
            os.replace(self._folder / name, target)
            sync_folder(target.parent)
        self.discard()

    def discard(self) -> None:
        """Remove the folder."""
        for name in (*self._files, LOG):
            (self._folder / name).unlink(missing_ok=True)
        with suppress(OSError):  # something that is not ours is in it
            self._folder.rmdir()

    def close(self) -> None:
        """Close the files; whatever is in them stays."""
        for file in self._files.values():
            file.close()

    def _recover(self) -> None:
        """Go on with an earlier run of the same identity, after its last whole piece; else start anew."""
        content = (self._folder / LOG).read_bytes().splitlines(keepends=True)
        whole, lines = 0, []
        if content and _parsed(content[0]) == {"identity": self._identity}:
            whole = len(content[0])
            for line in content[1:]:
                value = _parsed(line)
                if value is None or not self._holds(value["sizes"]):
                    break
                lines.append(value)
                whole += len(line)
        self._log.seek(whole)
        self._log.truncate()
        if not whole:
            _write_all(self._log, _line({"identity": self._identity}))
        self.entries = [one["entry"] for one in lines]
        self.sizes |= lines[-1]["sizes"] if lines else {}
        for name, file in self._files.items():
            file.truncate(self.sizes[name])
            file.seek(self.sizes[name])

    def _holds(self, sizes: Mapping[str, int]) -> bool:
        """Return whether the files are as long as the log says."""
        return all(os.fstat(file.fileno()).st_size >= sizes.get(name, 0) for name, file in self._files.items())


@contextmanager
def open_journal(target: Path, names: tuple[str, ...], identity: Mapping[str, Any]) -> Iterator[Journal]:
    """Open the journal of a file; the block calls `finish`.

    The block goes on with an earlier run of the same `identity`, which names the model, the input, the options and the
    versions. If the input is wrong, nothing is left behind; if the block ends in another way, as when it is interrupted
    or the disk is full, the journal stays.

    Parameters
    ----------
    target : Path
    names : names of the files that grow together
    identity : plain values for JSON
    """
    if target.is_dir():
        raise TableError(f"{target}: is a folder; name a file to write.")
    if not target.parent.is_dir():
        raise TableError(f"{target}: the folder {target.parent} does not exist; make it first.")
    folder = target.with_name(f"{target.name}.journal")
    if folder.exists() and not (folder.is_dir() and {one.name for one in folder.iterdir()} <= {*names, LOG}):
        raise InputError(f"{folder}: is in the way, and no journal of an earlier run; rename or remove it.")
    try:
        folder.mkdir(exist_ok=True)
        log = _opened(folder / LOG)
    except OSError as error:
        raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
    with log:
        _lock(log, target)
        journal = Journal(folder, log, names, identity)
        try:
            yield journal
        except OSError as error:
            if is_disk_full(error):
                raise TableError(f"{target}: cannot be written: {why_not_written(error)}.") from error
            raise
        except Exception:
            journal.discard()
            raise
        finally:
            journal.close()


def _opened(path: Path) -> IO[bytes]:
    """Open a file to read and append without a buffer; it is made if it does not exist."""
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)


def _write_all(file: IO[bytes], content: bytes) -> None:
    """Write everything: a file without a buffer takes less where a disk is nearly full, and says so by a number."""
    left = memoryview(content)
    while left:
        left = left[file.write(left) :]


def _lock(log: IO[bytes], target: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(log.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise InputError(f"{target}: another run is writing it; wait for it, or choose another name.") from error


def _line(value: Any) -> bytes:
    return (json.dumps(value, separators=(",", ":")) + "\n").encode("ascii")


def _parsed(line: bytes) -> Any:
    """Return the value of a line; None where it was cut off."""
    try:
        return json.loads(line) if line.endswith(b"\n") else None
    except ValueError:
        return None
