"""Commands of other packages: each entry point of the group `defero.commands` is one command.

The entry point names a function with typer's annotations, or a `typer.Typer`. Its package is imported when the command
is called, not before: `defero --help` reads the package's metadata alone.
"""

import sys
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from defero.cli.output import echo

GROUP = "defero.commands"
KNOWN = {"reproduce": "defero-verma2023"}
"""Commands of packages that we publish, for those who have not installed them."""

_PASS_ON: Any = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def add_plugins(app: typer.Typer) -> None:
    """Add the commands of installed packages; a name that the app has already stays with the app."""
    taken = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
    taken |= {str(group.name) for group in app.registered_groups}
    taken |= {name.replace("_", "-") for name in taken}
    for point in entry_points(group=GROUP):
        if point.name not in taken:
            taken.add(point.name)
            _add(app, point)
    for name, package in KNOWN.items():
        if name not in taken:
            _add_missing(app, name, package)


def _add(app: typer.Typer, point: EntryPoint) -> None:
    package, summary = _about(point)

    @app.command(point.name, help=summary, context_settings=_PASS_ON, add_help_option=False)
    def run(context: typer.Context) -> None:
        inner = _loaded(point, package)
        inner(args=context.args, prog_name=f"defero {point.name}")


def _loaded(point: EntryPoint, package: str) -> typer.Typer:
    """Import a plug-in's command; whatever goes wrong becomes one line."""
    try:
        command = point.load()
    except Exception as error:  # a stranger's module may raise anything
        echo(
            f"defero: the command {point.name!r} of {package} cannot be loaded ({type(error).__name__}: {error}); "
            f"update or uninstall {package}.",
            err=True,
        )
        sys.exit(2)
    if isinstance(command, typer.Typer):
        return command
    inner = typer.Typer(
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    inner.command(point.name)(command)
    return inner


def _about(point: EntryPoint) -> tuple[str, str]:
    """Return the name of the package that a command comes from, and one line about it."""
    if point.dist is None:
        return point.value, f"From {point.value}."
    return point.dist.name, point.dist.metadata["Summary"] or f"From {point.dist.name}."


def _add_missing(app: typer.Typer, name: str, package: str) -> None:
    @app.command(name, hidden=True, context_settings=_PASS_ON, add_help_option=False)
    def missing() -> None:
        echo(f"defero: no such command {name!r}; it comes with another package: pip install {package}", err=True)
        sys.exit(2)
