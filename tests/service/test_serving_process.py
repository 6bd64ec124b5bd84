"""A serving process loads nothing that trains; a model that was fitted by `fit` is served, and its export is read."""

import json
import socket
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from postgres import free_port
from typer.testing import CliRunner

from defero import DeferralClassifier, read_cases
from defero.cli.main import app
from defero.client import Client, ServiceError
from defero.core.errors import InputError
from defero.service import serve as serving
from defero.service.events import ModelChanged
from defero.service.store.database import Database, migrate
from defero.service.store.saved_views import open_ledger, save_ledger

CODE = """
import json, sys
from pathlib import Path
from starlette.testclient import TestClient
from defero.service.web.app import make_app
from defero.service.office import Office
office = Office.open(Path("model"), "cases.sqlite")
rows = json.loads(Path("rows.json").read_text())
with TestClient(make_app(office)) as http:
    token = office.lead_token(days=1)
    headers = {"Authorization": f"Bearer {token}"}
    steps = http.post("/v1/cases", json={"cases": [{"features": row} for row in rows]}, headers=headers).json()["cases"]
    for step in steps:
        if step["ask"]:
            answer = {"case": step["case"], "answer": "yes", "person": step["person"]}
            http.post("/v1/answers", json=answer, headers=headers)
    outcomes = [{"case": step["case"], "label": "yes" if n % 2 else "no"} for n, step in enumerate(steps[:9])]
    http.post("/v1/outcomes", json={"outcomes": outcomes}, headers=headers)
    Path("export.csv").write_text(http.get("/v1/export.csv", headers=headers).text)
loaded = [name for name in ("torch", "sklearn", "pandas", "matplotlib", "defero.estimators") if name in sys.modules]
print(json.dumps({"loaded": loaded, "asked": sum(step["ask"] is not None for step in steps), "steps": len(steps)}))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a table."""
    where = tmp_path_factory.mktemp("clinic")
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({"age": rng.normal(size=n), "size": rng.normal(size=n), "site": rng.choice(["a", "b"], n)})
    truth = np.where(frame["age"] + 1.5 * rng.normal(size=n) > 0, "yes", "no")
    answers = pd.DataFrame(
        {
            name: np.where(rng.random(n) < skill, truth, np.where(truth == "yes", "no", "yes"))
            for name, skill in (("ann", 0.95), ("bob", 0.9))
        }
    )
    team = DeferralClassifier(net="linear", random_state=0).fit(frame[:340], truth[:340], experts=answers[:340])
    team.team_.save(where / "model")
    rows = json.loads(frame.iloc[340:].to_json(orient="records"))
    (where / "rows.json").write_text(json.dumps(rows))
    return where


def test_a_fitted_model_is_served_without_what_trains_and_its_export_is_read(folder):
    done = subprocess.run([sys.executable, "-c", CODE], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["loaded"] == []
    assert result["steps"] == 60
    assert result["asked"] > 0
    read = read_cases(folder / "export.csv", label="outcome", expert_names=["ann", "bob"], key="case")
    assert len(read) == 9
    assert sorted(read.table.features.columns) == ["age", "site", "size"]


@pytest.mark.slow
def test_the_command_starts_prints_a_token_and_stops(folder):
    port = str(free_port())
    options = ["--port", port, "--database", "served.sqlite", "--link"]
    command = [sys.executable, "-m", "defero", "serve", "model", *options]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    printed = ""
    while "defero_" not in printed:
        line = server.stdout.readline()
        assert line, printed
        printed += line
    assert "served.sqlite" in printed.splitlines()[0]
    assert f"http://127.0.0.1:{port}/in/" in printed
    with Client(f"http://127.0.0.1:{port}", printed.split()[-1]) as client:
        for _ in range(200):
            try:
                people = client.people()
                break
            except ServiceError:
                time.sleep(0.1)
        assert [one["name"] for one in people] == ["ann", "bob", "lead"]
        assert client.add(json.loads((folder / "rows.json").read_text()))[0].case == "c5"
    server.terminate()
    assert server.wait(30) in (0, -15)
    server.stdout.close()


class StoppedError(Exception):
    """The server would run now."""


@pytest.mark.parametrize(
    ("options", "on_terminal", "shown"),
    [([], False, False), ([], True, True), (["--no-link"], True, False), (["--link"], False, True)],
)
def test_a_link_is_printed_on_a_terminal_or_when_it_is_asked_for(
    folder, tmp_path, monkeypatch, options, on_terminal, shown
):
    def stop(office, **_):
        office.close()
        raise StoppedError

    monkeypatch.setattr(serving, "run", stop)
    monkeypatch.setattr("defero.cli.serve.is_terminal", lambda: on_terminal)
    database = str(tmp_path / "a.sqlite")
    command = ["serve", str(folder / "model"), "--port", str(free_port()), "--database", database, *options]
    done = CliRunner().invoke(app, command)
    assert isinstance(done.exception, StoppedError), done.output
    assert ("/in/" in done.output, "defero_" in done.output) == (shown, shown)
    assert ("defero people add lead --role lead" in done.output) is not shown


def test_people_are_added_listed_and_revoked_from_the_command_line(tmp_path):
    where = ["--database", str(tmp_path / "cases.sqlite"), "--json"]

    def call(*arguments):
        done = CliRunner().invoke(app, ["people", *arguments, *where])
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    first = call("add", "triage", "--role", "machine")
    assert first["person"] == "p1"
    assert first["token"].startswith("defero_")
    assert call("add", "triage", "--role", "machine")["token"] != first["token"]
    assert [(one["name"], one["role"], one["tokens"]) for one in call("list")["people"]] == [("triage", "machine", 2)]
    assert call("revoke", "triage") == {"revoked": 2}
    assert call("list")["people"][0]["tokens"] == 0


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["add", "ann", "--role", "boss"], "role"),
        (["add", " "], "name"),
        (["revoke", "nobody"], "nobody"),
    ],
)
def test_wrong_people_are_one_sentence(tmp_path, arguments, fact):
    where = str(tmp_path / "cases.sqlite")
    migrate(Database.connect(where))
    done = CliRunner().invoke(app, ["people", *arguments, "--database", where])
    assert done.exit_code != 0
    assert fact in str(done.exception)


def test_what_hinders_a_start_is_one_sentence(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(
            app, ["serve", "model", "--port", str(port), "--database", str(tmp_path / "a.sqlite")]
        )
        assert isinstance(done.exception, InputError)
        assert str(port) in str(done.exception)
        assert not (tmp_path / "a.sqlite").exists()
    away = "postgresql+psycopg://ann:secret-word@127.0.0.1:9/clinic"
    for command in (["serve", "model", "--port", str(free_port())], ["people", "list"]):
        done = CliRunner().invoke(app, [*command, "--database", away])
        assert isinstance(done.exception, InputError), command
        assert "127.0.0.1:9" in str(done.exception)
        assert "secret-word" not in str(done.exception)


def test_a_misspelt_database_is_said_and_not_made(tmp_path):
    file = tmp_path / "misspelt.sqlite"
    for command in (["people", "list"], ["people", "revoke", "ann"]):
        done = CliRunner().invoke(app, [*command, "--database", str(file)])
        assert isinstance(done.exception, InputError)
        assert "misspelt.sqlite" in str(done.exception)
    assert not file.exists()


def test_a_database_of_a_newer_version_is_said(tmp_path):
    database = Database.connect(str(tmp_path / "new.sqlite"))
    migrate(database)
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InputError, match="another version of defero"):
        migrate(database)
    database.close()


def test_a_restart_without_the_folder_of_models_says_what_is_missing(folder, tmp_path, monkeypatch):
    where = str(tmp_path / "cases.sqlite")
    office = serving.open_office(folder / "model", where, models=folder)
    fact = ModelChanged(version="gone", classes=("no", "yes"), experts=("p1", "p2"), by="p3", folder="november")
    with office.database.write() as connection:
        ledger = open_ledger(connection, now=0.0)
        ledger.add(fact)
        save_ledger(connection, ledger)
    office.close()
    with pytest.raises(InputError, match="--models"):
        serving.open_office(folder / "model", where)
    with pytest.raises(InputError, match="november"):
        serving.open_office(folder / "model", where, models=folder)
