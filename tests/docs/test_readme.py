"""What the README shows is what happens: its Python and its commands run, and it stays short."""

import re
from pathlib import Path

import pandas as pd
import pytest
from tutorial_files import in_clinic_folder

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorial" / "first_table.md").read_text(encoding="utf-8")


def python_of(page):
    return re.search(r"```python\n(.*?)```", page, re.S).group(1)


def test_it_is_at_most_120_lines():
    lines = README.splitlines()
    assert len(lines) <= 120
    assert max(len(line) for line in lines if not line.startswith("|")) <= 110


@pytest.mark.usefixtures("empty_pictures")
def test_the_python_has_six_lines_and_runs(tmp_path, monkeypatch, capsys):
    code = python_of(README)
    assert len([line for line in code.splitlines() if line]) == 6
    in_clinic_folder(tmp_path, monkeypatch)
    exec(compile(code, "README.md", "exec"), {})
    assert len(pd.read_csv("decisions.csv")) == 40
    assert Path("report.html").is_file()


def test_the_front_page_has_the_same_python():
    assert python_of(INDEX) == python_of(README)


def test_its_commands_are_those_of_the_tutorial():
    commands = re.findall(r"^defero (?:fit|report|route) .*$", README, re.M)
    assert len(commands) == 3
    for command in commands:
        assert command in TUTORIAL


def test_the_picture_is_the_report_of_the_gallery():
    picture = (ROOT / "docs" / "pictures" / "report.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    shown = re.search(r"!\[(.*?)\]", README, re.S).group(1).replace("\n", " ")
    for number in re.findall(r"\d+\.\d %", shown):
        assert number in TUTORIAL, "the words under the picture have the numbers of the tutorial"


@pytest.mark.parametrize("name", ["fit", "report", "route", "demo", "serve"])
def test_the_commands_are_there(name):
    from defero.cli.main import app

    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert name in known
