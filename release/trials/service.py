"""The first five minutes of the service: serve, bring cases, answer a question."""

import re
import socket
import subprocess
import time

from release.checklist import No
from release.environment import Environment
from release.trials.readme import FOLDER

CLIENT = """
import csv, json, sys, time
from defero.client import Client, ServiceError
url, token = sys.argv[1:]
label = json.load(open("model/model.json"))["classes"][0]
number = lambda text: float(text) if text.replace(".", "", 1).isdigit() else text
rows = [{k: number(v) for k, v in row.items()} for row in csv.DictReader(open("clinic_new.csv"))][:40]
with Client(url, token, timeout=20) as client:
    for _ in range(300):
        try:
            client.people()
            break
        except ServiceError:
            time.sleep(0.1)
    steps = client.add(rows)
    step = next(step for step in steps if step.ask is not None)
    while step.ask is not None:
        step = client.answer(step.case, label, person=step.person)
    print(len(steps), "cases,", sum(one.ask is not None for one in steps), "questions; settled:", step.label)
"""


def serve_and_answer(there: Environment) -> str:
    """Serve the model of README's `fit`; add its new cases over HTTP, and answer one until it is settled."""
    there = there.inside(FOLDER)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [there.program("defero"), "serve", "model", "--port", str(port), "--database", "cases.sqlite"]
    with (there.work / "serve.log").open("w") as log:
        server = subprocess.Popen(list(map(str, command)), cwd=there.work, stdout=log, stderr=subprocess.STDOUT)
    try:
        added = there.defero("people", "add", "triage", "--role", "machine", "--database", "cases.sqlite", "--json")
        token = re.search(r'"token": "([^"]+)"', added)
        if token is None:
            raise No(f"people add printed no token: {added[:200]}")
        page = _wait_for(there, port)
        (there.work / "client.py").write_text(CLIENT)
        return f"{page}; {there.script('client.py', f'http://127.0.0.1:{port}', token[1]).strip()}"
    finally:
        server.terminate()
        server.wait(30)


def _wait_for(there: Environment, port: int) -> str:
    """Wait until the health page answers."""
    code = f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/health', timeout=5).status)"
    for _ in range(60):
        try:
            return f"/health {there.python(code).strip()}"
        except No:
            time.sleep(0.5)
    raise No((there.work / "serve.log").read_text()[-1000:])
