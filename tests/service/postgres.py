"""A PostgreSQL server of Debian's packages in a folder of its own, started as the user postgres."""

import contextlib
import os
import pwd
import random
import shutil
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path


def binaries():
    """Return the newest folder with initdb; None where PostgreSQL is not installed or cannot be started."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not folders or (os.getuid() == 0 and not _has_user()):
        return None
    return folders[-1].parent


def _has_user():
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        return False
    return shutil.which("runuser") is not None


@contextmanager
def running_postgres():
    """Yield the URL of a new cluster; it is stopped and removed afterwards.

    Its folder is not one of pytest's, which every session of the same user closes to others again.
    """
    programs, port = binaries(), free_port()
    data, as_user = Path(tempfile.mkdtemp(prefix="defero-postgres-")), []
    if os.getuid() == 0:
        as_user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(data, "postgres")

    def call(*arguments):
        done = subprocess.run([*as_user, *map(str, arguments)], stdout=subprocess.DEVNULL, cwd="/", check=False)
        assert done.returncode == 0, arguments

    try:
        call(programs / "initdb", "-D", data / "db", "-U", "postgres", "--auth", "trust")
        options = f"-p {port} -k {data} -c listen_addresses=127.0.0.1"
        call(programs / "pg_ctl", "-D", data / "db", "-o", options, "-l", data / "log", "-w", "start")
        try:
            yield f"postgresql+psycopg://postgres@127.0.0.1:{port}/postgres"
        finally:
            call(programs / "pg_ctl", "-D", data / "db", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(data)


def free_port():
    """Return a free port below those that the system gives to clients.

    A client that tries again and again to reach a closed port of that range ends up connected with itself, and then
    the server cannot have it back.
    """
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port
