"""Download one file: resumed where it was cut off, checked, and visible only when it is complete."""

import errno
import http.client
import os
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from defero.core.errors import InputError
from defero.datasets.folder import file_sha256

Progress = Callable[[int, int | None], None]
_PIECE = 1 << 18
MOST_BYTES = 8 << 30
"""What is more than that is no file of a data set."""
_HEADERS = {"User-Agent": "defero (data set download)", "Accept-Encoding": "identity"}


class DownloadError(InputError):
    """A file could not be downloaded; the message says why, and what to do."""


def download(
    url: str,
    target: Path,
    *,
    sha256: str | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
    most_bytes: int = MOST_BYTES,
) -> str:
    """Fetch `url` to `target` and return the file's sha256.

    The bytes go to `target.part`, which is renamed when it is whole and has the right hash: no reader ever sees half
    a file. A part that an earlier call left is continued by a range request, if the server still has the same
    version or `sha256` will tell; otherwise it is fetched anew. Two calls at once for one target are the caller's to
    prevent.

    Parameters
    ----------
    url : str
        http or https.
    target : Path
    sha256 : str, optional
        What the file must have.
    progress : callable, optional
        Called with the bytes so far and in all (None where the server does not say).
    timeout : float
        Seconds without a byte.
    most_bytes : int
        A longer file is refused, whatever the server says of its length.
    """
    _check_address(url)
    part, mark = target.with_name(f"{target.name}.part"), target.with_name(f"{target.name}.part-of")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(url, part, mark, checked=sha256 is not None, progress=progress, timeout=timeout, most_bytes=most_bytes)
    except _TooLongError as error:
        _remove(part, mark)
        raise DownloadError(f"{url} is longer than {most_bytes} bytes; it is not downloaded") from error
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{url} answers {error.code} ({error.reason})") from error
    except (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, TimeoutError, ConnectionError) as error:
        raise DownloadError(f"{url} cannot be reached ({getattr(error, 'reason', None) or error})") from error
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            _remove(part, mark)
            raise DownloadError(f"the disk of {target.parent} is full; make room and try again") from error
        raise DownloadError(f"{target.parent} cannot be written ({error})") from error
    actual = file_sha256(part)
    if sha256 is not None and actual != sha256:
        _remove(part, mark)
        raise DownloadError(f"{url} has the sha256 {actual}, expected {sha256}: damaged, or another version")
    os.replace(part, target)
    _remove(mark)
    return actual


class _TooLongError(Exception):
    """A file is longer than allowed."""


class _WebAlone(urllib.request.HTTPRedirectHandler):
    """Follows redirects to web addresses alone; urllib would go on to ftp."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        """Return the request for the new address."""
        _check_address(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_address(url: str) -> None:
    if urlsplit(url).scheme not in {"http", "https"}:
        raise DownloadError(f"{url}: only http and https addresses are downloaded.")


def _receive(
    url: str,
    part: Path,
    mark: Path,
    *,
    checked: bool,
    progress: Progress | None,
    timeout: float,
    most_bytes: int,
) -> None:
    """Fill `part`, continuing an earlier download where that is safe."""
    start = part.stat().st_size if part.is_file() else 0
    version = mark.read_text(encoding="utf-8") if mark.is_file() else ""
    headers = dict(_HEADERS)
    if start and (version or checked):
        headers["Range"] = f"bytes={start}-"
        if version:
            headers["If-Range"] = version
    try:
        opener = urllib.request.build_opener(_WebAlone)
        response = opener.open(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code != 416 or "Range" not in headers:
            raise
        error.close()
        _remove(part, mark)  # nothing lies behind what we have: it is whole already, or another file
        _receive(url, part, mark, checked=checked, progress=progress, timeout=timeout, most_bytes=most_bytes)
        return
    with response:
        # A partial answer begins at the 5 of "bytes 5-9/10".
        first_byte = response.headers.get("Content-Range", "").removeprefix("bytes ").split("-")[0]
        continued = response.status == 206 and _count(first_byte) == start
        if response.status == 206 and not continued:
            _remove(part, mark)
            raise DownloadError(f"{url} sent another part than asked for; try again")
        have = start if continued else 0
        length = _count(response.headers.get("Content-Length", ""))
        total = None if length is None else have + length
        if total is None and not checked and not response.chunked:
            raise DownloadError(f"{url} does not say how long it is, and no sha256 is known to check it by")
        if total is not None and total > most_bytes:
            raise _TooLongError
        if total is not None:
            _check_room(part.parent, total - have, spare=0 if continued else start)
        if not continued:
            _remove(part)  # before the mark: a stop between the two would leave old bytes under a new version
        mark.write_text(_version(response), encoding="utf-8")
        _write(response, part, have=have, total=total, progress=progress, most_bytes=most_bytes)
    have = part.stat().st_size
    if total is not None and have != total:
        raise DownloadError(f"{url} broke off after {have} of {total} bytes; the same command continues from there")


def _write(
    response: Any, part: Path, *, have: int, total: int | None, progress: Progress | None, most_bytes: int
) -> None:
    with part.open("ab" if have else "wb") as file:
        if progress is not None:
            progress(have, total)
        while piece := response.read(_PIECE):
            have += len(piece)
            if have > most_bytes:
                raise _TooLongError
            file.write(piece)
            if progress is not None:
                progress(have, total)


def _count(digits: str) -> int | None:
    """Return a number of bytes; None where it is none, such as "²", which `isdigit` takes and `int` does not."""
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _version(response: Any) -> str:
    """Return what the server calls this version of the file; empty where it has no exact name for it."""
    tag = response.headers.get("ETag", "")
    return "" if tag.startswith("W/") else tag or response.headers.get("Last-Modified", "")


def _check_room(folder: Path, needed: int, *, spare: int) -> None:
    free = shutil.disk_usage(folder).free + spare
    if needed > free:
        raise OSError(errno.ENOSPC, f"{needed} bytes are needed, {free} are free")


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
