"""Every Python block of every page runs in some test, and every command on a page is one that exists."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
import typer

from defero.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
HERE = ("howto/own_model.md", "moving/threshold.md", "moving/authors.md", "moving/human_ai_deferral.md")
"""Pages that have no test of their own: run below."""
OF_OTHERS = ("defero whom model/",)
"""Commands that a reader adds by following a page."""
BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.S | re.M)
TESTS = "\n".join(
    path.read_text(encoding="utf-8")
    for folder in ("tests", "papers/verma2023/tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if path != Path(__file__)
)


def names_of(page):
    """Return how tests name a page: by its path, or by its parts."""
    return f'"{page.parent.name}" / "{page.name}"', f"docs/{page.relative_to(ROOT / 'docs').as_posix()}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT / "docs").as_posix())
def test_python_on_a_page_is_run_by_a_test(page):
    if not any(language == "python" for language, _ in BLOCK.findall(page.read_text(encoding="utf-8"))):
        pytest.skip("no Python on this page")
    here = page.relative_to(ROOT / "docs").as_posix() in (*HERE, "index.md")  # index.md has the README's
    assert here or any(name in TESTS for name in names_of(page)), f"no test runs {page}"


@pytest.mark.parametrize("name", HERE)
def test_the_examples_run(name):
    if name == "moving/authors.md":
        pytest.importorskip("torch")
    path = ROOT / "docs" / name
    failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
    assert tried > 5


def commands_on(text):
    """Return the lines of a page's blocks that call defero, with continued lines joined."""
    blocks = [code for language, code in BLOCK.findall(text) if language in ("", "console", "bash", "sh")]
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if re.match(r"\s*defero [a-z]", line)]


def faults_of(line):
    """Return what is wrong with a command: an unknown command or option, or a missing argument."""
    words = [word for word in shlex.split(line, comments=True) if word not in ("&&",)][1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        if not words or words[0] not in command.commands:
            return [f"unknown command in {line!r}"]
        command = command.commands[words.pop(0)]
    if command.context_settings.get("ignore_unknown_options"):  # the command of another package reads them
        return []
    options = {name: one for one in command.params for name in (*one.opts, *one.secondary_opts)}
    given = [word.split("=")[0] for word in words if word.startswith("--")]
    return [f"{command.name} has no option {name}" for name in given if name not in options and name != "--help"]


def commands_in_sentences(text):
    """Return the commands that stand in a sentence, such as `defero fit --json`; names of results have a comma."""
    inline = re.findall(r"`(defero [a-z][^`]*)`", BLOCK.sub("", text))
    return [" ".join(line.split()) for line in inline if not re.match(r"defero [a-z-]+,", line)]


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: page.name)
def test_commands_on_a_page_exist(page):
    text = page.read_text(encoding="utf-8")
    lines = [line for line in (*commands_on(text), *commands_in_sentences(text)) if line not in OF_OTHERS]
    assert [fault for line in lines for fault in faults_of(line)] == []


def test_a_wrong_command_would_be_seen():
    assert faults_of("defero fitt cases.csv") == ["unknown command in 'defero fitt cases.csv'"]
    assert faults_of("defero fit cases.csv --lable truth --out m") == ["fit has no option --lable"]
    assert commands_in_sentences("See `defero fit\n--forget` and `defero fit, 600 rows`.") == ["defero fit --forget"]
    assert commands_on("```\ndefero route m t \\\n  --out o\n```\n") == ["defero route m t    --out o"]
