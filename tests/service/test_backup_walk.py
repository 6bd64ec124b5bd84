"""Backup and restore as docs/howto/service_security.md says it, with its own commands, under a running service."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from clients_at_work import Server
from postgres import binaries, free_port, running_postgres
from small_team import SURE, UNSURE, small_team
from sqlalchemy import text

from defero.client import Client, ServiceError
from defero.service.office import Office, add_with_token
from defero.service.store.database import Database
from defero.service.store.saved_views import fold_log, read_views

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "service_security.md").read_text()
BACKUP = PAGE[PAGE.index("## Backup and restore") :]
pytestmark = pytest.mark.slow


def command(start):
    """Return the command of the page that begins so."""
    return re.search(rf"^{re.escape(start)}.*$", BACKUP, re.M).group(0)


def views(database):
    where = Database.connect(database)
    with where.read() as connection:
        kept = read_views(connection).plain()
        assert kept == fold_log(connection).plain()
    where.close()
    return kept


def walk(database, *, backup, restore):
    """Serve, back up under load, go on, stop, restore, serve again; the views are those of the backup."""
    Office.of_team(small_team(), database).close()
    machine, lead = (
        add_with_token(database, name, role, days=1, now=time.time())[1]
        for name, role in {"robot": "machine", "boss": "lead"}.items()
    )
    server = Server(database, free_port())
    server.start()
    server.wait_until_ready()
    with Client(server.url, machine) as client, Client(server.url, lead) as boss:
        steps = client.add([SURE, UNSURE, UNSURE], keys=["a", "b", "c"])
        client.answer(steps[1].case, "ill", person=steps[1].person)
        client.outcomes({steps[1].case: "ill"})
        boss.call("PUT", "/v1/policy", {"error_cost": 3, "fees": {"p1": 0.1}})
        boss.call("POST", "/v1/webhooks", {"url": "http://127.0.0.1:9/x", "kinds": ["drift_raised"]})
        boss.call("POST", "/v1/models", {"folder": "next"})
        boss.call("DELETE", f"/v1/cases/{steps[0].case}/content")
        at_backup = views(database)
        backup()
        client.add([UNSURE] * 20)
        late = add_with_token(database, "late", "machine", days=1, now=time.time())[1]
        os.kill(server.pid, signal.SIGTERM)
        server.gone()
        restore()
        assert views(database) == at_backup
        server.start()
        server.wait_until_ready()
        assert len(client.add([UNSURE])) == 1
        assert boss.call("GET", f"/v1/cases/{steps[1].case}")["key"] == "b"
        assert boss.call("GET", f"/v1/cases/{steps[0].case}")["features"] is None
        with Client(server.url, late) as newcomer, pytest.raises(ServiceError, match="401"):
            newcomer.add([UNSURE])  # their token came after the backup
    os.kill(server.pid, signal.SIGKILL)
    server.gone()
    server.close()
    where = Database.connect(database)
    with pytest.raises(Exception, match="append-only"), where.write() as connection:
        connection.execute(text("DELETE FROM events"))
    where.close()


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="the program sqlite3 is not installed")
def test_sqlite(tmp_path):
    def backup():
        subprocess.run(command("sqlite3 model.sqlite"), shell=True, cwd=tmp_path, check=True)

    def restore():
        shutil.copy(tmp_path / "backup.sqlite", tmp_path / "model.sqlite")
        for name in re.findall(r"`(model\.sqlite-\w+)`", BACKUP):
            (tmp_path / name).unlink(missing_ok=True)

    walk(str(tmp_path / "model.sqlite"), backup=backup, restore=restore)


@pytest.mark.skipif(binaries() is None, reason="PostgreSQL's server is not installed")
def test_postgresql(tmp_path):
    with running_postgres() as url:
        parts = urlsplit(url)
        who = {"PGHOST": parts.hostname, "PGPORT": str(parts.port), "PGUSER": parts.username}
        there = {**os.environ, **who, "PATH": f"{binaries()}:{os.environ['PATH']}"}

        def call(line):
            subprocess.run(line, shell=True, cwd=tmp_path, env=there, check=True)

        call("createdb defero")
        walk(
            url.rpartition("/")[0] + "/defero",
            backup=lambda: call(command("pg_dump")),
            restore=lambda: call(command("pg_restore")),
        )
