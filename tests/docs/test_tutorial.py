"""docs/tutorial/first_table.md: its commands run, and print what stands below them."""

import re
from pathlib import Path

import pandas as pd
import pytest
from tutorial_files import in_clinic_folder, run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "first_table.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", PAGE, re.S | re.M)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def shown_lines():
    """Return each command of the page with the lines of output that the page shows for it."""
    steps = []
    for block in BLOCKS:
        commands = [line for line in block.splitlines() if re.match(r"defero (fit|report|route|evaluate) ", line)]
        if commands:
            steps.append((commands[0], []))
        elif steps:
            steps[-1][1].extend(block.splitlines())
    return steps


def words(line):
    return " ".join(NUMBER.sub("#", line).split())


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        in_clinic_folder(tmp_path_factory.mktemp("clinic"), patch)
        outputs = [(shown, run(command)) for command, shown in shown_lines()]
        decisions = pd.read_csv("decisions.csv")
    return outputs, decisions


def test_the_page_has_six_steps_with_commands():
    steps = [command.split()[1] for command, _ in shown_lines()]
    assert steps == ["fit", "report", "route", "route", "evaluate", "route"]
    assert all(shown for _, shown in shown_lines())


def test_each_line_that_the_page_shows_is_printed(printed):
    for shown, output in printed[0]:
        lines = {words(line): line for line in output.splitlines()}
        for line in shown:
            assert words(line) in lines, line
            theirs, ours = ([float(n) for n in NUMBER.findall(one)] for one in (lines[words(line)], line))
            assert theirs == pytest.approx(ours, abs=6), line  # from one processor to another a case may change sides


def test_nobody_gets_more_than_ten_cases(printed):
    assert printed[1]["route"].value_counts().drop("model").max() <= 10


def test_the_first_lines_of_the_table_are_shown():
    table = (ROOT / "src" / "defero" / "datasets" / "clinic.csv").read_text().splitlines()
    assert "\n".join(table[:3]) in PAGE


def test_the_table_is_what_its_script_writes(tmp_path):
    from examples.clinic_table import main as write

    write(tmp_path)
    for name in ("clinic.csv", "clinic_new.csv"):
        assert (tmp_path / name).read_text() == (ROOT / "src" / "defero" / "datasets" / name).read_text()


@pytest.mark.usefixtures("empty_pictures")
def test_the_python_runs(tmp_path, monkeypatch, capsys):
    in_clinic_folder(tmp_path, monkeypatch)
    exec(compile(re.search(r"```python\n(.*?)```", PAGE, re.S).group(1), "first_table.md", "exec"), {})
    assert "held-out cases" in capsys.readouterr().out
    assert pd.read_csv("decisions.csv")["expected_cost"].between(0, 40).all()
