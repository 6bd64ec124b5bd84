"""A real Label Studio server from PyPI, in a virtual environment and a folder of its own.

The environment (about 800 MB) is made once and kept in the folder for temporary files; `DEFERO_LABEL_STUDIO` names
another one that has `bin/label-studio` already.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from postgres import free_port

VERSION = "1.23.2"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
LEAD = "lead@a.example"
_INSTALL_SECONDS, _START_SECONDS = 900, 420


class NotInstallableError(Exception):
    """Label Studio cannot be installed here; the message says why."""


def environment():
    """Return the folder of a virtual environment with Label Studio, made where there is none."""
    named = os.environ.get("DEFERO_LABEL_STUDIO")
    folder = Path(named or Path(tempfile.gettempdir()) / f"defero-label-studio-{VERSION}-{os.getuid()}")
    if (folder / ("bin/label-studio" if named else "complete")).exists():
        return folder
    if named:
        raise NotInstallableError(f"DEFERO_LABEL_STUDIO={named} has no bin/label-studio")
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    python = str(folder / "bin" / "python")
    if uv is not None:
        commands = ([uv, "venv", str(folder)], [uv, "pip", "install", "--python", python, f"label-studio=={VERSION}"])
    else:
        install = [python, "-m", "pip", "install", "--quiet", f"label-studio=={VERSION}"]
        commands = ([sys.executable, "-m", "venv", str(folder)], install)
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotInstallableError(f"label-studio could not be installed: {type(error).__name__}") from error
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise NotInstallableError(f"label-studio could not be installed: {last[:200]}")
    (folder / "complete").touch()
    return folder


class RealStudio:
    """A server, spoken to as its administrator."""

    def __init__(self, url):
        self.url = url

    def call(self, method, path, body=None):
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url + path, content, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as reply:
            content = reply.read()
        return json.loads(content) if content else None

    def annotate(self, task, author, choice=None, *, skip=False):
        value = {"from_name": "answer", "to_name": "case", "type": "choices", "value": {"choices": [choice]}}
        body = {"result": [] if choice is None else [value], "completed_by": author, "was_cancelled": skip}
        return self.call("POST", f"/api/tasks/{task}/annotations/", body)

    def tasks(self, project):
        return self.call("GET", f"/api/tasks?project={project}&fields=all&page_size=1000")["tasks"]


@contextmanager
def running_studio():
    """Yield a new server with an empty database (SQLite); it is stopped and removed afterwards."""
    program, port = environment() / "bin" / "label-studio", free_port()
    data = Path(tempfile.mkdtemp(prefix="defero-label-studio-data-"))
    settings = {
        "LABEL_STUDIO_BASE_DATA_DIR": str(data),
        "LABEL_STUDIO_USERNAME": LEAD,
        "LABEL_STUDIO_PASSWORD": "secret-word",
        "LABEL_STUDIO_USER_TOKEN": TOKEN,
        "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
        "SSRF_PROTECTION_ENABLED": "false",  # its webhook calls this machine
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    command = [str(program), "start", "--no-browser", "--internal-host", "127.0.0.1", "--port", str(port)]
    with (data / "output").open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdout=output, stderr=output, cwd=data, start_new_session=True
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, data / "output")
        yield RealStudio(f"http://127.0.0.1:{port}")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        shutil.rmtree(data, ignore_errors=True)


def _wait(url, process, output):
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(1)
    raise AssertionError(f"Label Studio did not come up: {output.read_text(errors='replace')[-2000:]}")
