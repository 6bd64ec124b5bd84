"""`defero`: the commands, and what the shell gets to see when something goes wrong."""

import sys
import traceback
import warnings
from typing import Annotated, Any

import typer

from defero import __version__
from defero.cli.add_expert import add_expert
from defero.cli.datasets import app as datasets_app
from defero.cli.demo import demo
from defero.cli.evaluate import evaluate
from defero.cli.fit import fit
from defero.cli.output import echo, running, show_rename, spelled
from defero.cli.people import app as people_app
from defero.cli.plugins import add_plugins
from defero.cli.report import report
from defero.cli.route import route
from defero.cli.serve import serve

app = typer.Typer(
    name="defero",
    help="Learn from past cases who should decide the next one: the model, one expert, or a panel.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help starts in half the time
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, fit, evaluate, report, route, add_expert, serve):
    app.command()(command)
app.add_typer(datasets_app)
app.add_typer(people_app)
add_plugins(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Learn from past cases who should decide the next one: the model, one expert, or a panel."""
    running["command"] = context.invoked_subcommand


def main() -> None:
    """Run a command. Exit status: 0 fine, 2 the input or the machine's room is at fault (one sentence), 1 a defect."""
    warnings.showwarning = _show_warning
    try:
        app()
    except SystemExit as stop:
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        sys.exit(0)  # as with `defero ... | head`: whoever reads has had enough, and typer has hushed the rest
    except (ValueError, OSError, ImportError) as error:
        # Everything that a user can mend is an InputError, but core is imported only when something is wrong.
        from defero.core.errors import InputError

        if not isinstance(error, InputError | OSError | ImportError):
            _defect()
        echo(f"defero: {_sentence(error)}", err=True)
        show_rename(error)
        sys.exit(2)
    except MemoryError as error:
        _stop_for_memory(error)
    except Exception as error:
        if _NO_MEMORY in str(error):  # torch has no error of its own for it
            _stop_for_memory(error)
        _defect()


_NO_MEMORY = "can't allocate memory"


def _sentence(error: Exception) -> str:
    from defero.core.errors import InputError, is_disk_full, why_not_written

    if isinstance(error, InputError):
        return str(spelled(error))
    if isinstance(error, OSError) and is_disk_full(error):
        return f"{error.filename or 'a temporary file'}: cannot be written: {why_not_written(error)}."
    return str(error)


def _stop_for_memory(error: Exception) -> None:
    reason = str(error).splitlines()[0].rstrip(".") if str(error) else "no more can be had"
    echo(f"defero: not enough memory ({reason}); use fewer rows or columns, or a machine with more memory.", err=True)
    sys.exit(2)


def _defect() -> None:
    traceback.print_exc()
    echo("defero: this is a defect of defero, not of your input; please report the lines above.", err=True)
    sys.exit(1)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    echo(f"note: {message}", err=True)
