"""Every command on a page runs, in the order of the page, on small files; a few are only parsed, with a reason."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from page_files import FILES, fitted
from tutorial_files import run

from defero.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.S | re.M)
TUTORIAL = "tutorial/first_table.md"
"""Its commands are run, with what they print, by test_tutorial.py."""
ONLY_PARSED = {
    "defero demo": "takes half a minute; test_demo_page.py (`make slow`) and `make release-check` run it",
    "defero serve ": "is a server that does not end; tests/service and `make release-check` start one",
    "defero route defero-demo/model ": "needs the model of the demo",
    "defero datasets get ": "downloads",
    "defero route model new/ --out decisions/ --engine ray ": "needs a Ray cluster; tests/study/engines has one",
    "defero fit scans ": "trains a deep net for minutes; tests/cli/test_cli_images.py trains a small one",
    "defero evaluate model new.csv --images scans": "needs that net",
    "defero route model new.csv --images scans": "needs that net",
    "defero fit reviews.csv ": "needs a text encoder, which is a download; tests/cli/test_cli_text_encoder.py has one",
    "defero route model new.csv --text-encoder ": "needs that encoder",
}
"""Commands by how they begin, and why they are not run."""
ONE_PROCESS = ("--workers 4", "--workers 1")
"""Four processes read the same files: tests/study/engines has them."""


def commands_on(page):
    """Return the commands of a page's blocks, with continued lines joined."""
    blocks = [code for language, code in BLOCK.findall(page.read_text(encoding="utf-8")) if language in ("", "sh")]
    lines = re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines()
    return [line.strip() for line in lines if re.match(r"\s*defero [a-z]", line)]


def reason(command):
    """Return why a command is only parsed; None where it is run."""
    return next((why for start, why in ONLY_PARSED.items() if f"{command} ".startswith(start)), None)


def name_of(page):
    return "README.md" if page.name == "README.md" else page.relative_to(ROOT / "docs").as_posix()


def parse(command):
    """Parse a command as the shell would, without running it; raises where it cannot be parsed."""
    found, words, context = typer.main.get_command(app), shlex.split(command, comments=True)[1:], None
    while hasattr(found, "commands"):
        # The settings of the group go to its commands, which remember the names of their help option.
        context = typer.Context(found, parent=context, **found.context_settings)
        name = words.pop(0)
        found = found.get_command(context, name)
        assert found is not None, f"defero has no command {name}"
    found.make_context(found.name, words, parent=context)


IN_TUTORIAL = set(commands_on(ROOT / "docs" / TUTORIAL))
WITH_COMMANDS = [page for page in PAGES if commands_on(page)]
TO_RUN = [
    page
    for page in WITH_COMMANDS
    if name_of(page) != TUTORIAL and any(not reason(one) and one not in IN_TUTORIAL for one in commands_on(page))
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder with past cases and a model."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        fitted(folder)
    return folder


@pytest.mark.parametrize("page", TO_RUN, ids=name_of)
def test_the_commands_of_a_page_run(page, shared, tmp_path, monkeypatch):
    if name_of(page) == "howto/service.md":
        pytest.importorskip("sqlalchemy")
    FILES[name_of(page)](tmp_path, shared)
    monkeypatch.chdir(tmp_path)
    for command in commands_on(page):
        if reason(command) or command in IN_TUTORIAL:
            continue
        words = shlex.split(command.replace(*ONE_PROCESS), comments=True)
        printed = run(shlex.join(words))
        assert printed.strip(), command
        if "--out" in words:
            assert Path(words[words.index("--out") + 1]).exists(), command


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_can_be_parsed(page):
    for command in commands_on(page):
        parse(command)


def test_every_reason_is_needed():
    commands = [f"{command} " for page in PAGES for command in commands_on(page)]
    assert [start for start in ONLY_PARSED if not any(one.startswith(start) for one in commands)] == []
    assert sorted(FILES) == sorted(map(name_of, TO_RUN)), "files for pages without commands, or a page without files"


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("defero fit cases.csv --label truth --lable x --out m", "No such option: --lable"),
        ("defero route model new.csv", "out"),
        ("defero fit cases.csv --epochs many --out m", "valid integer"),
    ],
)
def test_a_command_that_cannot_be_parsed_is_seen(command, why):
    with pytest.raises(typer.BadParameter.__base__, match=why):
        parse(command)
