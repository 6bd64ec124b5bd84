"""Commands of other packages: listed without being imported, run on call; a broken one breaks nobody else."""

import sys

import pytest
import typer
from typer.testing import CliRunner

from defero.cli import plugins

GOOD = '''
from typing import Annotated
import typer

def greet(name: str, loud: Annotated[bool, typer.Option("--loud", help="Shout.")] = False) -> None:
    """Greet somebody."""
    typer.echo(name.upper() if loud else name)
'''


@pytest.fixture
def app(tmp_path, monkeypatch):
    """An app with a command of its own, beside a package with a good and a broken command and one of the same name."""
    (tmp_path / "toy_good.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / "toy_broken.py").write_text("import no_such_module_anywhere\n", encoding="utf-8")
    about = tmp_path / "toy_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Name: toy-package\nVersion: 1.0\nSummary: Says hello.\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        "[defero.commands]\ngreet = toy_good:greet\nbroken = toy_broken:run\nadd-expert = toy_good:greet\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    made = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    @made.command()
    def add_expert() -> None:
        """Add somebody."""
        typer.echo("ours")

    plugins.add_plugins(made)
    yield made
    for name in ("toy_good", "toy_broken"):
        sys.modules.pop(name, None)


def test_help_lists_plugins_without_importing_them(app):
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert "greet" in shown.stdout
    assert "Says hello." in shown.stdout
    assert "toy_good" not in sys.modules


def test_a_plugin_gets_its_options_and_its_own_help(app):
    assert CliRunner().invoke(app, ["greet", "ann", "--loud"]).stdout == "ANN\n"
    shown = CliRunner().invoke(app, ["greet", "--help"])
    assert "Shout." in shown.stdout
    assert "defero greet" in shown.stdout
    assert CliRunner().invoke(app, ["greet"]).exit_code == 2


def test_a_broken_plugin_is_one_line_and_leaves_the_others_alone(app):
    broken = CliRunner().invoke(app, ["broken"])
    assert broken.exit_code == 2
    (line,) = broken.stderr.strip().splitlines()
    assert "'broken' of toy-package" in line
    assert "no_such_module_anywhere" in line
    assert CliRunner().invoke(app, ["greet", "ann"]).exit_code == 0


def test_our_own_command_keeps_its_name(app):
    assert CliRunner().invoke(app, ["add-expert"]).stdout == "ours\n"


def test_a_known_command_that_is_not_installed_says_which_package_has_it(monkeypatch):
    monkeypatch.setattr(plugins, "entry_points", lambda **_: ())
    app = typer.Typer(rich_markup_mode=None)
    app.command("demo")(lambda: None)
    plugins.add_plugins(app)
    missing = CliRunner().invoke(app, ["reproduce", "all", "--stored"])
    assert missing.exit_code == 2
    assert "pip install defero-verma2023" in missing.stderr
    assert "reproduce" not in CliRunner().invoke(app, ["--help"]).stdout
