"""Download one file: checked, and visible only when it is complete."""

import errno
import http.client
import os
import shutil
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from defero.core.errors import InputError, is_disk_full
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

    The bytes go to `target.part`, which is renamed when it is whole and has the right hash, and is gone otherwise: no
    reader ever sees half a file. Two calls at once for one target are the caller's to prevent.

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
    part = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _receive(url, part, checked=sha256 is not None, progress=progress, timeout=timeout, most_bytes=most_bytes)
        actual = file_sha256(part)
        if sha256 is not None and actual != sha256:
            raise DownloadError(f"{url} has the sha256 {actual}, expected {sha256}: damaged, or another version")
        os.replace(part, target)
    except urllib.error.HTTPError as error:
        error.close()
        raise DownloadError(f"{url} answers {error.code} ({error.reason})") from error
    except (urllib.error.URLError, http.client.HTTPException, ssl.SSLError, TimeoutError, ConnectionError) as error:
        raise DownloadError(f"{url} cannot be reached ({getattr(error, 'reason', None) or error})") from error
    except OSError as error:
        if is_disk_full(error):
            raise DownloadError(f"the disk of {target.parent} is full; make room and try again") from error
        raise DownloadError(f"{target.parent} cannot be written ({error})") from error
    finally:
        with suppress(OSError):
            part.unlink()
    return actual


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
    url: str, part: Path, *, checked: bool, progress: Progress | None, timeout: float, most_bytes: int
) -> None:
    """Fill `part`, as far as there is room and the file is no longer than allowed."""
    opener, request = urllib.request.build_opener(_WebAlone), urllib.request.Request(url, headers=_HEADERS)
    with opener.open(request, timeout=timeout) as response, part.open("wb") as file:
        digits = response.headers.get("Content-Length", "")
        # "\u00b2" is a digit for `isdigit`, and none for `int`.
        total = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
        if total is None and not checked and not response.chunked:
            raise DownloadError(f"{url} does not say how long it is, and no sha256 is known to check it by")
        if total is not None and total > shutil.disk_usage(part.parent).free:
            raise OSError(errno.ENOSPC, f"{total} bytes are needed")
        have = 0
        while max(have, total or 0) <= most_bytes:
            if progress is not None:
                progress(have, total)
            if not (piece := response.read(_PIECE)):
                break
            have += file.write(piece)
        else:
            raise DownloadError(f"{url} is longer than {most_bytes} bytes; it is not downloaded")
    if total is not None and have != total:
        raise DownloadError(f"{url} broke off after {have} of {total} bytes; try again")
